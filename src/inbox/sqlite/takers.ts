import type { Scope } from '../work.ts';
import type { Statements } from './statements.ts';

/**
 * What is written for processes that know no endpoints is a minute older than now: whatever one of them writes itself
 * stands out, and five minutes later, when it is written again, it is still well within the ten that they look at.
 */
const MIRROR_LAG_MS = 60_000;

/** Notes that somebody handles this. */
export function noteTaker(statements: Statements, { endpoints, types }: Scope, now: number): void {
  for (const type of types === '*' ? ['*'] : types) {
    for (const endpoint of endpoints === '*' ? ['*'] : endpoints) statements.queue.take.run({ endpoint, type, now });
    statements.queue.mirrorTake.run({ type, mirrored: now - MIRROR_LAG_MS });
  }
}

/** The types of an endpoint that somebody handles who was seen since then. */
export function takenTypes(statements: Statements, endpoint: string, since: number): Scope['types'] {
  const types = statements.queue.takenTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
  return types.includes('*') ? '*' : types;
}

/** When somebody was last seen who handles it; `null` for never. */
export function lastSeen(statements: Statements, endpoint: string, type: string): number | null {
  return (statements.queue.lastSeen.get({ endpoint, type }) as { at: number | null }).at;
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints(statements: Statements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return statements.queue.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
