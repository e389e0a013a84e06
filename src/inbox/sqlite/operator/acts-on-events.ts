import type { EntityOf } from '../../../events/entity.ts';
import type { EventKey } from '../../event.ts';
import { actedColumns, actedRow, type ActedColumns, actedInOrder, selectActed } from '../../operator/summaries.ts';
import {
  type Act,
  type ActOptions,
  type ActReport,
  type Acts,
  type ActResult,
  atCommit,
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
  type ActedRow,
  type Acting,
  type ActsPlan,
  type EventMove,
  nextBatch,
} from '../../rules/operator-acts.ts';
import { askedByKey } from '../../rules/decide-act.ts';
import { actingOf, hasEnded, type BulkStep } from '../../rules/bulks.ts';
import type { TimeSlice } from '../../rules/budget.ts';
import { batchWrites, bulkIn, heldBulk, startLine, type BulkEngine } from '../../operator/bulks.ts';
import { noteTime } from '../engine/clock.ts';
import { unparkNext } from '../engine/entity-queue.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { createdColumns } from '../sql/rows.ts';
import { keyIs } from '../sql/statement.ts';
import { type Access, addAuditLine, noteActed, rowsOf, seqIn, sqlite, timeSlice } from './access.ts';

export function actsOnEvents(access: Access): Pick<Acts, 'act'> {
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      refuseTooManyKeys(keys);
      if (keys.length > 1) refuseTooManyBytes(keys, bytesOf(access.database(), keys));
      const report = await access.write((statements, waitedMs) =>
        actOnKeys(statements, act, keys, atCommit(author, waitedMs), options),
      );
      if (report.counts.done !== undefined) access.notify();
      return report;
    },
  };
}

function actOnKeys(
  statements: Statements,
  act: Act,
  keys: readonly EventKey[],
  author: Author,
  { force = false, entity, states }: ActOptions,
): ActReport {
  const { database } = statements;
  const acting = { asked: askedByKey(act, force, states), entity, now: author.now };
  const rows = keys.map((key) => actedByKey(database, key));
  const { results, moves } = actOn(statements, rows, acting);
  advanceQueues(statements, moves, author.now);
  const report = reportOf(keys, results);
  const audit = addAuditLine(database, act, author, auditedTarget(keys, force), report.counts);
  noteActed(
    database,
    audit,
    moves.map(({ event }) => event.seq),
    author.now,
  );
  return { ...report, audit };
}

/** Moves these events; `advanceQueues` has to follow in the same transaction. */
function actOn(
  statements: Statements,
  rows: readonly (ActedRow | null)[],
  acting: Acting,
  slice?: TimeSlice,
): ActsPlan {
  const bodies = new Map<number, Uint8Array>();
  for (const seq of bodiesToRead(rows, acting)) {
    const { body } = statements.queue.bodyOf.one({ seq });
    if (body !== null) bodies.set(seq, body);
  }
  const plan = planActs(rows, bodies, acting, slice);
  for (const change of plan.moves) move(statements, change, acting.now);
  if (plan.moves.some(({ move: { name } }) => name !== 'discard')) noteTime(statements, acting.now);
  countMoves(statements.counts, plan.moves);
  return plan;
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

/** Once for each entity: a bulk action may move ten thousand events of one entity. */
function advanceQueues({ store }: Statements, moves: readonly EventMove[], now: number): void {
  unparkNext(store, queuesToAdvance(moves), now);
}

function actedByKey(database: SqliteDatabase, { id, endpoint }: EventKey): ActedRow | null {
  const text = `SELECT ${actedColumns(sqlite)} FROM hookbox_events AS events WHERE ${keyIs('$1', '$2')}`;
  const [row] = rowsOf<ActedColumns>(database, { text, values: [id, endpoint] });
  return row === undefined ? null : actedRow(row);
}

function bytesOf(database: SqliteDatabase, keys: readonly EventKey[]): number {
  return keys.reduce((bytes, key) => bytes + (actedByKey(database, key)?.bytes ?? 0), 0);
}

/** So many events are read, and then moved. */
const BATCH = 10;

export function bulkEngine(access: Access): BulkEngine {
  return {
    advance: (id, limit, author, entity) =>
      access.write((statements, waitedMs) => advance(statements, id, limit, atCommit(author, waitedMs), entity)),
    clear: (old, limit) => `
      DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
        SELECT events.bulk, events.seq FROM hookbox_bulks AS bulks
          CROSS JOIN hookbox_bulk_events AS events ON events.bulk = bulks.id
        WHERE ${old} LIMIT ${limit}
      ) RETURNING seq`,
  };
}

/** The first events of a snapshot without a result. */
const OPEN = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = +$1 AND result IS NULL ORDER BY seq LIMIT +$2';

function advance(
  statements: Statements,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): BulkStep {
  const slice = timeSlice();
  const { database } = statements;
  const bulk = bulkIn(rowsOf(database, heldBulk(sqlite, id)));
  if (bulk === null || hasEnded(bulk)) return { bulk, moved: false };
  const audit = bulk.audit ?? seqIn(rowsOf(database, startLine(sqlite, bulk, author)));
  const acting = actingOf(bulk, author, entity);
  const open = rowsOf<{ seq: number }>(database, { text: OPEN, values: [id, limit + 1] }).map(({ seq }) => seq);
  const seqs = open.slice(0, limit);
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < seqs.length) {
    const next = seqs.slice(results.length, results.length + BATCH);
    const rows = actedInOrder(next, rowsOf(database, selectActed(sqlite, next)));
    const plan = actOn(statements, nextBatch(rows, BATCH), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  advanceQueues(statements, moves, author.now);
  const { save, notes } = batchWrites(sqlite, { bulk, audit, author, open, results, moves });
  for (const note of notes) rowsOf(database, note);
  return { bulk: bulkIn(rowsOf(database, save)), moved: results.includes('done') };
}
