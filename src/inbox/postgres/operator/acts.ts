import type { EntityOf } from '../../../events/entity.ts';
import type { EventKey } from '../../event.ts';
import { actedColumns, actedInOrder, actedRow, selectActed, type ActedColumns } from '../../operator/summaries.ts';
import {
  type Act,
  type ActOptions,
  type ActReport,
  type Acts,
  type ActResult,
  authorOf,
  type Author,
} from '../../operator/acts.ts';
import { actedEvents } from '../../operator/audit.ts';
import { batchWrites, bulkIn, heldBulk, startLine, type BulkEngine } from '../../operator/bulks.ts';
import {
  auditedTarget,
  bodiesToRead,
  countMoves,
  planActs,
  queuesToAdvance,
  refuseTooManyBytes,
  refuseTooManyKeys,
  reportOf,
  type EventMove,
  type ActedRow,
  nextBatch,
  type Acting,
  type ActsPlan,
} from '../../rules/operator-acts.ts';
import { askedByKey, type ActMove } from '../../rules/decide-act.ts';
import { actingOf, hasEnded, type BulkStep } from '../../rules/bulks.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import { seenSince } from '../../rules/processors.ts';
import type { DatabaseTime } from '../database-time.ts';
import { doneOnce } from '../driver/database.ts';
import { nextInQueues } from '../engine/entity-queue.ts';
import { keyOf } from '../engine/accepted-events.ts';
import { toPending } from '../engine/settled-events.ts';
import { timeSlice, type Reading, type Transaction } from '../engine/transaction.ts';
import { contentColumns, places } from '../sql/records.ts';
import { eventOfKey, lists, writeTogether, type Write } from '../sql/statements.ts';
import { type Access, addAuditLine, postgres } from './operator-tables.ts';

/** Acts on events by their keys. */
export function actsOnEvents({ store, ask, notify }: Access): Pick<Acts, 'act'> {
  const { database, t, time, within, writeAt } = store;
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      const times = time.asked();
      refuseTooManyKeys(keys);
      if (keys.length > 1) {
        refuseTooManyBytes(keys, await ask(() => database.read((session) => bytesOf({ session, t }, keys))));
      }
      const report = await ask(() =>
        doneOnce(database, {
          before: (session) => writeAt(session, author.now, times),
          work: (session) =>
            actOnKeys(within(session), act, keys, { ...author, now: times.toDatabase(author.now) }, options),
        }),
      );
      if (report.counts.done !== undefined) notify();
      return report;
    },
  };
}

async function actOnKeys(
  transaction: Transaction,
  act: Act,
  keys: readonly EventKey[],
  author: Author,
  { force = false, entity, states }: ActOptions,
): Promise<ActReport> {
  const acting = { asked: askedByKey(act, force, states), entity, now: author.now };
  const rows = await heldByKey(transaction, keys);
  const { results, moves } = planActs(rows, await readBodies(transaction, bodiesToRead(rows, acting)), acting);
  const advancing = await saveMoves(transaction, moves, author.now);
  const report = reportOf(keys, results);
  const audit = await addAuditLine(transaction, act, author, auditedTarget(keys, force), report.counts);
  const acted = actedEvents(postgres(transaction.t), audit, seqsOf(moves), author.now);
  await writeTogether(transaction.session, [...advancing, acted, ...(await transaction.countsToWrite())]);
  return { ...report, audit };
}

/** A bulk reads this many bodies at once. */
const BATCH = 100;

export function bulkEngine({ store, ask }: Access): BulkEngine {
  const { database, t, time, within, writeAt } = store;
  return {
    advance(id, limit, author, entity) {
      const times = time.asked();
      return ask(() =>
        doneOnce(database, {
          before: (session) => writeAt(session, author.now, times),
          work: (session) => {
            const by = { ...author, now: times.toDatabase(author.now) };
            return advance(within(session), time, id, limit, by, entity);
          },
        }),
      );
    },
    clear: (old, limit) => `
      DELETE FROM ${t.bulk_events} WHERE ctid = ANY(ARRAY(
        SELECT old.ctid FROM ${t.bulks} AS bulks CROSS JOIN LATERAL (
          SELECT ctid FROM ${t.bulk_events} AS events WHERE events.bulk = bulks.id LIMIT ${limit}
        ) AS old
        WHERE ${old} LIMIT ${limit}
      )) RETURNING seq`,
  };
}

async function advance(
  transaction: Transaction,
  time: DatabaseTime,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): Promise<BulkStep> {
  const { session, t } = transaction;
  const dialect = postgres(t);
  const held = await session.rows<{ seq: number }>(heldBulk(dialect, id));
  const bulk = bulkIn(held);
  if (bulk === null || hasEnded(bulk)) return { bulk: bulkIn(held, time), moved: false };
  const audit = bulk.audit ?? (await session.row<{ seq: number }>(startLine(dialect, bulk, author)))?.seq ?? 0;
  // Events before `reached` leave dead entries in the index for as long as another transaction reads.
  const found = await session.rows<{ seq: number }>(
    `SELECT seq FROM ${t.bulk_events}
     WHERE bulk = $1 AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1) ORDER BY seq LIMIT $2`,
    [id, limit + 1],
  );
  const open = found.map(({ seq }) => seq);
  const { results, moves } = await actOnBatch(transaction, open.slice(0, limit), actingOf(bulk, author, entity));
  const advancing = await saveMoves(transaction, moves, author.now);
  const reached = { text: ', reached = greatest(reached, $10)', values: [open[results.length - 1] ?? 0] };
  const { save, notes } = batchWrites(dialect, { bulk, audit, author, open, results, moves }, reached);
  const saved = await session.rows<{ seq: number }>(save);
  await writeTogether(session, [...advancing, ...notes, ...(await transaction.countsToWrite())]);
  return { bulk: bulkIn(saved, time), moved: results.includes('done') };
}

/** Decides about the first of these events; all are held. */
async function actOnBatch(transaction: Transaction, seqs: readonly number[], acting: Acting): Promise<ActsPlan> {
  const rows = await heldBySeq(transaction, seqs);
  const slice = timeSlice();
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < rows.length) {
    const batch = nextBatch(rows.slice(results.length), BATCH);
    const plan = planActs(batch, await readBodies(transaction, bodiesToRead(batch, acting)), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  return { results, moves };
}

/** Moves events that are held. Returns the writes that advance their queues. */
async function saveMoves(
  transaction: Transaction,
  moves: readonly EventMove[],
  now: number,
): Promise<readonly Write[]> {
  const { session } = transaction;
  const reruns = named(moves, 'toPending').map(({ event, move }) => ({ event, content: move.content }));
  if (reruns.length > 0) await toPending(transaction, reruns, now);
  const processed = named(moves, 'processedToPending').map(({ event }) => ({
    seq: event.seq,
    ...contentColumns({ created: null, ...event }),
  }));
  await Promise.all([
    session.run(transaction.moves.processedToPending(processed, now)),
    discard(transaction, named(moves, 'discard'), now),
    session.run(transaction.moves.retryNow(seqsOf(named(moves, 'retry-now')), now)),
  ]);
  countMoves(transaction.counts, moves);
  const queues = queuesToAdvance(moves);
  if (queues.length === 0) return [];
  return [transaction.moves.unpark(eventsToUnpark(await nextInQueues(transaction, queues, seenSince(now))))];
}

type Move<N extends ActMove['name']> = EventMove & { readonly move: Extract<ActMove, { name: N }> };

async function discard({ session, moves }: Transaction, all: readonly Move<'discard'>[], now: number): Promise<void> {
  const pending = all.filter(({ event }) => event.state === 'pending');
  const dead = all.filter(({ event, move }) => event.state === 'dead' && move.content === null);
  const invalid = all.flatMap(({ event, move: { content } }) =>
    content === null ? [] : [{ event, seq: event.seq, ...contentColumns({ entity: null, ...content }) }],
  );
  await Promise.all([
    session.run(moves.discardPending(seqsOf(pending), now)),
    session.run(moves.discardDead(seqsOf(dead), now)),
    session.run(moves.describeInvalid(invalid)),
    session.run(
      moves.discardInvalid(
        seqsOf(invalid),
        now,
        invalid.map((row) => row.type_key),
      ),
    ),
  ]);
}

function named<N extends ActMove['name']>(moves: readonly EventMove[], name: N): readonly Move<N>[] {
  return moves.filter((each): each is Move<N> => each.move.name === name);
}

function seqsOf(moves: readonly Pick<EventMove, 'event'>[]): readonly number[] {
  return moves.map(({ event }) => event.seq);
}

/** Events by their keys, in the order of these. No other transaction moves or prunes them until this one ends. */
async function heldByKey(transaction: Transaction, keys: readonly EventKey[]): Promise<readonly (ActedRow | null)[]> {
  const { session, t, locks } = transaction;
  await locks.takeOfKeys(keys);
  const given = lists('id, endpoint', keys);
  await keepUnpruned(transaction, `ARRAY(SELECT events.seq FROM ${eventOfKey(t)})`, given);
  const text = `SELECT ${actedColumns(postgres(t))} FROM ${eventOfKey(t)} ${places(t)}`;
  const rows = await session.rows<ActedColumns>(text, given);
  const found = new Map(rows.map(actedRow).map((row) => [keyOf(row), row]));
  await shelveLost(transaction, [...found.values()]);
  return keys.map((key) => found.get(keyOf(key)) ?? null);
}

/** `heldByKey`, for events by their numbers. */
async function heldBySeq(transaction: Transaction, seqs: readonly number[]): Promise<readonly (ActedRow | null)[]> {
  if (seqs.length === 0) return [];
  await holdBySeq(transaction, seqs);
  const found = await transaction.session.rows<ActedColumns>(selectActed(postgres(transaction.t), seqs));
  const rows = actedInOrder(seqs, found);
  await shelveLost(
    transaction,
    rows.filter((row) => row !== null),
  );
  return rows;
}

async function readBodies({ session, t }: Reading, seqs: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
  if (seqs.length === 0) return new Map();
  const text = `SELECT seq, body FROM ${t.events} WHERE seq = ANY($1::bigint[]) AND body IS NOT NULL`;
  const rows = await session.rows<{ seq: number; body: Buffer }>(text, [seqs]);
  return new Map(rows.map(({ seq, body }) => [seq, body]));
}

/** The bodies of these events together. */
async function bytesOf({ session, t }: Reading, keys: readonly EventKey[]): Promise<number> {
  const text = `SELECT coalesce(sum(octet_length(events.body)), 0)::bigint AS bytes FROM ${eventOfKey(t)}`;
  return (await session.row<{ bytes: number }>(text, lists('id, endpoint', keys)))?.bytes ?? 0;
}

/** Moves lost events to the shelf, where later actions find them. */
async function shelveLost({ session, moves }: Transaction, rows: readonly ActedRow[]): Promise<void> {
  await session.run(moves.shelveLost(rows.filter(({ state }) => state === 'dead').map(({ seq }) => seq)));
}

/** No other transaction moves or prunes these events until this one ends. */
export async function holdBySeq(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  await transaction.locks.takeOfSeqs(seqs);
  await keepUnpruned(transaction, '$1::bigint[]', [seqs]);
}

/** Locks the rows that say that a processed event may be pruned, and no others of it. */
async function keepUnpruned({ session, t }: Reading, seqs: string, values: readonly unknown[]): Promise<void> {
  const of = `WHERE prunable AND seq = ANY(${seqs}) ORDER BY seq`;
  await session.rows(`SELECT 1 FROM ${t.attempts} ${of}, number FOR UPDATE`, values);
  await session.rows(`SELECT 1 FROM ${t.imported} ${of} FOR UPDATE`, values);
}
