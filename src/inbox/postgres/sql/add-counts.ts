import { minuteInTables, type CountRow } from '../../rules/counts.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Write } from './in-one-statement.ts';
import { toKey } from './keys.ts';
import type { Tables } from './tables.ts';

/** Adds to what was counted, at times of the caller's clock. */
export function countsToAdd(t: Tables, time: Pick<DatabaseTime, 'toDatabase'>, rows: readonly CountRow[]): Write {
  return {
    text: `
      INSERT INTO ${t.counts} (minute_ms, what, detail, count)
      SELECT minute_ms, what, detail, sum(count)
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS given (minute_ms, what, detail, count)
      GROUP BY 1, 2, 3`,
    values: [
      rows.map(({ at }) => minuteInTables(time, at)),
      rows.map(({ what }) => what),
      rows.map(({ detail }) => toKey(detail)),
      rows.map(({ count }) => count),
    ],
  };
}
