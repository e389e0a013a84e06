import { MINUTE_MS, minutesApart, type CountRow, type CountTotal } from '../rules/counted.ts';
import { gaugesOf, selectGauges, type Gauges, type GaugesRow, type GaugeSources } from './gauges.ts';
import { pinger } from '../ping.ts';
import type { Abortable } from './search.ts';
import { type Clock, type Dialect, type OperatorTables, type Reader, type Statement } from './sql.ts';
import { SlicedWork } from './turns.ts';

/** Milliseconds since 1970. A span has the minutes and hours that begin in it. */
export interface CountSpan {
  readonly since: number;
  readonly until: number;
}

interface DeliveryCounts {
  readonly begin: number | null;
  readonly rows: readonly CountRow[];
}

/** A rejected delivery. */
export interface Rejection {
  readonly endpoint: string;
  readonly reason: string;
  /** The size, in bytes, of the part of the body that was read. */
  readonly bytes: number | null;
  /** The SHA-256 of the body in lowercase hex, if the body was read. */
  readonly sha256: string | null;
  /** The address of the sender, if the adapter knows it. */
  readonly source: string | null;
}

/** Rejected deliveries that differ only in time. */
export interface RejectedDelivery extends Rejection {
  readonly seq: number;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

type NotedRejection = Parameters<Counts['noteRejected']>[0][number];

export interface Counts {
  /** Adds each row to the count for its minute. */
  count(rows: readonly CountRow[]): Promise<void>;
  /** Returns the counts for the minutes and hours that begin in a span, oldest first. */
  counts(since: number, until: number): Promise<readonly CountRow[]>;
  /** The all-time totals never decrease. */
  totals(): Promise<readonly CountTotal[]>;
  /**
   * Returns the totals for each span.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  totalsIn(spans: readonly CountSpan[], request?: Abortable): Promise<readonly (readonly CountTotal[])[]>;
  /**
   * Returns the results of deliveries in spans that do not overlap.
   *
   * @param per - whether to sum per minute or per hour; older counts exist only per hour
   */
  deliveries(spans: readonly CountSpan[], per: 'minute' | 'hour'): Promise<DeliveryCounts>;
  gauges(): Promise<Gauges>;
  /** Records rejected deliveries, with the number of each kind. The inbox keeps the latest thousand kinds. */
  noteRejected(rejections: readonly (Rejection & { readonly count: number; readonly at: number })[]): Promise<void>;
  /** Lists rejected deliveries, newest first. */
  rejected(limit: number): Promise<readonly RejectedDelivery[]>;
  /**
   * Tests whether deliveries can be stored.
   *
   * @throws InboxUnavailableError within two seconds if the inbox cannot store deliveries
   */
  ping(): Promise<void>;
  /**
   * Merges counts by minute from before `before` into hours, and removes hours more than 400 days older. Call it every
   * few minutes, with the time one day ago.
   */
  coarsen(before: number): Promise<void>;
}

export const KIND = 'endpoint, reason, bytes, sha256, source';
/** Invented bodies must not fill the disk. */
export const KINDS_KEPT = 1_000;
const NOTED_AT_ONCE = 250;
/** A proxy may pass any text as an address. */
const MAX_SOURCE = 200;

type SpanInTables = readonly [since: number, until: number];

export interface CountEngine {
  readonly addCounts: (clock: Clock, rows: readonly CountRow[]) => readonly Statement[];
  readonly addRejections: (clock: Clock, rejections: readonly NotedRejection[]) => readonly Statement[];
  readonly rejectedKinds: string;
  /** Keeps one row of each kind, if rejections were only appended. */
  readonly mergeRejections?: () => Promise<unknown>;
  readonly spansAtOnce: number;
  /** For `FROM`, with the first two values. */
  readonly inSpans: (
    rows: (since: string, until: string) => string,
    spans: readonly SpanInTables[],
  ) => readonly { readonly from: string; readonly values: readonly unknown[] }[];
  readonly coarsen: Counts['coarsen'];
  readonly gauges: GaugeSources;
  readonly tryToWrite: () => Promise<void>;
}

export function counts(tables: OperatorTables, engine: CountEngine): Counts {
  const { dialect } = tables;
  const { t } = dialect;
  const summed = 'what, detail, CAST(sum(count) AS bigint) AS count';
  const totalsOf = (rows: string): string => `SELECT ${summed} FROM (${rows}) AS counted GROUP BY 1, 2 ORDER BY 1, 2`;
  const append = (statements: (clock: Clock) => readonly Statement[]): Promise<void> =>
    tables.change(
      async (tx) => {
        for (const statement of statements(tx)) await tx.rows(statement);
      },
      { whileRunning: { result: undefined } },
    );
  return {
    async count(rows) {
      if (rows.length > 0) await append((clock) => engine.addCounts(clock, rows));
    },
    async counts(since, until) {
      const text = `
        SELECT at, ${summed} FROM (${countedBetween(t, '$1', '$2')}) AS counted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
      return tables.read(async ({ rows, ...clock }) => {
        const apart = minutesApart(clock);
        const found = await rows<CountRow>({ text, values: inTables({ since, until }, apart) });
        return found.map((row) => ({ ...row, at: row.at - apart }));
      });
    },
    totals() {
      const text = totalsOf(`
        SELECT what, detail, count FROM ${t.counts}
        UNION ALL SELECT what, detail, count FROM ${t.count_sums} WHERE per = 'all'`);
      return tables.read(({ rows }) => rows<CountTotal>({ text }));
    },
    async totalsIn(spans, { signal } = {}) {
      const text = totalsOf(countedBetween(t, '$1', '$2'));
      const work = await SlicedWork.begin(signal);
      const all: (readonly CountTotal[])[] = [];
      while (all.length < spans.length) {
        const some = spans.slice(all.length, all.length + engine.spansAtOnce);
        const read = ({ rows, ...clock }: Reader) => {
          const apart = minutesApart(clock);
          return Promise.all(some.map((span) => rows<CountTotal>({ text, values: inTables(span, apart) })));
        };
        all.push(...(await tables.read(read, signal)));
        await work.rest();
      }
      return all;
    },
    deliveries: (spans, per) =>
      tables.read(async ({ rows, ...clock }) => {
        const apart = minutesApart(clock);
        const [first] = await rows<{ at: number | null }>({ text: firstCounted(t) });
        const begin = first === undefined || first.at === null ? null : first.at - apart;
        const counted = (since: string, until: string) => countedBetween(t, since, until);
        const parts = engine.inSpans(
          counted,
          spans.map((span) => inTables(span, apart)),
        );
        const found = await Promise.all(
          parts.map(({ from, values }) =>
            rows<CountRow>({ text: selectDeliveries(from, per), values: [...values, apart] }),
          ),
        );
        return { begin, rows: found.flat() };
      }),
    gauges: () =>
      tables.read(async ({ rows, toCaller }) =>
        gaugesOf(await rows<GaugesRow>({ text: selectGauges(dialect, engine.gauges) }), toCaller),
      ),
    async noteRejected(rejections) {
      for (let at = 0; at < rejections.length; at += NOTED_AT_ONCE) {
        const some = rejections.slice(at, at + NOTED_AT_ONCE);
        const noted = some.map((one) => ({ ...one, source: one.source?.slice(0, MAX_SOURCE) ?? null }));
        const counted = some.map(({ reason, count, at }) => ({ at, what: 'rejected', detail: reason, count }) as const);
        await append((clock) => [...engine.addRejections(clock, noted), ...engine.addCounts(clock, counted)]);
        await engine.mergeRejections?.();
      }
    },
    rejected(limit) {
      const text = `
        SELECT seq, ${KIND}, count, first_ms, last_ms FROM ${engine.rejectedKinds}
        ORDER BY last_ms DESC, seq DESC LIMIT $1`;
      type Row = Rejection & { seq: number; count: number; first_ms: number; last_ms: number };
      return tables.read(async ({ rows, toCaller }) => {
        const found = await rows<Row>({ text, values: [Math.min(limit, KINDS_KEPT)] });
        const at = (ms: number): Date => new Date(toCaller(ms));
        return found.map(({ first_ms, last_ms, ...row }) => ({ ...row, firstAt: at(first_ms), lastAt: at(last_ms) }));
      });
    },
    ping: pinger(engine.tryToWrite),
    coarsen: engine.coarsen,
  };
}

/** Minutes begin at whole milliseconds, and a span is divided into equal parts. */
function inTables({ since, until }: CountSpan, apart: number): SpanInTables {
  return [Math.ceil(since) + apart, Math.ceil(until) + apart];
}

/** A minute may have two rows, because one may be merged before the minute ends. */
function countedBetween(t: Dialect['t'], since: string, until: string): string {
  const sums = (per: 'minute' | 'hour'): string => `
    SELECT at_ms, what, detail, count FROM ${t.count_sums}
    WHERE per = '${per}' AND at_ms >= ${since} AND at_ms < ${until}`;
  return `
    SELECT minute_ms AS at, what, detail, count FROM ${t.counts} WHERE minute_ms >= ${since} AND minute_ms < ${until}
    UNION ALL ${sums('minute')} UNION ALL ${sums('hour')}`;
}

function firstCounted(t: Dialect['t']): string {
  const first = (from: string, at: string): string =>
    `SELECT * FROM (SELECT ${at} AS at FROM ${from} ORDER BY ${at} LIMIT 1) AS first`;
  const sums = (per: 'minute' | 'hour'): string => first(`${t.count_sums} WHERE per = '${per}'`, 'at_ms');
  return `
    SELECT min(at) AS at FROM (
      ${first(t.counts, 'minute_ms')} UNION ALL ${sums('minute')} UNION ALL ${sums('hour')}
    ) AS firsts`;
}

const DELIVERIES = "'stored', 'duplicate', 'rejected', 'arrived', 'refused'";
/** Their details are types of events. */
const WITHOUT_DETAIL = "'stored', 'duplicate'";

const HOUR_MS = 60 * MINUTE_MS;

function selectDeliveries(from: string, per: 'minute' | 'hour'): string {
  const at = startOf('(counted.at - CAST($3 AS bigint))', per === 'hour' ? HOUR_MS : MINUTE_MS);
  return `
    SELECT ${at} AS at, what, CASE WHEN what IN (${WITHOUT_DETAIL}) THEN '' ELSE detail END AS detail,
      CAST(sum(count) AS bigint) AS count
    FROM ${from} AS counted WHERE what IN (${DELIVERIES}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
}

/** The remainder is negative before 1970. */
function startOf(at: string, length: number): string {
  return `${at} - (${at} % ${length} + ${length}) % ${length}`;
}

const KEPT_MS = 400 * 24 * HOUR_MS;
export const MOVED_AT_ONCE = 1_000;

/** A later move handles late rows. */
export interface CountMove {
  readonly from: 'counts' | 'count_sums';
  readonly which: string;
  readonly at: 'minute_ms' | 'at_ms';
  readonly to: readonly (readonly [per: 'minute' | 'hour' | 'all', at: string])[];
}

const sumsOf = (per: 'minute' | 'hour'): Omit<CountMove, 'to'> => {
  return { from: 'count_sums', which: `per = '${per}'`, at: 'at_ms' };
};

/** Only this move adds to the sum of all, so each row is added once. */
const TAKE_IN: CountMove = {
  from: 'counts',
  which: 'true',
  at: 'minute_ms',
  to: [
    ['all', '0'],
    ['minute', 'minute_ms'],
  ],
};
const MAKE_HOURS: CountMove = { ...sumsOf('minute'), to: [['hour', startOf('at_ms', HOUR_MS)]] };
const FORGET: CountMove = { ...sumsOf('hour'), to: [] };

/** @param moveSome - moves at most `MOVED_AT_ONCE` rows, and returns their number */
export async function coarsenInSteps(
  before: number,
  moveSome: (move: CountMove, before: number) => Promise<number>,
): Promise<void> {
  const wholeHours = Math.floor(before / HOUR_MS) * HOUR_MS;
  const moves: readonly (readonly [CountMove, before: number])[] = [
    [TAKE_IN, Number.MAX_SAFE_INTEGER],
    [MAKE_HOURS, wholeHours],
    [FORGET, wholeHours - KEPT_MS],
  ];
  for (const [move, until] of moves) {
    let moved = MOVED_AT_ONCE;
    while (moved >= MOVED_AT_ONCE) moved = await moveSome(move, until);
  }
}
