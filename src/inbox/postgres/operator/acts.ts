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
  askedByKey,
  type ActMove,
} from '../../rules/operator-acts.ts';
import { actingOf, hasEnded, type BulkStep } from '../../rules/bulks.ts';
import { seenSince } from '../../rules/processors.ts';
import { actedEvents } from '../../operator/audit.ts';
import { batchWrites, bulkIn, heldBulk, startLine, type BulkEngine } from '../../operator/bulks.ts';
import type { Statement } from '../../operator/sql.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import type { DatabaseTime } from '../database-time.ts';
import { doneOnce } from '../driver/database.ts';
import { nextInQueues } from '../engine/entity-queue.ts';
import { toPending } from '../engine/settled-events.ts';
import { type Scene, timeSlice } from '../engine/transaction.ts';
import { places } from '../sql/records.ts';
import { inOneStatement, type Write } from '../sql/statements.ts';
import { keyOrNull, rowOf, type Tables } from '../sql/tables.ts';
import { type Access, addAuditLine, postgres } from './operator-tables.ts';

/** Acts on events that are named. */
export function actsOnEvents({ store, ask, notify }: Access): Pick<Acts, 'act'> {
  const { database, t, time, scene, writeAt } = store;
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      const times = time.asked();
      refuseTooManyKeys(keys);
      if (keys.length > 1) {
        refuseTooManyBytes(keys, await ask(() => database.read((session) => bytesOf({ session, t }, keys))));
      }
      let written: { readonly report: ActReport; readonly at: number } | undefined;
      const report = await ask(() =>
        database.transaction({
          before: (session) => writeAt(session, author.now, times),
          async work(session) {
            const now = times.toDatabase(author.now);
            const report = await actOnKeys(scene(session), act, keys, { ...author, now }, options);
            written = { report, at: now };
            return report;
          },
          async wasDone(session) {
            if (written === undefined) return undefined;
            // Waits for the transaction that has moved them, should it be under way still.
            await scene(session).locks.takeOfKeys(keys);
            const text = `SELECT 1 FROM ${t.audit} WHERE seq = $1 AND at_ms = $2`;
            const line = await session.row(text, [written.report.audit, written.at]);
            return line === undefined ? undefined : { result: written.report };
          },
        }),
      );
      if (report.counts.done !== undefined) notify();
      return report;
    },
  };
}

async function actOnKeys(
  scene: Scene,
  act: Act,
  keys: readonly EventKey[],
  author: Author,
  { force = false, entity, states }: ActOptions,
): Promise<ActReport> {
  const acting = { asked: askedByKey(act, force, states), entity, now: author.now };
  const rows = await heldByKey(scene, keys);
  const { results, moves } = planActs(rows, await readBodies(scene, bodiesToRead(rows, acting)), acting);
  const advancing = await saveMoves(scene, moves, author.now);
  const report = reportOf(keys, results);
  const audit = await addAuditLine(scene, act, author, auditedTarget(keys, force), report.counts);
  await writeTogether(scene, [...advancing, actedEvents(postgres(scene.t), audit, seqsOf(moves), author.now)]);
  return { ...report, audit };
}

/**
 * Moves events that are held.
 *
 * @returns what advances their queues: `writeTogether` has to follow in the same transaction
 */
async function saveMoves(scene: Scene, moves: readonly EventMove[], now: number): Promise<readonly Write[]> {
  const reruns = named(moves, 'toPending').map(({ event, move }) => ({ event, content: move.content }));
  if (reruns.length > 0) await toPending(scene, reruns, now);
  await Promise.all([
    rerunProcessed(scene, named(moves, 'processedToPending'), now),
    discard(scene, named(moves, 'discard'), now),
    retryNow(scene, named(moves, 'retry-now'), now),
  ]);
  countMoves(scene.writes.counts, moves);
  const queues = queuesToAdvance(moves);
  if (queues.length === 0) return [];
  const next = await nextInQueues(scene, queues, seenSince(now));
  return [{ text: scene.moves.unpark, values: [eventsToUnpark(next)] }];
}

/** Makes these writes, and those of the counts, in one round trip. A write about no events is left out. */
async function writeTogether({ session, writes }: Scene, more: readonly Write[]): Promise<void> {
  const about = more.filter(({ values: [first] }) => !Array.isArray(first) || first.length > 0);
  const all = [...about, ...(await writes.countsToWrite())];
  if (all.length === 0) return;
  const { text, values } = inOneStatement(all);
  await session.run(text, values);
}

type Move<N extends ActMove['name']> = EventMove & { readonly move: Extract<ActMove, { name: N }> };

async function rerunProcessed(
  { session, moves }: Scene,
  all: readonly Move<'processedToPending'>[],
  now: number,
): Promise<void> {
  if (all.length === 0) return;
  await session.run(moves.processedToPending, [
    seqsOf(all),
    all.map(({ event }) => keyOrNull(event.type)),
    all.map(({ event }) => keyOrNull(event.entity)),
    now,
  ]);
}

async function discard({ session, moves }: Scene, all: readonly Move<'discard'>[], now: number): Promise<void> {
  const pending = all.filter(({ event }) => event.state === 'pending');
  const dead = all.filter(({ event, move }) => event.state === 'dead' && move.content === null);
  const invalid = all.flatMap(({ event, move }) => (move.content === null ? [] : [{ event, ...move.content }]));
  const writing: Promise<unknown>[] = [];
  if (pending.length > 0) writing.push(session.run(moves.discardPending, [seqsOf(pending), now]));
  if (dead.length > 0) writing.push(session.run(moves.discardDead, [seqsOf(dead), now]));
  if (invalid.length > 0) {
    const seqs = seqsOf(invalid);
    const about = [
      invalid.map(({ type }) => type),
      invalid.map(({ created }) => created?.ms ?? null),
      invalid.map(({ created }) => created?.ns ?? null),
    ];
    writing.push(session.run(moves.describeInvalid, [seqs, ...about]));
    writing.push(session.run(moves.discardInvalid, [seqs, now, invalid.map(({ type }) => keyOrNull(type))]));
  }
  await Promise.all(writing);
}

async function retryNow({ session, moves }: Scene, all: readonly Move<'retry-now'>[], now: number): Promise<void> {
  if (all.length > 0) await session.run(moves.retryNow, [seqsOf(all), now]);
}

function named<N extends ActMove['name']>(moves: readonly EventMove[], name: N): readonly Move<N>[] {
  return moves.filter((each): each is Move<N> => each.move.name === name);
}

function seqsOf(moves: readonly Pick<EventMove, 'event'>[]): readonly number[] {
  return moves.map(({ event }) => event.seq);
}

type Place = Pick<Scene, 'session' | 't'>;

/** Events by their keys, in the order of these. No other transaction moves or prunes them until this one ends. */
async function heldByKey(scene: Scene, keys: readonly EventKey[]): Promise<readonly (ActedRow | null)[]> {
  const { session, t, locks } = scene;
  await locks.takeOfKeys(keys);
  const given = valuesOf(keys);
  await keepUnpruned(scene, `ARRAY(SELECT events.seq FROM ${eventsOfKeys(t)})`, given);
  const text = `SELECT ${actedColumns(postgres(t))} FROM ${eventsOfKeys(t)} ${places(t)}`;
  const rows = await session.rows<ActedColumns>(text, given);
  const found = new Map(rows.map(actedRow).map((row) => [nameOf(row), row]));
  await shelveLost(scene, [...found.values()]);
  return keys.map((key) => found.get(nameOf(key)) ?? null);
}

/** `heldByKey`, for events by their numbers. */
async function heldBySeq(scene: Scene, seqs: readonly number[]): Promise<readonly (ActedRow | null)[]> {
  if (seqs.length === 0) return [];
  await scene.locks.takeOfSeqs(seqs);
  await keepUnpruned(scene, '$1::bigint[]', [seqs]);
  const { text, values } = selectActed(postgres(scene.t), seqs);
  const rows = actedInOrder(seqs, await scene.session.rows(text, values));
  await shelveLost(
    scene,
    rows.filter((row) => row !== null),
  );
  return rows;
}

async function readBodies({ session, t }: Place, seqs: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
  if (seqs.length === 0) return new Map();
  const text = `SELECT seq, body FROM ${t.events} WHERE seq = ANY($1::bigint[]) AND body IS NOT NULL`;
  const rows = await session.rows<{ seq: number; body: Buffer }>(text, [seqs]);
  return new Map(rows.map(({ seq, body }) => [seq, body]));
}

/** The bodies of these events together. */
async function bytesOf({ session, t }: Place, keys: readonly EventKey[]): Promise<number> {
  const text = `SELECT coalesce(sum(octet_length(events.body)), 0)::bigint AS bytes FROM ${eventsOfKeys(t)}`;
  return (await session.row<{ bytes: number }>(text, valuesOf(keys)))?.bytes ?? 0;
}

/** Moves lost events to the shelf, where later actions find them. */
async function shelveLost({ session, moves }: Scene, rows: readonly ActedRow[]): Promise<void> {
  const dead = rows.filter(({ state }) => state === 'dead').map(({ seq }) => seq);
  if (dead.length > 0) await session.run(moves.shelveLost, [dead]);
}

/** Pruning locks what says that a processed event may be pruned, and nothing else of it. */
export async function keepUnpruned({ session, t }: Place, seqs: string, values: readonly unknown[]): Promise<void> {
  const of = `WHERE prunable AND seq = ANY(${seqs}) ORDER BY seq`;
  await session.rows(`SELECT 1 FROM ${t.attempts} ${of}, number FOR UPDATE`, values);
  await session.rows(`SELECT 1 FROM ${t.imported} ${of} FOR UPDATE`, values);
}

function eventsOfKeys(t: Tables): string {
  const event = rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint');
  return `unnest($1::text[], $2::text[]) AS given (id, endpoint) CROSS JOIN ${event}`;
}

function valuesOf(keys: readonly EventKey[]): readonly unknown[] {
  return [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)];
}

function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

/** So many bodies are read at once. */
const BATCH = 100;

export function bulkEngine({ store, ask }: Access): BulkEngine {
  const { t, time, scene, writeAt } = store;
  return {
    advance(id, limit, author, entity) {
      const times = time.asked();
      return ask(() =>
        doneOnce(store.database, {
          before: (session) => writeAt(session, author.now, times),
          work: (session) => {
            const by = { ...author, now: times.toDatabase(author.now) };
            return advance(scene(session), time, id, limit, by, entity);
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
  scene: Scene,
  time: DatabaseTime,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): Promise<BulkStep> {
  const { session, t } = scene;
  const dialect = postgres(t);
  const ask = ({ text, values = [] }: Statement) => session.rows<{ seq: number }>(text, values);
  const held = await ask(heldBulk(dialect, id));
  const bulk = bulkIn(held);
  if (bulk === null || hasEnded(bulk)) return { bulk: bulkIn(held, time), moved: false };
  const audit = bulk.audit ?? (await ask(startLine(dialect, bulk, author)))[0]?.seq ?? 0;
  // What has a result already leaves dead entries in the index, which may be there for as long as somebody else reads.
  const text = `
    SELECT seq FROM ${t.bulk_events}
    WHERE bulk = $1 AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1) ORDER BY seq LIMIT $2`;
  const open = (await ask({ text, values: [id, limit + 1] })).map(({ seq }) => seq);
  const { results, moves } = await actOnBatch(scene, open.slice(0, limit), actingOf(bulk, author, entity));
  const advancing = await saveMoves(scene, moves, author.now);
  const reached = { text: ', reached = greatest(reached, $10)', values: [open[results.length - 1] ?? 0] };
  const { save, notes } = batchWrites(dialect, { bulk, audit, author, open, results, moves }, reached);
  const saved = await ask(save);
  await writeTogether(scene, [...advancing, ...notes]);
  return { bulk: bulkIn(saved, time), moved: results.includes('done') };
}

/** Decides about the first of these events; all are held. */
async function actOnBatch(scene: Scene, seqs: readonly number[], acting: Acting): Promise<ActsPlan> {
  const rows = await heldBySeq(scene, seqs);
  const slice = timeSlice();
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < rows.length) {
    const batch = nextBatch(rows.slice(results.length), BATCH);
    const plan = planActs(batch, await readBodies(scene, bodiesToRead(batch, acting)), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  return { results, moves };
}
