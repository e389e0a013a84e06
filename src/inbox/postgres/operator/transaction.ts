import type { Clock, OperatorTransaction } from '../../operator/sql.ts';
import type { ActMove } from '../../rules/decide-act.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import type { EventMove } from '../../rules/operator-acts.ts';
import { seenSince } from '../../rules/processors.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import { assertPlaced, type Placed } from '../engine/accepted-events.ts';
import { marksToRaise } from '../engine/apply-changes.ts';
import { nextInQueues } from '../engine/entity-queue.ts';
import { toPending } from '../engine/settled-events.ts';
import { timeSlice, type Transaction } from '../engine/transaction.ts';
import { pruneErrors } from '../moves.ts';
import { contentColumns } from '../sql/records.ts';
import { given, lists, type Write } from '../sql/statements.ts';
import { slotOf } from '../sql/tables.ts';
import { postgres } from './access.ts';
import { holdIndex } from './search-indexes.ts';

/** @param later - receives the writes before the commit */
export function operatorTransaction(transaction: Transaction, clock: Clock, later: Write[]): OperatorTransaction {
  const { session, t, moves, locks, counts } = transaction;
  return {
    ...clock,
    timeOf: (time) => clock.toDatabase(time.getTime()),
    dialect: postgres(t),
    counts,
    rows: (statement) => session.rows(statement),
    later: (...writes) => void later.push(...writes),
    timeSlice,
    async hold(seqs, index) {
      if (seqs.length === 0) return;
      await locks.takeOfSeqs(seqs);
      // These rows show that a processed event may be pruned.
      const prunable = 'WHERE prunable AND seq = ANY($1::bigint[]) ORDER BY seq';
      await Promise.all([
        session.rows(`SELECT 1 FROM ${t.attempts} ${prunable}, number FOR UPDATE`, [seqs]),
        session.rows(`SELECT 1 FROM ${t.imported} ${prunable} FOR UPDATE`, [seqs]),
        // Later actions find lost events on the shelf.
        session.run(moves.shelveLost(seqs)),
      ]);
      if (index !== undefined) await holdIndex({ session, t });
    },
    move: (changes, now) => move(transaction, changes, now),
    async advance(queues, now) {
      later.push(moves.unpark(eventsToUnpark(await nextInQueues(transaction, queues, seenSince(now)))));
    },
    async prune(seqs) {
      later.push({ text: pruneErrors(t), values: [seqs] });
      for (const table of [t.conflicts, t.steps]) {
        later.push({ text: `DELETE FROM ${table} WHERE seq = ANY($1::bigint[])`, values: [seqs] });
      }
      await session.run(moves.pruneMany(seqs));
    },
    async erase(tombstones, now) {
      const pending = tombstones.flatMap(({ event, state }) => (event.state === state ? [] : [event.seq]));
      const settled = tombstones.flatMap(({ event, state }) => (event.state === state ? [event.seq] : []));
      const erased = tombstones.map(({ event: { seq, endpoint, id } }) => ({ seq, slot: slotOf(endpoint, null, id) }));
      await Promise.all([
        session.run(moves.erase(erased, now)),
        session.run(moves.erasePending(pending, now)),
        session.run(moves.eraseSettled(settled)),
      ]);
    },
    async importEvents(events) {
      const rows = events.map((event) => ({
        ...event,
        ...contentColumns(event),
        slot: slotOf(event.endpoint, event.entity, event.id),
        received_ms: event.receivedMs,
        trace: event.trace ?? null,
        body_sha256: event.sha256,
        erased_ms: event.erasedMs,
        dead_reason: event.deadReason,
        settled_ms: event.settledMs,
        due_ms: event.dueMs,
        attempts: event.begun,
        yields: event.yields === true,
      }));
      const stored = await session.rows<{ seq: number } & Placed>(moves.importEvents(rows));
      // Another transaction has stored one of the events meanwhile. The next try finds it.
      if (stored.length < events.length) {
        throw new DatabaseFailure(Object.assign(new Error('stored meanwhile'), { code: '40001' }));
      }
      assertPlaced(stored);
      return stored.map(({ seq }) => seq);
    },
    raiseMarks: (marks) => void later.push(marksToRaise(t, marks)),
    insert(table, rows) {
      const columns = Object.keys(rows[0] ?? {}).join(', ');
      if (columns === '') return;
      const text = `INSERT INTO ${t[table]} (${columns}) SELECT * FROM ${given(columns)}`;
      later.push({ text, values: lists(columns, rows) });
    },
  };
}

async function move(transaction: Transaction, changes: readonly EventMove[], now: number): Promise<void> {
  const { session, moves } = transaction;
  const reruns = named(changes, 'toPending').map(({ event, move }) => ({ event, content: move.content }));
  if (reruns.length > 0) await toPending(transaction, reruns, now);
  const processed = named(changes, 'processedToPending').map(({ event }) => ({
    seq: event.seq,
    ...contentColumns({ created: null, ...event }),
  }));
  const discarded = named(changes, 'discard');
  const invalid = discarded.flatMap(({ event, move: { content } }) =>
    content === null ? [] : [{ seq: event.seq, ...contentColumns({ entity: null, ...content }) }],
  );
  const types = invalid.map((row) => row.type_key);
  await Promise.all([
    session.run(moves.processedToPending(processed, now)),
    session.run(moves.discardPending(seqsOf(discarded.filter(({ event }) => event.state === 'pending')), now)),
    session.run(
      moves.discardDead(
        seqsOf(discarded.filter(({ event, move }) => event.state === 'dead' && move.content === null)),
        now,
      ),
    ),
    session.run(moves.describeInvalid(invalid)),
    session.run(
      moves.discardInvalid(
        invalid.map(({ seq }) => seq),
        now,
        types,
      ),
    ),
    session.run(moves.retryNow(seqsOf(named(changes, 'retry-now')), now)),
  ]);
}

type Move<N extends ActMove['name']> = EventMove & { readonly move: Extract<ActMove, { name: N }> };

function named<N extends ActMove['name']>(moves: readonly EventMove[], name: N): readonly Move<N>[] {
  return moves.filter((each): each is Move<N> => each.move.name === name);
}

function seqsOf(moves: readonly Pick<EventMove, 'event'>[]): readonly number[] {
  return moves.map(({ event }) => event.seq);
}
