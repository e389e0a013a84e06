/** What is counted, by the minute. */
export type Counted =
  /**
   * detail: the type of the event, one of the eleven, or of an application's own that handlers name; `other`, or
   * `invalid`. None for
   * duplicates and conflicts.
   */
  | 'stored'
  | 'duplicate'
  | 'conflict'
  | 'processed'
  /** an attempt that failed and is tried again; detail: the type */
  | 'failed'
  | 'dead'
  | 'ignored'
  | 'rerun'
  | 'discarded'
  /** detail: the reason */
  | 'rejected'
  /** a delivery that a receiver has taken in, known or not; detail: the endpoint */
  | 'arrived'
  /** one that it has not; detail: the reason, a space, and the endpoint */
  | 'refused'
  /** detail: the upper bound of a bucket in milliseconds, one of `LATENCY_BUCKETS_MS`, or `inf` */
  | 'answer-ms'
  | 'handler-ms'
  /** detail: the type, a space, and such an upper bound of how long its handler ran */
  | 'type-ms';

export interface CountRow {
  /** the beginning of the minute, or of the hour for counts that are older than a day; milliseconds since 1970 */
  readonly at: number;
  readonly what: Counted;
  readonly detail: string;
  readonly count: number;
}

/** Everything that was counted of a kind. */
export type CountTotal = Omit<CountRow, 'at'>;

/** Upper bounds, in milliseconds, of what latencies are counted in. */
export const LATENCY_BUCKETS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 9_000,
  10_000, 20_000, 30_000, 60_000,
] as const;

/** The bucket that a latency is counted in: its upper bound, or `inf`. */
export function latencyBucket(ms: number): string {
  return String(LATENCY_BUCKETS_MS.find((bound) => ms <= bound) ?? 'inf');
}

/** The upper bound that the detail of a latency says. */
export function latencyBound(detail: string): number {
  return detail === 'inf' ? Infinity : Number(detail);
}

export const MINUTE_MS = 60_000;

/** The beginning of the minute that a time is in. */
export function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

interface TablesClock {
  readonly toDatabase: (ms: number) => number;
}

/**
 * How far the minutes of the tables lie from those of a caller, in whole minutes: so a span of whole minutes is one there too,
 * and clocks that are a few seconds apart have the same.
 */
export function minutesApart({ toDatabase }: TablesClock): number {
  return Math.round(toDatabase(0) / MINUTE_MS) * MINUTE_MS;
}

/** The minute of the tables that something is counted in. */
export function minuteInTables(clock: TablesClock, at: number): number {
  return minuteOf(at) + minutesApart(clock);
}
