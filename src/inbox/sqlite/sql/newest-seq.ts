import type { SqliteDatabase } from '../opening/database.ts';
import { statement } from './prepared-statement.ts';

/** The `seq` of the event that was stored last; 0 when there is none. */
export function newestSeq(database: SqliteDatabase): number {
  const row = statement(database, 'SELECT max(seq) AS seq FROM hookbox_events').get();
  return (row as { seq: number | null }).seq ?? 0;
}
