import type { Engine, Starts } from '../../rules/engine.ts';
import { arrivals } from './arrivals.ts';
import { holdingTypesOf, nextInQueue } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import type { EventIndex } from './event-index.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { processors } from './seen-processors.ts';
import { rerunStatements } from './rerun-event.ts';
import { takers } from './takers.ts';
import { timeSlice } from './time-slice.ts';
import { tombstones } from './tombstone.ts';
import { waitingTypes } from './waiting-types.ts';
import { answer, DONE } from '../../rules/steps.ts';

/** What the rules ask for, carried out on the tables of a file. */
export function sqliteEngine(statements: NamedStatements, index: EventIndex): Engine & Starts {
  return {
    counts: statements.counts,
    timeSlice,
    ...arrivals(statements, index),
    noteTime(now) {
      noteTime(statements, now);
      return DONE;
    },
    nextInQueues: (queues, handledSince) =>
      answer(
        queues.map((queue) => nextInQueue(statements, queue, holdingTypesOf(statements, queue.endpoint, handledSince))),
      ),
    unpark(seqs) {
      for (const seq of seqs) statements.moves.unpark.run({ seq });
      return DONE;
    },
    ...takers(statements),
    ...processors(statements),
    ...waitingTypes(statements),
    ...tombstones(statements),
    ...rerunStatements(statements, index),
  };
}
