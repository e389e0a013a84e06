import { aroundNew, isOutOfOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import { disorder } from '../../../operator/finding/indexes.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { rowsOf, sqlite } from '../operator-tables.ts';

/** The times at which the first events of a range were received. */
export function receivedIn(database: SqliteDatabase, { from, before }: SeqRange, limit: number): readonly number[] {
  const sql = 'SELECT received_ms FROM hookbox_events WHERE seq >= :from AND seq < :before ORDER BY seq LIMIT +:limit';
  const rows = statement(database, sql).all({ from, before, limit }) as readonly { received_ms: number }[];
  return rows.map((row) => row.received_ms);
}

/** Notes whether new events are out of order. Call it in the transaction that stores them. */
export function noteOutOfOrder(database: SqliteDatabase, first: number, last: number): void {
  const { range, limit } = aroundNew(first, last);
  if (!isOutOfOrder(receivedIn(database, range, limit))) return;
  for (const note of disorder(sqlite, first, last)) rowsOf(database, note);
}
