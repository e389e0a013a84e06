import type { SqliteDatabase } from '../../database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const BATCH = 2_000;
/** What is more waits for the next preview. */
const MOST_BATCHES = 20;

/**
 * Clears away snapshots that nobody will run: those whose preview died an hour ago, those that waited for a week, and what a
 * bulk that ended a week ago came to one by one. The rows of hookbox_bulks stay, so that an id is never given twice.
 */
export async function clearAway(access: Access, now: number): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
    const more = await access.write(({ database }) => {
      if (batch === 0) giveUpOld(database, now);
      return clearSome(database, now) === BATCH;
    });
    if (!more) return;
  }
}

function giveUpOld(database: SqliteDatabase, now: number): void {
  // Created at 0: its preview, should it still be at it, is told that it took too long (findFilling).
  statement(
    database,
    "UPDATE hookbox_bulks SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND ?",
  ).run(now - HOUR_MS);
  statement(
    database,
    "UPDATE hookbox_bulks SET state = 'cancelled', ended_ms = ? WHERE state = 'previewed' AND created_ms < ?",
  ).run(now, now - WEEK_MS);
}

function clearSome(database: SqliteDatabase, now: number): number {
  return statement(
    database,
    `DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
       SELECT e.bulk, e.seq FROM hookbox_bulks AS b CROSS JOIN hookbox_bulk_events AS e ON e.bulk = b.id
       WHERE b.state = 'filling' AND b.created_ms = 0
          OR b.state = 'cancelled' AND b.started_ms IS NULL
          OR b.state IN ('done', 'cancelled') AND b.ended_ms < ?
       LIMIT ${BATCH}
     )`,
  ).run(now - WEEK_MS).changes;
}
