import { ConfigurationError } from '../../../../errors.ts';
import { positiveWhole } from '../../../../number-option.ts';
import { actOnEvents } from '../../../rules/act-on-events.ts';
import { askedOfSnapshot } from '../../../rules/operator-acts.ts';
import { atOnce } from '../../../rules/steps.ts';
import { assertFilter } from '../../../operator/check-filter.ts';
import type { ActOptions, Acts } from '../../../operator/acts.ts';
import { Sums } from '../../../operator/sums.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../time-slice.ts';
import type { Access } from '../access.ts';
import { addAuditLine, recountAuditLine } from '../audit/audit-line.ts';
import { atCommit, authorOf, type Author } from '../audit/author.ts';
import { pageBounds } from '../page-request.ts';
import { actEngine } from './act-on-events.ts';
import { bulkOf, filterOf, findBulk, type BulkRow } from './bulk-record.ts';
import { fill, findFilling } from './bulk-snapshot.ts';
import { clearAway } from './clear-old-bulks.ts';

const MOST_AT_ONCE = 1_000;

/** Acts on snapshots. */
export function bulks(access: Access): Omit<Acts, 'act'> {
  return {
    async createBulk(act, filter, by, force) {
      const author = authorOf(by);
      assertFilter(filter);
      await clearAway(access, author.now);
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
      if (seqs.length > MOST_AT_ONCE) throw invalid(`${seqs.length} events at once; ${MOST_AT_ONCE} is the most.`);
      const added = await access.write(({ database }) => {
        const row = findFilling(database, id);
        if (row !== undefined) fill(database, row, seqs);
        return row !== undefined;
      });
      if (!added) throw notFilling(id);
    },

    async sealBulk(id) {
      const sealed = await access.write(({ database }) => {
        if (findFilling(database, id) === undefined) return undefined;
        statement(database, "UPDATE hookbox_bulks SET state = 'previewed' WHERE id = ?").run(id);
        return findBulk(database, id);
      });
      if (sealed === undefined) throw notFilling(id);
      return bulkOf(sealed);
    },

    async bulk(id) {
      const row = findBulk(access.database(), id);
      return row === undefined ? null : bulkOf(row);
    },

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const sql = "SELECT * FROM hookbox_bulks WHERE id < ? AND state != 'filling' ORDER BY id DESC LIMIT ?";
      const rows = statement(access.database(), sql).all(before, limit) as BulkRow[];
      return rows.map(bulkOf);
    },

    async advanceBulk(id, limit, by, { entity }) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const author = authorOf(by);
      const { row, done } = await access.write((statements, waitedMs) => {
        const { database } = statements;
        const found = findBulk(database, id);
        if (found === undefined || hasEnded(found)) return { row: found, done: false };
        const done = advance(statements, found, limit, atCommit(author, waitedMs), entity);
        return { row: findBulk(database, id), done };
      });
      if (done) access.notify();
      if (row === undefined) throw unknownBulk(id);
      return bulkOf(row);
    },

    async cancelBulk(id, by) {
      const author = authorOf(by);
      const row = await access.write(({ database }, waitedMs) => {
        const found = findBulk(database, id);
        if (found === undefined || hasEnded(found)) return found;
        const { worked, total } = found;
        const actor = atCommit(author, waitedMs);
        addAuditLine(database, 'cancel', actor, { bulk: id }, { worked, left: total - worked });
        end(database, id, 'cancelled', actor.now);
        return findBulk(database, id);
      });
      if (row === undefined) throw unknownBulk(id);
      return bulkOf(row);
    },
  };
}

/** One batch; returns whether it has moved anything. */
function advance(
  statements: Statements,
  bulk: BulkRow,
  limit: number,
  author: Author,
  entity: ActOptions['entity'],
): boolean {
  const { database } = statements;
  const { id, act, force, filter } = bulk;
  const audit = bulk.audit ?? begin(database, bulk, author);
  const open = openEvents(database, id, limit);
  const asked = askedOfSnapshot(act, force === 1, filterOf(filter));
  const acting = { asked, entity, now: author.now };
  const results = atOnce(actOnEvents(actEngine(statements), open, acting, timeSlice(0)));
  const note = statement(database, 'UPDATE hookbox_bulk_events SET result = ? WHERE bulk = ? AND seq = ?');
  for (const [at, result] of results.entries()) note.run(result, id, open[at]);

  const counts = new Sums(JSON.parse(bulk.counts) as Record<string, number>).add(...results).toRecord();
  statement(database, 'UPDATE hookbox_bulks SET worked = worked + ?, counts = ? WHERE id = ?').run(
    results.length,
    JSON.stringify(counts),
    id,
  );
  recountAuditLine(database, audit, counts);
  if (openEvents(database, id, 1).length === 0) end(database, id, 'done', author.now);
  return results.includes('done');
}

/** The first batch writes the line of the audit, whose counts grow with the others; returns its `seq`. */
function begin(database: SqliteDatabase, bulk: BulkRow, author: Author): number {
  const { id, act, total, force } = bulk;
  const about = { bulk: id, filter: JSON.parse(bulk.filter) as unknown, total, ...(force === 1 && { force: true }) };
  // A run without a reason of its own has that of the preview.
  const audit = addAuditLine(database, act, { ...author, reason: author.reason ?? bulk.reason }, about, {});
  statement(database, "UPDATE hookbox_bulks SET state = 'running', started_ms = ?, audit = ? WHERE id = ?").run(
    author.now,
    audit,
    id,
  );
  return audit;
}

function end(database: SqliteDatabase, id: number, state: 'done' | 'cancelled', now: number): void {
  statement(database, 'UPDATE hookbox_bulks SET state = ?, ended_ms = ? WHERE id = ?').run(state, now, id);
}

/** In the order of arrival. */
function openEvents(database: SqliteDatabase, id: number, limit: number): number[] {
  const sql = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = ? AND result IS NULL ORDER BY seq LIMIT ?';
  return statement(database, sql)
    .all(id, limit)
    .map((row) => (row as { seq: number }).seq);
}

function hasEnded({ state }: BulkRow): boolean {
  return state === 'done' || state === 'cancelled';
}

function unknownBulk(id: number): ConfigurationError {
  return invalid(`There is no bulk ${id}.`);
}

function notFilling(id: number): ConfigurationError {
  return invalid(`The preview of bulk ${id} has ended already, or took longer than an hour. Preview again.`);
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}
