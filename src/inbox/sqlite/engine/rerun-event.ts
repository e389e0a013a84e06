import type { Reruns } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { EventState } from '../../state.ts';
import type { EventIndex } from './event-index.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

interface RowToRerun {
  readonly state: EventState;
  readonly pruned: 0 | 1;
  readonly as_read: 0 | 1;
}

export function rerunStatements(
  { database, moves, queue }: NamedStatements,
  index: EventIndex,
): Pick<Reruns, 'eventToRerun' | 'toPending'> {
  return {
    eventToRerun({ id, endpoint }, readFrom) {
      const row = queue.eventToRerun.get({ id, endpoint, readFrom: readFrom ?? null }) as RowToRerun | undefined;
      return answer(row && { state: row.state, isPruned: row.pruned === 1, isAsRead: row.as_read === 1 });
    },
    toPending({ id, endpoint }, { type, created, entity }, now) {
      const content = { type, created_ms: created?.ms, created_ns: created?.ns, entity };
      moves.toPending.run({ id, endpoint, now, ...content, readFrom: null });
      // An invalid event has got its entity only now.
      index.add(database, { id, endpoint });
      return DONE;
    },
  };
}
