import type { StoredPause } from '../../operator/pauses.ts';
import type { Takers } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { pauseOf, type PauseRow } from '../sql/pause-row.ts';

/** Who handles what. */
export function takers(statements: NamedStatements): Takers {
  const { queue } = statements;
  return {
    pauses: () => answer(pausesOf(statements)),
    noteTaker({ endpoints, types, named = [] }, now) {
      for (const type of types === '*' ? ['*', ...named] : types) {
        for (const endpoint of endpoints === '*' ? ['*'] : endpoints) queue.take.run({ endpoint, type, now });
      }
      return DONE;
    },
    takenTypes: (endpoint, since) => answer(takenTypesOf(statements, endpoint, since)),
    lastSeen: (endpoint, type) => answer((queue.lastSeen.get({ endpoint, type }) as { at: number | null }).at),
    isAnybodyThere: (since) => answer(queue.anybodySeen.get({ since }) !== undefined),
    wasEverHandled: (endpoint) => answer(queue.everHandled.get({ endpoint }) !== undefined),
  };
}

export function pausesOf({ queue }: NamedStatements): readonly StoredPause[] {
  return (queue.pauses.all() as PauseRow[]).map(pauseOf);
}

/** The types of an endpoint that a processor has announced since then. */
export function takenTypesOf({ queue }: NamedStatements, endpoint: string, since: number): Scope['types'] {
  const types = queue.takenTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
  return types.includes('*') ? '*' : types;
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints({ queue }: NamedStatements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return queue.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
