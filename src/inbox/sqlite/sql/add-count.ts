import type { CountRow } from '../../operator/counts.ts';
import { minuteOf } from '../../rules/tally.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { statement } from './prepared-statement.ts';

/** Adds to what was counted in a minute. */
export function addCount(database: SqliteDatabase, { at, what, detail, count }: CountRow): void {
  statement(
    database,
    `INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (minute_ms, what, detail) DO UPDATE SET count = count + excluded.count`,
  ).run(minuteOf(at), what, detail, count);
}
