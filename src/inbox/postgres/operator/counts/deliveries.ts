import type { CountRow, CountSpan, DeliveryCounts } from '../../../operator/counts.ts';
import { COARSE_DETAILS, DELIVERIES, lengthOf } from '../../../rules/delivery-counts.ts';
import { minutesApart } from '../../sql/minutes.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';

/** Whole minutes and hours of the caller's clock: theirs lie whole minutes from those of the database. */
function countedIn(t: Tables): string {
  const counted = (from: string, at: string, which: string): string => `
    SELECT ${at} - $3::bigint AS at, what, detail, count FROM ${from}
    WHERE ${which} ${at} >= span.since AND ${at} < span.until AND what = ANY($5::text[])`;
  return `
    SELECT floor(counted.at::numeric / $4::bigint)::bigint * $4::bigint AS at, what,
      CASE WHEN what = ANY($6::text[]) THEN '' ELSE detail END AS detail, sum(count)::bigint AS count
    FROM unnest($1::bigint[], $2::bigint[]) AS span (since, until) CROSS JOIN LATERAL (
      ${counted(t.counts, 'minute_ms', '')}
      UNION ALL ${counted(t.count_sums, 'at_ms', "per = 'minute' AND")}
      UNION ALL ${counted(t.count_sums, 'at_ms', "per = 'hour' AND")}
    ) AS counted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
}

function beginOf(t: Tables): string {
  const first = (from: string, at: string, which: string, order: string): string =>
    `(SELECT ${at} AS at FROM ${from} ${which} ORDER BY ${order} LIMIT 1)`;
  return `
    SELECT min(at) AS at FROM (
      ${first(t.counts, 'minute_ms', '', 'minute_ms, seq')}
      UNION ALL ${first(t.count_sums, 'at_ms', "WHERE per = 'minute'", 'per, at_ms, what, detail')}
      UNION ALL ${first(t.count_sums, 'at_ms', "WHERE per = 'hour'", 'per, at_ms, what, detail')}
    ) AS first`;
}

export async function deliveries(
  { database, t, time }: Store,
  spans: readonly CountSpan[],
  per: 'minute' | 'hour',
): Promise<DeliveryCounts> {
  return database.read(async (session) => {
    await time.follow(session);
    const apart = minutesApart(time);
    const column = (at: (span: CountSpan) => number): number[] => spans.map((span) => Math.ceil(at(span)) + apart);
    const first = await session.row<{ at: number | null }>(beginOf(t));
    const rows = await session.rows<CountRow>(countedIn(t), [
      column(({ since }) => since),
      column(({ until }) => until),
      apart,
      lengthOf(per),
      [...DELIVERIES],
      [...COARSE_DETAILS],
    ]);
    const begin = first === undefined || first.at === null ? null : first.at - apart;
    return { begin, rows };
  });
}
