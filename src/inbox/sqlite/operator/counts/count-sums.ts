import type { CountRow, CountSpan, CountTotal } from '../../../operator/counts.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';

const HOUR_MS = 60 * 60_000;
const KEPT_MS = 400 * 24 * HOUR_MS;
/** Rows moved in one transaction, which takes a few milliseconds. */
const MOVED_AT_ONCE = 1_000;

interface CountKey {
  readonly at: number;
  readonly what: string;
  readonly detail: string;
}

/** A way that rows of counts go. Nothing depends on when, or how often, or on clocks: what comes late follows later. */
interface Move {
  readonly from: 'hookbox_counts' | 'hookbox_count_sums';
  /** which of the rows, beside their time */
  readonly which: string;
  /** the column with their time */
  readonly at: 'minute_ms' | 'at_ms';
  /** the sums they are added to, and at which time */
  readonly to: readonly (readonly [per: 'minute' | 'hour' | 'all', at: string])[];
}

/** Only here does anything get into the sum of all, so that it holds what has left `hookbox_counts`, each count once. */
const TAKE_IN: Move = {
  from: 'hookbox_counts',
  which: 'true',
  at: 'minute_ms',
  to: [
    ['minute', 'minute_ms'],
    ['all', '0'],
  ],
};
const MAKE_HOURS: Move = {
  from: 'hookbox_count_sums',
  which: "per = 'minute'",
  at: 'at_ms',
  to: [['hour', `at_ms / ${HOUR_MS} * ${HOUR_MS}`]],
};
const FORGET: Move = {
  from: 'hookbox_count_sums',
  which: "per = 'hour'",
  at: 'at_ms',
  to: [],
};

export async function coarsen(access: Access, before: number): Promise<void> {
  const wholeHours = Math.floor(before / HOUR_MS) * HOUR_MS;
  const moves: readonly (readonly [Move, before: number])[] = [
    [TAKE_IN, Number.MAX_SAFE_INTEGER],
    [MAKE_HOURS, wholeHours],
    [FORGET, wholeHours - KEPT_MS],
  ];
  for (const [move, until] of moves) {
    let moved = MOVED_AT_ONCE;
    while (moved === MOVED_AT_ONCE) moved = await access.write(({ database }) => moveSome(database, move, until));
  }
}

/** Moves the first rows of before; as many as moved at once, unless these are all. */
function moveSome(database: SqliteDatabase, { from, which, at, to }: Move, before: number): number {
  const last = statement(
    database,
    `SELECT ${at} AS at, what, detail FROM ${from} WHERE ${which} AND ${at} < ?
     ORDER BY ${at}, what, detail LIMIT 1 OFFSET ${MOVED_AT_ONCE - 1}`,
  ).get(before) as CountKey | undefined; // the columns of the statement
  // One bound alone: with the time as another, SQLite would look through all rows of before for each thousand of them.
  const some = `FROM ${from} WHERE ${which} AND (${at}, what, detail) <= (:at, :what, :detail)`;
  const upTo: CountKey = last ?? { at: before, what: '', detail: '' };
  for (const [per, time] of to) {
    statement(
      database,
      `INSERT INTO hookbox_count_sums (per, at_ms, what, detail, count)
       SELECT '${per}', ${time}, what, detail, sum(count) ${some} GROUP BY 2, 3, 4
       ON CONFLICT (per, at_ms, what, detail) DO UPDATE SET count = count + excluded.count`,
    ).run(upTo);
  }
  return statement(database, `DELETE ${some}`).run(upTo).changes;
}

/** What was counted in a span: a minute that was taken in before it was over stands in two places, so they are added up. */
const COUNTED = `
  SELECT minute_ms AS at, what, detail, count FROM hookbox_counts WHERE minute_ms >= :since AND minute_ms < :until
  UNION ALL
  SELECT at_ms, what, detail, count FROM hookbox_count_sums WHERE per = 'minute' AND at_ms >= :since AND at_ms < :until
  UNION ALL
  SELECT at_ms, what, detail, count FROM hookbox_count_sums WHERE per = 'hour' AND at_ms >= :since AND at_ms < :until
`;
const EVER = `
  SELECT what, detail, count FROM hookbox_counts
  UNION ALL
  SELECT what, detail, count FROM hookbox_count_sums WHERE per = 'all'
`;

export function countsBetween(database: SqliteDatabase, span: CountSpan): CountRow[] {
  const sql = `SELECT at, what, detail, sum(count) AS count FROM (${COUNTED}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
  return statement(database, sql).all(span) as CountRow[]; // the columns of the statement
}

export function totals(database: SqliteDatabase, span: CountSpan | undefined): CountTotal[] {
  const rows = span === undefined ? EVER : COUNTED;
  const sql = `SELECT what, detail, sum(count) AS count FROM (${rows}) GROUP BY what, detail`;
  return statement(database, sql).all(span ?? {}) as CountTotal[]; // the columns of the statement
}
