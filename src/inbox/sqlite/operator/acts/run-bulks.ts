import type { EntityOf } from '../../../../events/entity.ts';
import { positiveWhole } from '../../../../number-option.ts';
import type { ActResult, Acts, StoredBulk } from '../../../operator/acts.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import type { OutcomePart } from '../../../operator/bulk-outcome.ts';
import { breakdownOf, bulkOf, filterOf, type BulkRow } from '../../../operator/bulk-record.ts';
import { assertFilter } from '../../../operator/check-filter.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import { nextBatch, type EventMove } from '../../../rules/act-on-events.ts';
import type { Author } from '../../../operator/author.ts';
import { changedBy, outcomeOf, type AlikeEvents, type WorkedEvent } from '../../../rules/bulk-outcome.ts';
import {
  actingOf,
  CLEARED_AT_ONCE,
  hasEnded,
  MOST_AT_ONCE,
  MOST_CLEARINGS,
  notFilling,
  oldBulks,
  planProgress,
  planSnapshot,
  planStart,
  refuseTooMany,
  unknownBulk,
  type BulkStep,
  type FillingBulk,
} from '../../../rules/bulks.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { addAuditLine, noteActed, recountAuditLine } from '../audit-line.ts';
import { actedBySeq, actOn, advanceQueues } from './act-on-events.ts';

/** So many events are read before they are moved. */
const BATCH = 10;

/** Acts on snapshots. */
export function bulks(access: Access): Omit<Acts, 'act'> {
  return {
    async createBulk(act, filter, by, force) {
      const author = authorOf(by);
      assertFilter(filter);
      await clearOldBulks(access, author.now);
      return access.write(({ database }, waitedMs) => {
        const { actor, reason, now } = atCommit(author, waitedMs);
        const { lastInsertRowid } = statement(
          database,
          `INSERT INTO hookbox_bulks (act, state, force, filter, actor, reason, created_ms)
           VALUES (?, 'filling', ?, ?, ?, ?, ?)`,
        ).run(act, force ? 1 : 0, JSON.stringify(filter), actor, reason, now);
        return Number(lastInsertRowid);
      });
    },

    async addToBulk(id, seqs) {
      refuseTooMany(seqs);
      const isFilling = await access.write(({ database }) => addToSnapshot(database, id, seqs));
      if (!isFilling) throw notFilling(id);
    },

    async sealBulk(id) {
      const text = `UPDATE hookbox_bulks SET state = 'previewed' WHERE ${FILLING}`;
      const sealed = await access.write(({ database }) => changedBulk(database, text, id));
      if (sealed === null) throw notFilling(id);
      return sealed;
    },

    async bulk(id) {
      return findBulk(access.database(), id);
    },

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const sql = `SELECT ${COLUMNS} FROM hookbox_bulks WHERE id < ? AND state != 'filling' ORDER BY id DESC LIMIT +?`;
      const rows = statement(access.database(), sql).all(Date.now(), before, limit) as BulkRow[];
      return rows.map(bulkOf);
    },

    async advanceBulk(id, limit, by, { entity }) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const author = authorOf(by);
      const { bulk, moved } = await access.write((statements, waitedMs) =>
        advance(statements, id, limit, atCommit(author, waitedMs), entity),
      );
      if (moved) access.notify();
      if (bulk === null) throw unknownBulk(id);
      return bulk;
    },

    async reportBulk(id, stops) {
      const text = 'UPDATE hookbox_bulks SET heartbeat_ms = ?, stopped = ? WHERE id = ?';
      await access.write(({ database }) => statement(database, text).run(Date.now(), stops ? 1 : 0, id));
    },

    async outcomePart(id, after, limit) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const bulk = findBulk(access.database(), id);
      return bulk && outcome(access.database(), bulk, after, limit);
    },

    async cancelBulk(id, by) {
      const author = authorOf(by);
      const bulk = await access.write(({ database }, waitedMs) => cancel(database, id, atCommit(author, waitedMs)));
      if (bulk === null) throw unknownBulk(id);
      return bulk;
    },
  };
}

/** Of the bulk itself, with the time of now. */
const COLUMNS = '*, ? - heartbeat_ms AS silent_ms';
/** A bulk that was created at 0 was given up. */
const FILLING = "id = ? AND state = 'filling' AND created_ms > 0";

/** A bulk whose snapshot is complete. */
function findBulk(database: SqliteDatabase, id: number): StoredBulk | null {
  const sql = `SELECT ${COLUMNS} FROM hookbox_bulks WHERE id = ? AND state != 'filling'`;
  const row = statement(database, sql).get(Date.now(), id) as BulkRow | undefined;
  return row === undefined ? null : bulkOf(row);
}

/** Changes one bulk, and returns it; `null` if no bulk fits. */
function changedBulk(database: SqliteDatabase, text: string, ...values: readonly unknown[]): StoredBulk | null {
  const row = statement(database, `${text} RETURNING ${COLUMNS}`).get(...values, Date.now()) as BulkRow | undefined;
  return row === undefined ? null : bulkOf(row);
}

/** @returns `false` if the snapshot is not being filled any more */
function addToSnapshot(database: SqliteDatabase, id: number, seqs: readonly number[]): boolean {
  const bulk = fillingBulk(database, id);
  if (bulk === null) return false;
  const rows = seqs.map((seq) => actedBySeq(database, seq));
  const { added, breakdown } = planSnapshot(bulk, rows, inSnapshot(database, id, seqs));
  const add = statement(database, 'INSERT INTO hookbox_bulk_events (bulk, seq) VALUES (?, ?)');
  for (const seq of added) add.run(id, seq);
  const save = 'UPDATE hookbox_bulks SET total = total + ?, breakdown = ? WHERE id = ?';
  statement(database, save).run(added.length, JSON.stringify(breakdown), id);
  return true;
}

function fillingBulk(database: SqliteDatabase, id: number): FillingBulk | null {
  const text = `SELECT id, act, force, filter, breakdown, created_ms FROM hookbox_bulks WHERE ${FILLING}`;
  const row = statement(database, text).get(id) as BulkRow | undefined;
  if (row === undefined) return null;
  const { act, force, filter, created_ms: createdMs } = row;
  return { id, act, force: Boolean(force), filter: filterOf(filter), breakdown: breakdownOf(row), createdMs };
}

function inSnapshot(database: SqliteDatabase, id: number, seqs: readonly number[]): ReadonlySet<number> {
  const text = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = ? AND seq IN (SELECT value FROM json_each(?))';
  return new Set(seqsOf(statement(database, text).all(id, JSON.stringify(seqs))));
}

/** Works one batch. The first batch of a bulk begins it, and the last one ends it. */
function advance(
  statements: Statements,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): BulkStep {
  const slice = timeSlice(0);
  const { database } = statements;
  const bulk = findBulk(database, id);
  if (bulk === null || hasEnded(bulk)) return { bulk, moved: false };
  const audit = bulk.audit ?? start(database, bulk, author);
  const acting = actingOf(bulk, author, entity);
  const open = openEvents(database, id, limit + 1);
  const seqs = open.slice(0, limit);
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < seqs.length) {
    const rows = seqs.slice(results.length, results.length + BATCH).map((seq) => actedBySeq(database, seq));
    const plan = actOn(statements, nextBatch(rows, BATCH), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  advanceQueues(statements, moves, author.now);
  const note = statement(database, 'UPDATE hookbox_bulk_events SET result = ? WHERE bulk = ? AND seq = ?');
  for (const [at, result] of results.entries()) note.run(result, id, seqs[at]);
  const { actor, reason, started, worked, counts, state, ended } = planProgress(bulk, author, open, results);
  recountAuditLine(database, audit, counts);
  noteActed(
    database,
    audit,
    moves.map(({ event }) => event.seq),
    author.now,
  );
  const text = `
    UPDATE hookbox_bulks
    SET actor = ?, reason = ?, audit = ?, started_ms = ?, worked = ?, counts = ?, state = ?, ended_ms = ?, heartbeat_ms = ?,
        stopped = 0
    WHERE id = ?`;
  const values = [actor, reason, audit, started, worked, JSON.stringify(counts), state, ended, Date.now(), id];
  return { bulk: changedBulk(database, text, ...values), moved: results.includes('done') };
}

function start(database: SqliteDatabase, bulk: StoredBulk, by: Author): number {
  const { author, target } = planStart(bulk, by);
  return addAuditLine(database, bulk.act, author, target, {});
}

/** The first events of a snapshot without a result. */
function openEvents(database: SqliteDatabase, id: number, limit: number): readonly number[] {
  const sql = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = +? AND result IS NULL ORDER BY seq LIMIT +?';
  return seqsOf(statement(database, sql).all(id, limit));
}

function cancel(database: SqliteDatabase, id: number, author: Author): StoredBulk | null {
  const bulk = findBulk(database, id);
  if (bulk === null || hasEnded(bulk)) return bulk;
  const { worked, total } = bulk;
  addAuditLine(database, 'cancel', author, { bulk: id }, { worked, left: total - worked });
  const text = "UPDATE hookbox_bulks SET state = 'cancelled', ended_ms = ? WHERE id = ?";
  return changedBulk(database, text, author.now, id);
}

async function clearOldBulks(access: Access, now: number): Promise<void> {
  const { fillingSince, previewedBefore, endedBefore } = oldBulks(now);
  // A preview that is still filling a bulk finds it created at 0, and gives up.
  const giveUp = "UPDATE hookbox_bulks SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND ?";
  const cancelOld =
    "UPDATE hookbox_bulks SET state = 'cancelled', ended_ms = ? WHERE state = 'previewed' AND created_ms < ?";
  const clear = `
    DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
      SELECT e.bulk, e.seq FROM hookbox_bulks AS b CROSS JOIN hookbox_bulk_events AS e ON e.bulk = b.id
      WHERE b.state = 'filling' AND b.created_ms = 0
         OR b.state = 'cancelled' AND b.started_ms IS NULL
         OR b.state IN ('done', 'cancelled') AND b.ended_ms < ?
      LIMIT +?
    )`;
  for (let clearings = 0; clearings < MOST_CLEARINGS; clearings += 1) {
    const { changes } = await access.write(({ database }) => {
      if (clearings === 0) {
        statement(database, giveUp).run(fillingSince);
        statement(database, cancelOld).run(now, previewedBefore);
      }
      return statement(database, clear).run(endedBefore, CLEARED_AT_ONCE);
    });
    if (changes < CLEARED_AT_ONCE) return;
  }
}

interface AlikeRow extends Omit<AlikeEvents, 'failed' | 'erased' | 'again'> {
  readonly failed: 0 | 1;
  readonly erased: 0 | 1;
  readonly again: 0 | 1;
}

function outcome(database: SqliteDatabase, { id, audit }: StoredBulk, after: number, limit: number): OutcomePart {
  const worked = statement(
    database,
    `SELECT seq, result FROM hookbox_bulk_events
     WHERE bulk = +? AND seq > ? AND result IS NOT NULL ORDER BY seq LIMIT +?`,
  ).all(id, after, limit) as WorkedEvent[];
  const seqs = changedBy(worked);
  return outcomeOf(worked, seqs.length === 0 ? [] : standing(database, seqs, audit), limit);
}

/** How these events stand now. */
function standing(database: SqliteDatabase, seqs: readonly number[], audit: number | null): readonly AlikeEvents[] {
  // The order of a CROSS JOIN is kept: one look for each.
  const rows = statement(
    database,
    `SELECT state, failures > 0 AS failed, erased_ms IS NOT NULL AS erased,
       EXISTS (SELECT 1 FROM hookbox_event_acts AS a WHERE a.seq = e.seq AND a.audit > ?) AS again, count(*) AS count
     FROM json_each(?) AS acted CROSS JOIN hookbox_events AS e ON e.seq = acted.value
     GROUP BY 1, 2, 3, 4`,
  ).all(audit, JSON.stringify(seqs)) as AlikeRow[];
  return rows.map(({ failed, erased, again, ...row }) => ({
    ...row,
    failed: failed === 1,
    erased: erased === 1,
    again: again === 1,
  }));
}

function seqsOf(rows: readonly unknown[]): readonly number[] {
  return (rows as readonly { readonly seq: number }[]).map(({ seq }) => seq); // the columns of these statements
}
