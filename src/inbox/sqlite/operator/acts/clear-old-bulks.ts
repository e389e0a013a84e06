import { clearOldBulks, type OldBulks } from '../../../rules/bulks.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Access } from '../access.ts';

/** What is more waits for the next preview. */
const MOST_BATCHES = 20;

/** Clears away what nobody needs any more of bulks (rules/bulks.ts). */
export async function clearAway(access: Access, now: number): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
    const more = await access.write(({ database }) => atOnce(clearOldBulks(oldBulks(database), now, batch === 0)));
    if (!more) return;
  }
}

export function oldBulks(database: SqliteDatabase): OldBulks {
  return {
    giveUpFilling(since) {
      // Created at 0: its preview, should it still be at it, is told that it took too long.
      const sql = "UPDATE hookbox_bulks SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND ?";
      statement(database, sql).run(since);
      return DONE;
    },
    cancelPreviewed(before, now) {
      const sql =
        "UPDATE hookbox_bulks SET state = 'cancelled', ended_ms = ? WHERE state = 'previewed' AND created_ms < ?";
      statement(database, sql).run(now, before);
      return DONE;
    },
    forgetSnapshots(endedBefore, limit) {
      const { changes } = statement(
        database,
        `DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
           SELECT e.bulk, e.seq FROM hookbox_bulks AS b CROSS JOIN hookbox_bulk_events AS e ON e.bulk = b.id
           WHERE b.state = 'filling' AND b.created_ms = 0
              OR b.state = 'cancelled' AND b.started_ms IS NULL
              OR b.state IN ('done', 'cancelled') AND b.ended_ms < ?
           LIMIT +?
         )`,
      ).run(endedBefore, limit);
      return answer(changes);
    },
  };
}
