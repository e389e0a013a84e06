import { breakdownOf, filterOf, type BulkRow } from '../../../operator/bulk-record.ts';
import type { BulkEngine } from '../../../rules/bulks.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

type FillingRow = Pick<BulkRow, 'id' | 'act' | 'force' | 'filter' | 'breakdown' | 'created_ms'>;

/** Snapshots while they are being taken. */
export function snapshots(
  database: SqliteDatabase,
): Pick<BulkEngine, 'filling' | 'addToSnapshot' | 'saveSnapshot' | 'seal'> {
  return {
    filling(id) {
      // One that was created at 0 was given up (clear-old-bulks.ts).
      const found = statement(
        database,
        `SELECT id, act, force, filter, breakdown, created_ms FROM hookbox_bulks
         WHERE id = ? AND state = 'filling' AND created_ms > 0`,
      ).get(id);
      if (found === undefined) return answer(null);
      const row = found as FillingRow;
      return answer({
        id,
        act: row.act,
        force: Boolean(row.force),
        filter: filterOf(row.filter),
        breakdown: breakdownOf(row),
        createdMs: row.created_ms,
      });
    },
    addToSnapshot(id, seq) {
      const sql = 'INSERT INTO hookbox_bulk_events (bulk, seq) VALUES (?, ?) ON CONFLICT (bulk, seq) DO NOTHING';
      return answer(statement(database, sql).run(id, seq).changes === 1);
    },
    saveSnapshot(id, added, breakdown) {
      const sql = 'UPDATE hookbox_bulks SET total = total + ?, breakdown = ? WHERE id = ?';
      statement(database, sql).run(added, JSON.stringify(breakdown), id);
      return DONE;
    },
    seal(id) {
      statement(database, "UPDATE hookbox_bulks SET state = 'previewed' WHERE id = ?").run(id);
      return DONE;
    },
  };
}
