import { LATE, startDeadline, withinDeadline } from '../../../../host/deadline.ts';
import { InboxUnavailableError } from '../../../../errors.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

const LIMIT_MS = 2_000;
/** What a rather large event takes up. */
const BYTES = 16 * 1_024;

/** Asks whether deliveries could be stored now. Who asks while an answer is under way gets the same one. */
export function pinger(write: () => Promise<void>): () => Promise<void> {
  // A lock may be held for hours, with probes every few seconds.
  let underWay: Promise<void> | null = null;
  return async () => {
    underWay ??= write().finally(() => {
      underWay = null;
    });
    const deadline = startDeadline(LIMIT_MS);
    try {
      if ((await withinDeadline(underWay, deadline)) !== LATE) return;
    } finally {
      deadline.met();
    }
    throw new InboxUnavailableError('DEADLINE', `the database was not free within ${LIMIT_MS / 1_000} s`);
  };
}

/** A rollback would leave the disk alone, so the row is committed, in pages of its own, and is gone again. */
export function writeAndTakeBack(database: SqliteDatabase): void {
  const row = "0, 'ping', hex(zeroblob(?))";
  statement(database, `INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES (${row}, 0)`).run(BYTES / 2);
  statement(database, "DELETE FROM hookbox_counts WHERE minute_ms = 0 AND what = 'ping'").run();
}
