import type { Takers } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { pauseOf, type PauseRow } from '../sql/pause-row.ts';

/** Who handles what. */
export function takers({ queue }: NamedStatements): Takers {
  return {
    pauses: () => answer((queue.pauses.all() as PauseRow[]).map(pauseOf)),
    noteTaker({ endpoints, types }, now) {
      for (const type of types === '*' ? ['*'] : types) {
        for (const endpoint of endpoints === '*' ? ['*'] : endpoints) queue.take.run({ endpoint, type, now });
      }
      return DONE;
    },
    takenTypes(endpoint, since) {
      const types = queue.takenTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
      return answer(types.includes('*') ? '*' : types);
    },
    lastSeen: (endpoint, type) => answer((queue.lastSeen.get({ endpoint, type }) as { at: number | null }).at),
    isAnybodyThere: (since) => answer(queue.anybodySeen.get({ since }) !== undefined),
    wasEverHandled: (endpoint) => answer(queue.everHandled.get({ endpoint }) !== undefined),
  };
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints({ queue }: NamedStatements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return queue.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
