import type { EventKey } from '../event.ts';
import type { Abortable } from './search.ts';

export { LATENCY_BUCKETS_MS } from '../rules/latency-buckets.ts';

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

/** The upper bound that the detail of a latency says. */
export function latencyBound(detail: string): number {
  return detail === 'inf' ? Infinity : Number(detail);
}

export interface CountRow {
  /** the beginning of the minute, or of the hour for counts that are older than a day; milliseconds since 1970 */
  readonly at: number;
  readonly what: Counted;
  readonly detail: string;
  readonly count: number;
}

/** Everything that was counted of a kind. */
export type CountTotal = Omit<CountRow, 'at'>;

/** The minutes and hours that begin in it; milliseconds since 1970. */
export interface CountSpan {
  readonly since: number;
  readonly until: number;
}

/** What became of deliveries, by when: `stored` and `duplicate` without a detail, `rejected`, `arrived` and `refused`. */
export interface DeliveryCounts {
  /** when the oldest of all counts begins that is kept; `null` where nothing was counted */
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

/** The current numbers of events. hookbox counts each number only up to a limit. */
export interface Gauges {
  readonly pending: Gauge;
  /** Pending events with a failed attempt. */
  readonly retrying: Gauge;
  readonly processing: Gauge;
  /** Dead events, not counting tombstones. */
  readonly dead: Gauge;
  readonly ignored: Gauge;
  readonly discarded: Gauge;
  /** The oldest pending event. */
  readonly oldestPending: WaitingEvent | null;
  /** The oldest pending event of each entity, oldest first. At most 20. */
  readonly oldest: readonly WaitingEvent[];
}

/** A pending event and its age. */
export interface WaitingEvent extends EventKey {
  readonly receivedAt: Date;
  /** When the event was last rerun, if it has not failed since then; otherwise, when it was received. */
  readonly since: Date;
}

/** A number that is counted up to a limit. `more` is `true` if the actual number is higher. */
export interface Gauge {
  readonly count: number;
  readonly more: boolean;
}

export interface Counts {
  /** Adds each row to the count for its minute. */
  count(rows: readonly CountRow[]): Promise<void>;
  /** Returns the counts for the minutes and hours that begin in a span, oldest first. */
  counts(since: number, until: number): Promise<readonly CountRow[]>;
  /**
   * Returns the all-time totals. These totals never decrease, even when the counts for minutes and hours are removed.
   */
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
   * Writes and removes a row, to test whether deliveries can be stored.
   *
   * @throws InboxUnavailableError within two seconds if the inbox cannot store deliveries
   */
  ping(): Promise<void>;
  /**
   * Merges per-minute counts from before `before` into hourly counts, removes hourly counts more than 400 days older
   * than `before`, and keeps `totals` fast. The function works in small steps. Call this function every few minutes,
   * with the time one day ago.
   */
  coarsen(before: number): Promise<void>;
}
