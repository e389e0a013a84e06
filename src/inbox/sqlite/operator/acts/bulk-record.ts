import type { StoredBulk } from '../../../operator/acts.ts';
import { bulkOf, type BulkRow } from '../../../operator/bulk-record.ts';
import type { BulkEngine } from '../../../rules/bulks.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** With the time of now. */
export const SELECT_BULKS = 'SELECT *, ? - heartbeat_ms AS silent_ms FROM hookbox_bulks';

/** One whose snapshot is complete. */
export function findBulk(database: SqliteDatabase, id: number): StoredBulk | null {
  const sql = `${SELECT_BULKS} WHERE id = ? AND state != 'filling'`;
  const row = statement(database, sql).get(Date.now(), id) as BulkRow | undefined;
  return row === undefined ? null : bulkOf(row);
}

type Part = Pick<
  BulkEngine,
  'bulk' | 'startBulk' | 'openEvents' | 'noteResult' | 'saveWorked' | 'noteHeartbeat' | 'endBulk'
>;

/** Bulks as they are run. */
export function bulkRecords(database: SqliteDatabase): Part {
  const run = (sql: string, ...parameters: readonly unknown[]) => {
    statement(database, sql).run(...parameters);
    return DONE;
  };
  return {
    bulk: (id) => answer(findBulk(database, id)),
    startBulk(id, audit, { actor, reason, now }) {
      const text =
        "UPDATE hookbox_bulks SET state = 'running', started_ms = ?, audit = ?, actor = ?, reason = ? WHERE id = ?";
      return run(text, now, audit, actor, reason, id);
    },
    openEvents(id, limit) {
      const sql = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = +? AND result IS NULL ORDER BY seq LIMIT +?';
      const rows = statement(database, sql).all(id, limit);
      return answer(rows.map((row) => (row as { seq: number }).seq));
    },
    noteResult(id, seq, result) {
      return run('UPDATE hookbox_bulk_events SET result = ? WHERE bulk = ? AND seq = ?', result, id, seq);
    },
    saveWorked(id, worked, counts) {
      return run('UPDATE hookbox_bulks SET worked = ?, counts = ? WHERE id = ?', worked, JSON.stringify(counts), id);
    },
    noteHeartbeat(id, stops) {
      const text = 'UPDATE hookbox_bulks SET heartbeat_ms = ?, stopped = ? WHERE id = ?';
      return run(text, Date.now(), stops ? 1 : 0, id);
    },
    endBulk(id, state, now) {
      return run('UPDATE hookbox_bulks SET state = ?, ended_ms = ? WHERE id = ?', state, now, id);
    },
  };
}
