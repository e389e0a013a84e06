import type { Scope } from '../work.ts';
import type { WorkStatements } from './work-statements.ts';

/**
 * What is written for processes that know no endpoints is a minute older than now: whatever one of them writes itself
 * stands out, and five minutes later, when it is written again, it is still well within the ten that they look at.
 */
const MIRROR_LAG_MS = 60_000;

/** Notes that somebody handles this. */
export function noteTaker(statements: WorkStatements, { endpoints, types }: Scope, now: number): void {
  for (const type of types === '*' ? ['*'] : types) {
    for (const endpoint of endpoints === '*' ? ['*'] : endpoints) statements.take.run({ endpoint, type, now });
    statements.mirrorTake.run({ type, mirrored: now - MIRROR_LAG_MS });
  }
}

/** The types of an endpoint that somebody handles who was seen since then. */
export function takenTypes(statements: WorkStatements, endpoint: string, since: number): Scope['types'] {
  const types = statements.takenTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
  return types.includes('*') ? '*' : types;
}

/** When somebody was last seen who handles it; `null` for never. */
export function lastSeen(statements: WorkStatements, endpoint: string, type: string): number | null {
  return (statements.lastSeen.get({ endpoint, type }) as { at: number | null }).at;
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints(statements: WorkStatements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return statements.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
