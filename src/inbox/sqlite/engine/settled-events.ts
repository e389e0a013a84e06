import type { SyncStore } from '../../queue-operations.ts';
import type { SizedEvent } from '../../rules/store.ts';
import { hashOf } from '../../rules/accept.ts';
import type { EventState } from '../../event.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import type { EventIndex } from './event-index.ts';

interface RowToRerun {
  readonly entity: string | null;
  readonly state: EventState;
  readonly pruned: 0 | 1;
  readonly as_read: 0 | 1;
}

/** Reruns and tombstones, on the tables of a file. */
export function settledEvents(
  { database, moves, queue }: NamedStatements,
  index: EventIndex,
): Pick<SyncStore, 'eventToRerun' | 'toPending' | 'prunable' | 'prune'> {
  return {
    eventToRerun({ id, endpoint }, readFrom) {
      const row = queue.eventToRerun.get({ id, endpoint, readFrom: readFrom ?? null }) as RowToRerun | undefined;
      return row && { entity: row.entity, state: row.state, isPruned: row.pruned === 1, isAsRead: row.as_read === 1 };
    },
    toPending(event, { type, created, entity }, now) {
      const { id, endpoint } = event;
      const content = { type, created_ms: created?.ms, created_ns: created?.ns, entity };
      moves.toPending.run({ id, endpoint, now, ...content });
      // An invalid event has got its entity only now.
      if (entity !== event.entity) index.add(database, event);
    },
    prunable(endpoints, before, limit) {
      const found: SizedEvent[] = [];
      const named =
        endpoints === '*' ? queue.prunableEndpoints.all().map((row) => (row as { value: string }).value) : endpoints;
      for (const endpoint of named) {
        const rows = queue.prunableOfEndpoint.all({ endpoint, before, limit: limit - found.length });
        found.push(...(rows as SizedEvent[]));
        if (found.length >= limit) break;
      }
      return found;
    },
    prune(seqs) {
      for (const seq of seqs) {
        const { body } = queue.bodyOf.get({ seq }) as { body: Uint8Array };
        moves.prune.run({ seq, hash: hashOf(body) });
        queue.pruneAttempts.run({ seq });
        queue.pruneConflict.run({ seq });
      }
    },
  };
}
