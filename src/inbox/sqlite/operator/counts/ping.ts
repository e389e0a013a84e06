import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** A change of more than 64 KiB behind a savepoint makes SQLite keep the old pages in a temporary file. */
const BYTES = 96 * 1_024;
const TEXT = `hex(zeroblob(${BYTES / 2}))`;
const ROW = "minute_ms = 0 AND what = 'ping'";

/**
 * A rollback would leave the disk alone, so the row is committed, in its own pages, and is deleted again. It is changed once
 * on the way, to try temporary data too: an application's own connection may have it in a file.
 */
export function writeAndTakeBack(database: SqliteDatabase): void {
  statement(
    database,
    `INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES (0, 'ping', ${TEXT}, 0)`,
  ).run();
  database.exec('SAVEPOINT hookbox_ping');
  statement(database, `UPDATE hookbox_counts SET detail = replace(detail, '0', '1') WHERE ${ROW}`).run();
  database.exec('RELEASE hookbox_ping');
  statement(database, `DELETE FROM hookbox_counts WHERE ${ROW}`).run();
}
