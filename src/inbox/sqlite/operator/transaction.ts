import { performance } from '../../../host/real-timers.ts';
import type { OperatorTransaction, Statement } from '../../operator/sql.ts';
import { hashOf } from '../../rules/accept.ts';
import type { TimeSlice } from '../../rules/budget.ts';
import type { EventMove } from '../../rules/operator-acts.ts';
import { noteTime } from '../engine/clock.ts';
import { pruneBodies } from '../engine/deliveries.ts';
import { unparkNext } from '../engine/entity-queue.ts';
import { markOf, type Statements } from '../engine/sqlite-store.ts';
import { createdColumns } from '../sql/rows.ts';
import { clockAfter, rowsOf, sqlite } from './access.ts';

/** @param waitedMs - the change of the clock while the transaction waited for the file */
export function operatorTransaction(statements: Statements, waitedMs: number): OperatorTransaction {
  const { counts, database, moves, queue, store } = statements;
  const rows = <Row>(statement: Statement): Row[] => rowsOf<Row>(database, statement);
  return {
    ...clockAfter(waitedMs),
    timeOf: (time) => time.getTime(),
    dialect: sqlite,
    counts,
    rows,
    later: (...writes) => writes.forEach(rows),
    timeSlice,
    // No other transaction runs.
    hold() {},
    move(changes, now) {
      for (const change of changes) move(statements, change, now);
      if (changes.some(({ move: { name } }) => name !== 'discard')) noteTime(statements, now);
    },
    advance: (queues, now) => unparkNext(store, queues, now),
    prune: (seqs) => pruneBodies(statements, seqs),
    erase(tombstones, now) {
      for (const { event, state } of tombstones) {
        const { body } = queue.bodyOf.one({ seq: event.seq });
        moves.erase.run({ seq: event.seq, state, hash: body && hashOf(body), now });
      }
    },
    importEvents: (events) =>
      events.map((event) => {
        const { lastInsertRowid } = moves.importEvent.run({
          ...event,
          ...createdColumns(event.created),
          verified: Number(event.verified),
          trace: event.trace ?? null,
          yields: Number(event.yields === true),
        });
        return Number(lastInsertRowid);
      }),
    raiseMarks: (marks) => marks.forEach((mark) => queue.raiseHighWater.run(markOf(mark))),
    insert(table, given) {
      for (const row of given) {
        const places = Object.keys(row).map((_, at) => `$${at + 1}`);
        const text = `INSERT INTO ${sqlite.t[table]} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`;
        rows({ text, values: Object.values(row) });
      }
    },
  };
}

function move({ store, moves }: Statements, { event, move }: EventMove, now: number): void {
  const { seq } = event;
  switch (move.name) {
    case 'toPending':
      store.toPending(event, move.content, now);
      break;
    case 'processedToPending':
      moves.processedToPending.run({ seq, now });
      break;
    case 'discard': {
      const { type = null, created = null } = move.content ?? {};
      moves.discard.run({ seq, now, type, ...createdColumns(created) });
      break;
    }
    case 'retry-now':
      moves.retryNow.run({ seq, now });
      break;
  }
}

/** Deliveries share the commit. */
const SLICE_MS = 10;
/** A changed row is written again with its body, and once more by the commit. */
const SLICE_BYTES = 1024 * 1024;

export function timeSlice(): TimeSlice {
  const startedAt = performance.now();
  let bytes = 0;
  return {
    add(more) {
      bytes += more;
      return true;
    },
    isOver: () => bytes >= SLICE_BYTES || performance.now() - startedAt > SLICE_MS,
  };
}
