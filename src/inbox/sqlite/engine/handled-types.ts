import { pauseOf, type PauseRow, type StoredPause } from '../../rules/pauses.ts';
import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

export function pausesOf({ queue }: NamedStatements): readonly StoredPause[] {
  return (queue.pauses.all() as PauseRow[]).map(pauseOf);
}

/** The types of an endpoint that a processor has announced since then. */
export function handledTypesOf({ queue }: NamedStatements, endpoint: string, since: number): Scope['types'] {
  const types = queue.handledTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
  return types.includes('*') ? '*' : types;
}

/** When a processor that handles a type was last seen; `null` for never. */
export function lastSeenOf({ queue }: NamedStatements, endpoint: string, type: string): number | null {
  return (queue.lastSeen.get({ endpoint, type }) as { readonly at: number | null }).at;
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints({ queue }: NamedStatements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return queue.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
