import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** What a rather large event takes up. */
const BYTES = 16 * 1_024;

/** A rollback would leave the disk alone, so the row is committed, in pages of its own, and is gone again. */
export function writeAndTakeBack(database: SqliteDatabase): void {
  const row = "0, 'ping', hex(zeroblob(?))";
  statement(database, `INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES (${row}, 0)`).run(BYTES / 2);
  statement(database, "DELETE FROM hookbox_counts WHERE minute_ms = 0 AND what = 'ping'").run();
}
