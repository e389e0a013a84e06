import type { CountRow, CountSpan, DeliveryCounts } from '../../../operator/counts.ts';
import { COARSE_DETAILS, DELIVERIES, lengthOf } from '../../../rules/delivery-counts.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

const list = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

const counted = (from: string, at: string, which: string): string => `
  SELECT ${at} / :length * :length AS at, what, iif(what IN (${list(COARSE_DETAILS)}), '', detail) AS detail, count
  FROM ${from} WHERE ${which} ${at} >= :since AND ${at} < :until AND what IN (${list(DELIVERIES)})`;

const COUNTED = `
  SELECT at, what, detail, sum(count) AS count FROM (
    ${counted('hookbox_counts', 'minute_ms', '')}
    UNION ALL ${counted('hookbox_count_sums', 'at_ms', "per = 'minute' AND")}
    UNION ALL ${counted('hookbox_count_sums', 'at_ms', "per = 'hour' AND")}
  ) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

const BEGIN = `
  SELECT min(at) AS at FROM (
    SELECT min(minute_ms) AS at FROM hookbox_counts
    UNION ALL SELECT min(at_ms) FROM hookbox_count_sums WHERE per = 'minute'
    UNION ALL SELECT min(at_ms) FROM hookbox_count_sums WHERE per = 'hour'
  )`;

export function deliveries(
  database: SqliteDatabase,
  spans: readonly CountSpan[],
  per: 'minute' | 'hour',
): DeliveryCounts {
  const { at: begin } = statement(database, BEGIN).get() as { at: number | null }; // the columns of the statement
  const length = lengthOf(per);
  // Span by span: joined to a list of them, SQLite would not look them up in the primary key.
  const rows = spans.flatMap(
    ({ since, until }) => statement(database, COUNTED).all({ since, until, length }) as CountRow[], // its columns
  );
  return { begin, rows };
}
