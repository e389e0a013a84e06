import type { Counted, CountRow, CountSpan, CountTotal } from '../../../operator/counts.ts';
import { coarsenInSteps, HOUR_MS, MOVED_AT_ONCE, type CountMove } from '../../../rules/coarsening.ts';
import { BEGIN } from '../../driver/database.ts';
import type { Session } from '../../driver/session.ts';
import { minutesApart } from '../../sql/minutes.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';
import type { Access } from '../access.ts';

/** So many spans are asked for in one go. */
const ASKED_TOGETHER = 60;

/** Each step is asked by itself, so that an inbox that closes waits for one of them. */
export async function coarsen({ store: { database, t, time }, ask }: Access, before: number): Promise<void> {
  const until = await ask(() =>
    database.alone(async (session) => {
      await time.follow(session);
      return before + minutesApart(time);
    }),
  );
  /** how far each move has come: what it has left behind is only gone once Postgres has cleared it away */
  const reached = new Map<CountMove, number>();
  await coarsenInSteps(until, async (move, until) => {
    const message = inOneTransaction(moveSome(t, move, { from: reached.get(move) ?? null, until }));
    const [moved] = await ask(() => database.alone((session) => session.inOneMessage<MovedRow>(message)));
    if (moved === undefined || moved.last === null) return 0;
    reached.set(move, Number(moved.last));
    return Number(moved.count);
  });
}

/** How many rows were moved, and the time of the last one. */
interface MovedRow {
  readonly count: number | string;
  readonly last: number | string | null;
}

/**
 * Postgres carries all of it out, whether or not anybody is there any more to ask for the next part: a machine that freezes half
 * way holds no lock that others wait for.
 */
function inOneTransaction(statement: string): readonly string[] {
  return [BEGIN, statement, 'COMMIT'];
}

/** Takes rows whose locks nobody else has: several machines do this side by side. */
function moveSome(
  t: Tables,
  move: CountMove,
  { from, until }: { readonly from: number | null; readonly until: number },
): string {
  const taken = (table: string, at: string, key: string, which: string): string => {
    const since = from === null ? '' : `AND ${at} >= ${from}`;
    return `
      WITH taken AS (
        DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM ${table} WHERE ${which} AND ${at} < ${until} ${since}
          ORDER BY ${key} LIMIT ${MOVED_AT_ONCE} FOR UPDATE SKIP LOCKED
        )) RETURNING *
      )`;
  };
  const sums = (per: 'minute' | 'hour'): string =>
    taken(t.count_sums, 'at_ms', 'per, at_ms, what, detail', `per = '${per}'`);
  // In one order, so that two who add to the same sums do not wait for each other in a ring.
  const added = (per: string, at: string, rows: string): string => `, added AS (
      INSERT INTO ${t.count_sums} AS known (per, at_ms, what, detail, count)
      SELECT ${per}, ${at}, what, detail, sum(count) FROM ${rows} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (per, at_ms, what, detail) DO UPDATE SET count = known.count + excluded.count
    )`;
  const moved = (at: string): string => `SELECT count(*) AS count, max(${at}) AS last FROM taken`;
  switch (move) {
    case 'take in': {
      const both = "taken CROSS JOIN LATERAL (VALUES ('all', 0), ('minute', minute_ms)) AS sums (per, at_ms)";
      const rows = taken(t.counts, 'minute_ms', 'minute_ms, seq', 'true');
      return `${rows}${added('sums.per', 'sums.at_ms', both)} ${moved('minute_ms')}`;
    }
    case 'make hours': {
      // Of times before 1970 too, where the rest is negative.
      const hour = `at_ms - (at_ms % ${HOUR_MS} + ${HOUR_MS}) % ${HOUR_MS}`;
      return `${sums('minute')}${added("'hour'", hour, 'taken')} ${moved('at_ms')}`;
    }
    case 'forget':
      return `${sums('hour')} ${moved('at_ms')}`;
  }
}

/** What was counted in a span: a minute that was taken in before it was over stands in two places, so they are added up. */
function countedIn(t: Tables): string {
  const sums = (per: 'minute' | 'hour'): string =>
    `SELECT at_ms, what, detail, count FROM ${t.count_sums} WHERE per = '${per}' AND at_ms >= $1 AND at_ms < $2`;
  return `
    SELECT minute_ms AS at_ms, what, detail, count FROM ${t.counts} WHERE minute_ms >= $1 AND minute_ms < $2
    UNION ALL ${sums('minute')} UNION ALL ${sums('hour')}`;
}

function ever(t: Tables): string {
  return `
    SELECT what, detail, count FROM ${t.counts}
    UNION ALL SELECT what, detail, count FROM ${t.count_sums} WHERE per = 'all'`;
}

interface SumRow {
  readonly what: Counted;
  readonly detail: string;
  readonly count: number;
}

export async function countsBetween({ database, t, time }: Store, span: CountSpan): Promise<readonly CountRow[]> {
  return database.read(async (session) => {
    await time.follow(session);
    const apart = minutesApart(time);
    const rows = await session.rows<SumRow & { at: number }>(
      `SELECT at_ms AS at, what, detail, sum(count)::bigint AS count FROM (${countedIn(t)}) AS counted
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      inWholeMs(span, apart),
    );
    return rows.map(({ at, ...row }) => ({ at: at - apart, ...row }));
  });
}

export async function totals({ database, t }: Store): Promise<readonly CountTotal[]> {
  return database.read((session) => totalsOf(session, ever(t)));
}

/** Many of them are under way at once, and a transaction lasts as long as these do. */
export async function totalsIn(
  { database, t, time }: Store,
  spans: readonly CountSpan[],
): Promise<readonly (readonly CountTotal[])[]> {
  const all: (readonly CountTotal[])[] = [];
  while (all.length < spans.length) {
    const some = spans.slice(all.length, all.length + ASKED_TOGETHER);
    const counted = await database.read(async (session) => {
      await time.follow(session);
      const apart = minutesApart(time);
      return Promise.all(some.map((span) => totalsOf(session, countedIn(t), inWholeMs(span, apart))));
    });
    all.push(...counted);
  }
  return all;
}

async function totalsOf(
  session: Session,
  counted: string,
  values: readonly number[] = [],
): Promise<readonly CountTotal[]> {
  const rows = await session.rows<SumRow>(
    `SELECT what, detail, sum(count)::bigint AS count FROM (${counted}) AS counted GROUP BY 1, 2 ORDER BY 1, 2`,
    values,
  );
  return rows;
}

/** Minutes begin at whole milliseconds, and a span is cut into equal parts. */
function inWholeMs({ since, until }: CountSpan, apart: number): readonly number[] {
  return [Math.ceil(since) + apart, Math.ceil(until) + apart];
}
