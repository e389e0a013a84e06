import { aroundNew, isOutOfOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { progressOf, setProgress } from '../noted-progress.ts';

/** In hookbox_progress, the first and the last event that an import put among others that were received at other times. */
const DISORDER_FROM = 'out_of_order_from';
const DISORDER_THROUGH = 'out_of_order_through';

export function disorder(database: SqliteDatabase): SeqRange | null {
  const through = progressOf(database, DISORDER_THROUGH);
  return through === 0 ? null : { from: progressOf(database, DISORDER_FROM), before: through + 1 };
}

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
  if (progressOf(database, DISORDER_THROUGH) === 0) setProgress(database, DISORDER_FROM, first);
  setProgress(database, DISORDER_THROUGH, last);
}
