import type { SqliteDatabase } from '../opening/database.ts';
import { statement } from '../sql/prepared-statement.ts';

/** How far something that goes through the events in their order has come: 0 before it began. */
export function progressOf(database: SqliteDatabase, what: string): number {
  const row = statement(database, 'SELECT seq FROM hookbox_progress WHERE what = ?').get(what);
  return (row as { seq: number } | undefined)?.seq ?? 0;
}

export function setProgress(database: SqliteDatabase, what: string, seq: number): void {
  statement(
    database,
    'INSERT INTO hookbox_progress (what, seq) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET seq = excluded.seq',
  ).run(what, seq);
}
