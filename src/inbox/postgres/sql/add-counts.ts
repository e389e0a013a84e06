import type { CountRow } from '../../operator/counts.ts';
import { minuteOf } from '../../rules/tally.ts';
import type { Session } from '../driver/session.ts';
import { toKey } from './keys.ts';
import type { Tables } from './tables.ts';

/** Adds to what was counted in minutes, whose times are the database's. */
export async function addCounts(session: Session, t: Tables, rows: readonly CountRow[]): Promise<void> {
  await session.run(
    `INSERT INTO ${t.counts} (minute_ms, what, detail, count)
     SELECT minute_ms, what, detail, sum(count)
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS given (minute_ms, what, detail, count)
     GROUP BY 1, 2, 3`,
    [
      rows.map(({ at }) => minuteOf(at)),
      rows.map(({ what }) => what),
      rows.map(({ detail }) => toKey(detail)),
      rows.map(({ count }) => count),
    ],
  );
}
