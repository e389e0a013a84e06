import { isEventType } from '../../events/event-types.ts';
import { performance } from '../../host/real-timers.ts';

/**
 * The kinds of counts, by the minute. Without a comment, the detail is the type, `other` or `invalid`; it is empty for
 * duplicates and conflicts.
 */
export type Counted =
  | 'stored'
  | 'duplicate'
  | 'conflict'
  /** by a handler, or superseded */
  | 'processed'
  | 'superseded'
  /** an attempt that failed and is tried again */
  | 'failed'
  | 'dead'
  | 'ignored'
  | 'rerun'
  | 'discarded'
  | 'rejected'
  /** a delivery that a receiver accepted, known or not; detail: the endpoint */
  | 'arrived'
  /** detail: the reason, a space, and the endpoint */
  | 'refused'
  /** detail: one of `LATENCY_BUCKETS_MS`, or `inf` */
  | 'answer-ms'
  | 'handler-ms'
  /** detail: the type, a space, and such a bucket */
  | 'type-ms';

export interface CountRow {
  /** the beginning of the minute; of the hour for counts older than a day */
  readonly at: number;
  readonly what: Counted;
  readonly detail: string;
  readonly count: number;
}

export type CountTotal = Omit<CountRow, 'at'>;

export const LATENCY_BUCKETS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 9_000,
  10_000, 20_000, 30_000, 60_000,
] as const;

export function latencyBucket(ms: number): string {
  return String(LATENCY_BUCKETS_MS.find((bound) => ms <= bound) ?? 'inf');
}

export function latencyBound(detail: string): number {
  return detail === 'inf' ? Infinity : Number(detail);
}

export const MINUTE_MS = 60_000;

export function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

interface TablesClock {
  readonly toDatabase: (ms: number) => number;
}

/** In whole minutes, so that a span of whole minutes stays one, and clocks a few seconds apart agree. */
export function minutesApart({ toDatabase }: TablesClock): number {
  return Math.round(toDatabase(0) / MINUTE_MS) * MINUTE_MS;
}

export function minuteInTables(clock: TablesClock, at: number): number {
  return minuteOf(at) + minutesApart(clock);
}

/** An engine without operators counts nothing. */
export interface Counting {
  readonly counts: {
    count(what: Counted, detail: string): void;
    countType(what: Counted, type: string | null): void;
    countMs(what: 'handler-ms', ms: number, type: string | null): void;
  };
}

export class Tally implements Required<Counting['counts']> {
  #sums = new Map<string, CountTotal>();

  count(what: Counted, detail: string): void {
    const key = `${what} ${detail}`;
    this.#sums.set(key, { what, detail, count: (this.#sums.get(key)?.count ?? 0) + 1 });
  }

  countType(what: Counted, type: string | null): void {
    this.count(what, countedType(type));
  }

  countMs(what: 'handler-ms', ms: number, type: string | null): void {
    const bucket = latencyBucket(ms);
    this.count(what, bucket);
    this.count('type-ms', `${countedType(type)} ${bucket}`);
  }

  get isEmpty(): boolean {
    return this.#sums.size === 0;
  }

  take(): readonly CountTotal[] {
    const sums = [...this.#sums.values()];
    this.#sums.clear();
    return sums;
  }

  /** If `work` throws, forgets its counts. */
  apart<T>(work: () => T): T {
    const before = new Map(this.#sums);
    try {
      return work();
    } catch (failure) {
      this.#sums = before;
      throw failure;
    }
  }
}

export const MOST_OWN_TYPES = 50;
const LONGEST_NAME = 100;
const FRESH_MS = 10_000;

const OTHER = 'other';
const INVALID = 'invalid';

function countedType(type: string | null): string {
  if (type === null) return INVALID;
  // A sender may use this name as a type.
  return type === INVALID ? OTHER : type;
}

export function isOwnType(type: string): boolean {
  return !isEventType(type) && type !== OTHER && type !== INVALID && type !== '*';
}

export function ownTypesAmong(handled: Iterable<string>): ReadonlySet<string> {
  const own = [...new Set(handled)].filter((type) => isOwnType(type) && type.length <= LONGEST_NAME);
  return new Set(own.toSorted().slice(0, MOST_OWN_TYPES));
}

const BY_TYPE: ReadonlySet<Counted> = new Set<Counted>([
  'stored',
  'processed',
  'superseded',
  'failed',
  'dead',
  'ignored',
  'rerun',
  'discarded',
  'type-ms',
]);

function typeIn({ what, detail }: CountTotal): string | null {
  if (!BY_TYPE.has(what)) return null;
  return what === 'type-ms' ? detail.slice(0, detail.lastIndexOf(' ')) : detail;
}

export function hasOwnType(sums: readonly CountTotal[]): boolean {
  return sums.some((sum) => isOwnType(typeIn(sum) ?? OTHER));
}

/** Types are texts of the sender, so types unknown to hookbox and to handlers are counted together as `other`. */
export function foldTypes(sums: readonly CountTotal[], named: ReadonlySet<string>): readonly CountTotal[] {
  const folded = new Map<string, CountTotal>();
  for (const sum of sums) {
    const type = typeIn(sum);
    const isFolded = type !== null && isOwnType(type) && !named.has(type);
    const detail = isFolded ? `${OTHER}${sum.detail.slice(type.length)}` : sum.detail;
    const key = `${sum.what} ${detail}`;
    folded.set(key, { ...sum, detail, count: (folded.get(key)?.count ?? 0) + sum.count });
  }
  return [...folded.values()];
}

export function foldedType(type: string | null, named: ReadonlySet<string>): string {
  const counted = countedType(type);
  return isOwnType(counted) && !named.has(counted) ? OTHER : counted;
}

/** Caches the types of handlers for some seconds. Other types have no limit, because senders can invent them. */
export class NamedTypes {
  #names: ReadonlySet<string> = new Set();
  #freshUntil = -Infinity;

  get isFresh(): boolean {
    return performance.now() < this.#freshUntil;
  }

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  learn(handled: Iterable<string>): ReadonlySet<string> {
    this.#names = ownTypesAmong(handled);
    this.#freshUntil = performance.now() + FRESH_MS;
    return this.#names;
  }
}

/** A number that is counted up to a limit. `more` is `true` if the actual number is higher. */
export interface Gauge {
  readonly count: number;
  readonly more: boolean;
}

/** Counting stops here, because a backlog of a million must not slow it down. */
const MOST_SHOWN = 10_000;
export const MOST_COUNTED = MOST_SHOWN + 1;

export function gaugeOf(count: number, most = MOST_SHOWN): Gauge {
  return { count: Math.min(count, most), more: count > most };
}

/** A map, because a name may be any text, such as `__proto__`. */
export type Sums = Map<string, number>;

export function sumsOf(counts: Readonly<Record<string, number>> = {}): Sums {
  return new Map(Object.entries(counts));
}

export function addNames(sums: Sums, ...names: readonly string[]): Sums {
  for (const name of names) sums.set(name, (sums.get(name) ?? 0) + 1);
  return sums;
}

export function recordOf(sums: Sums): Record<string, number> {
  return Object.fromEntries(sums);
}
