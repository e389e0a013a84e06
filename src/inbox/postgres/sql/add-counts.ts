import type { CountRow } from '../../operator/counts.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import { toKey } from './keys.ts';
import type { Write } from './in-one-statement.ts';
import { minuteInDatabase } from './minutes.ts';
import type { Tables } from './tables.ts';

/** Adds to what was counted, at times of the caller's clock. */
export async function addCounts(
  session: Session,
  { t, time }: { readonly t: Tables; readonly time: Pick<DatabaseTime, 'toDatabase'> },
  rows: readonly CountRow[],
): Promise<void> {
  const { text, values } = countsToAdd({ t, time }, rows);
  await session.run(text, values);
}

export function countsToAdd(
  { t, time }: { readonly t: Tables; readonly time: Pick<DatabaseTime, 'toDatabase'> },
  rows: readonly CountRow[],
): Write {
  return {
    text: `
      INSERT INTO ${t.counts} (minute_ms, what, detail, count)
      SELECT minute_ms, what, detail, sum(count)
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS given (minute_ms, what, detail, count)
      GROUP BY 1, 2, 3`,
    values: [
      rows.map(({ at }) => minuteInDatabase(time, at)),
      rows.map(({ what }) => what),
      rows.map(({ detail }) => toKey(detail)),
      rows.map(({ count }) => count),
    ],
  };
}
