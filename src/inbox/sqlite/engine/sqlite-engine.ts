import type { Arrivals, Engine } from '../../rules/engine.ts';
import { columnsOf } from './acceptance.ts';
import { holdingTypesOf, nextInQueue } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import type { EventIndex } from './event-index.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { settledEvents } from './settled-events.ts';
import { takers } from './takers.ts';
import { answer, DONE } from '../../rules/steps.ts';

/** What the rules ask for, carried out on the tables of a file. */
export function sqliteEngine(statements: NamedStatements, index: EventIndex): Engine & Arrivals {
  const { moves, queue } = statements;
  const { toPending } = settledEvents(statements, index);
  return {
    counts: statements.counts,
    saveRedeliveries(seq, times) {
      statements.known.saveRedeliveries.run(seq, ...columnsOf(times));
      return DONE;
    },
    saveConflict(seq, times, body) {
      statements.known.saveConflict.run(seq, ...columnsOf(times), body);
      return DONE;
    },
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
    toPending(key, content, now) {
      toPending(key, content, now);
      return DONE;
    },
    bodyOf: (seq) => answer((queue.bodyOf.get({ seq }) as { body: Uint8Array }).body),
    prune(seq, hash) {
      moves.prune.run({ seq, hash });
      return DONE;
    },
    pruneErrors(seq) {
      queue.pruneAttempts.run({ seq });
      return DONE;
    },
    forgetConflict(seq) {
      queue.pruneConflict.run({ seq });
      return DONE;
    },
  };
}
