import type { CountRow, CountSpan, CountTotal } from '../../../operator/counts.ts';
import { SlicedWork } from '../../../operator/turns.ts';
import { coarsenInSteps, HOUR_MS, MOVED_AT_ONCE, type CountMove } from '../../../rules/coarsening.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';

interface CountKey {
  readonly at: number;
  readonly what: string;
  readonly detail: string;
}

interface Move {
  readonly from: 'hookbox_counts' | 'hookbox_count_sums';
  /** which of the rows, beside their time */
  readonly which: string;
  /** the column with their time */
  readonly at: 'minute_ms' | 'at_ms';
  /** the sums they are added to, and at which time */
  readonly to: readonly (readonly [per: 'minute' | 'hour' | 'all', at: string])[];
}

const MOVES: Readonly<Record<CountMove, Move>> = {
  'take in': {
    from: 'hookbox_counts',
    which: 'true',
    at: 'minute_ms',
    to: [
      ['minute', 'minute_ms'],
      ['all', '0'],
    ],
  },
  'make hours': {
    from: 'hookbox_count_sums',
    which: "per = 'minute'",
    at: 'at_ms',
    to: [['hour', `at_ms / ${HOUR_MS} * ${HOUR_MS}`]],
  },
  forget: {
    from: 'hookbox_count_sums',
    which: "per = 'hour'",
    at: 'at_ms',
    to: [],
  },
};

export function coarsen(access: Access, before: number): Promise<void> {
  return coarsenInSteps(before, (move, until) =>
    access.write(({ database }) => moveSome(database, MOVES[move], until)),
  );
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

const totalsOf = (rows: string): string =>
  `SELECT what, detail, sum(count) AS count FROM (${rows}) GROUP BY what, detail`;

export function totals(database: SqliteDatabase): CountTotal[] {
  return statement(database, totalsOf(EVER)).all() as CountTotal[]; // the columns of the statement
}

/** A span at a time: deliveries come in between. */
export async function totalsIn(
  access: Access,
  spans: readonly CountSpan[],
  signal: AbortSignal | undefined,
): Promise<CountTotal[][]> {
  const work = await SlicedWork.begin(signal);
  const all: CountTotal[][] = [];
  for (const span of spans) {
    all.push(statement(access.database(), totalsOf(COUNTED)).all(span) as CountTotal[]); // the columns of the statement
    await work.rest();
  }
  return all;
}
