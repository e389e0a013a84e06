import { ConfigurationError } from '../errors.ts';
import type { AnyInbox, Operations } from '../inbox/contract.ts';
import { type Gauges } from '../inbox/operator/gauges.ts';
import { type RejectedDelivery } from '../inbox/operator/counts.ts';
import { latencyBound, type Counted, type CountTotal } from '../inbox/rules/counted.ts';
import { assertOption, assertOptions, whole, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';
import type { AllTraffic } from './traffic.ts';
import { type Processing, type Unhandled, watch } from './watch.ts';

/** The result of {@link stats}: a time span, and the current state. */
export interface Stats {
  readonly since: Date;
  readonly until: Date;
  readonly now: Gauges;
  /** Events that no processor handles now, and events that were ignored because no processor handled their type. */
  readonly unhandled: Unhandled;
  /** Current traffic compared with earlier days. */
  readonly traffic: AllTraffic;
  /** Running and missing processors. */
  readonly processing: Processing;
  readonly totals: Totals;
  /**
   * Sums by type. `other` counts types that neither hookbox nor a handler names. `invalid` counts events that fit no
   * schema.
   */
  readonly byType: Readonly<Record<string, TypeTotals>>;
  readonly rejectedByReason: Readonly<Record<string, number>>;
  /**
   * How long responses took, in milliseconds, as upper bounds. `null` if nothing was measured; `Infinity` above a
   * minute.
   */
  readonly answerMs: Percentiles;
  /** How long handlers ran, in milliseconds, as upper bounds. */
  readonly handlerMs: Percentiles;
  readonly handlerMsByType: Readonly<Record<string, Percentiles>>;
  /** Redeliveries as a share of accepted deliveries, 0 to 1. */
  readonly redeliveryRate: number;
  /** Rejections as a share of all deliveries, 0 to 1. */
  readonly rejectionRate: number;
  /** Steps of equal length that cover the span, oldest first. */
  readonly steps: readonly StatsStep[];
}

/** One step of {@link Stats}. */
export interface StatsStep extends Totals {
  readonly at: Date;
  readonly answerMs: Percentiles;
}

/** The options of {@link stats}. */
export interface StatsOptions {
  /**
   * The beginning of the span.
   *
   * @defaultValue one hour before `until`
   */
  readonly since?: Date;
  /**
   * The end of the span.
   *
   * @defaultValue now
   */
  readonly until?: Date;
  /**
   * The number of steps. At most 1,000.
   *
   * @defaultValue 60
   */
  readonly steps?: number;
}

const OPTIONS: RulesFor<StatsOptions> = { since: 'date', until: 'date', steps: whole(1, 1_000) };

const HOUR_MS = 60 * 60_000;

/**
 * Counts events by state and type over time, with latencies and rates.
 *
 * hookbox keeps counts per minute for a day, and older counts per hour. A count belongs to the step in which its minute
 * or hour begins. For spans of more than a day, choose steps of whole hours.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an empty span
 * @example
 * ```ts
 * import { stats } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { totals, answerMs } = await stats(inbox, { since: new Date(Date.now() - 24 * 60 * 60_000) });
 * console.log(`${totals.stored} stored, 99 of 100 deliveries answered within ${answerMs.p99} ms`);
 * ```
 */
export async function stats(inbox: AnyInbox, options: StatsOptions = {}): Promise<Stats> {
  assertOptions('stats', options, OPTIONS);
  const operations = operationsOf(inbox);
  const until = options.until ?? new Date();
  const since = options.since ?? new Date(until.getTime() - HOUR_MS);
  if (!(until.getTime() > since.getTime()))
    throw new ConfigurationError('INVALID_OPTION', '`since` must be before `until`.');
  const { steps = 60 } = options;

  const [now, watched, counted] = await Promise.all([
    operations.gauges(),
    watch(inbox),
    countsIn(inbox, { since, until, steps }),
  ]);
  const { unhandled, traffic, ...processing } = watched;
  return { ...counted, now, unhandled, traffic, processing };
}

/** The part of {@link stats} that depends on the time span. */
export type SpanCounts = Omit<Stats, 'now' | 'unhandled' | 'traffic' | 'processing'>;

export async function countsIn(
  inbox: AnyInbox,
  { since, until, steps: count }: Required<StatsOptions>,
): Promise<SpanCounts> {
  const start = since.getTime();
  const span = until.getTime() - start;
  const { all, steps } = await countedSteps(operationsOf(inbox), (step) => start + (span * step) / count, count);
  const totals = all.totals();
  const { stored, duplicate, rejected } = totals;
  return {
    since,
    until,
    totals,
    byType: all.byType(),
    rejectedByReason: Object.fromEntries(all.of('rejected')),
    answerMs: all.percentiles('answer-ms'),
    handlerMs: all.percentiles('handler-ms'),
    handlerMsByType: all.msByType(),
    redeliveryRate: part(duplicate, stored + duplicate),
    rejectionRate: part(rejected, stored + duplicate + rejected),
    steps,
  };
}

async function countedSteps(
  operations: Operations,
  startOf: (step: number) => number,
  count: number,
): Promise<{ readonly all: Sums; readonly steps: readonly StatsStep[] }> {
  const spans = Array.from({ length: count }, (_, step) => ({ since: startOf(step), until: startOf(step + 1) }));
  const counted = await operations.totalsIn(spans);
  const all = new Sums();
  const steps = spans.map(({ since }, step): StatsStep => {
    const sums = new Sums();
    for (const total of counted[step] ?? []) {
      sums.add(total);
      all.add(total);
    }
    return { at: new Date(since), ...sums.totals(), answerMs: sums.percentiles('answer-ms') };
  });
  return { all, steps };
}

function part(some: number, all: number): number {
  return all === 0 ? 0 : some / all;
}

/**
 * Lists rejected deliveries, newest first. Deliveries that differ only in time share a line. The inbox keeps the latest
 * thousand lines.
 *
 * @param limit - the number of lines; 100 by default
 * @example
 * ```ts
 * import { rejectedDeliveries } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { count, reason, source } of await rejectedDeliveries(inbox)) {
 *   console.log(`${count} × ${reason}, last from ${source ?? 'somewhere'}`);
 * }
 * ```
 */
export async function rejectedDeliveries(inbox: AnyInbox, limit = 100): Promise<readonly RejectedDelivery[]> {
  assertOption('limit', limit, whole());
  return operationsOf(inbox).rejected(limit);
}

/** Numbers of events, attempts and deliveries in a time span. */
export interface Totals {
  readonly stored: number;
  readonly duplicate: number;
  readonly conflict: number;
  /** By their handlers, or as superseded. */
  readonly processed: number;
  /** Events that became processed without a run, because a newer event was waiting. */
  readonly superseded: number;
  /** Attempts that failed, or whose process died, and that will be retried. */
  readonly failed: number;
  readonly dead: number;
  readonly ignored: number;
  readonly rerun: number;
  readonly discarded: number;
  /** Deliveries that were not accepted, for any reason. */
  readonly rejected: number;
}

/** Numbers for one type in a time span. */
export type TypeTotals = Pick<Totals, 'stored' | 'processed' | 'superseded' | 'failed' | 'dead'>;

export const TOTALS = [
  'stored',
  'duplicate',
  'conflict',
  'processed',
  'superseded',
  'failed',
  'dead',
  'ignored',
  'rerun',
  'discarded',
  'rejected',
] as const satisfies readonly (keyof Totals)[];
const TYPE_TOTALS = [
  'stored',
  'processed',
  'superseded',
  'failed',
  'dead',
] as const satisfies readonly (keyof TypeTotals)[];

export class Sums {
  readonly #sums = new Map<string, Map<string, number>>();

  add({ what, detail, count }: CountTotal): void {
    let details = this.#sums.get(what);
    if (details === undefined) {
      details = new Map();
      this.#sums.set(what, details);
    }
    details.set(detail, (details.get(detail) ?? 0) + count);
  }

  of(what: Counted): ReadonlyMap<string, number> {
    return this.#sums.get(what) ?? new Map<string, number>();
  }

  totals(): Totals {
    return figures(TOTALS, (what) => [...this.of(what).values()].reduce((a, b) => a + b, 0));
  }

  byType(): Readonly<Record<string, TypeTotals>> {
    const types = new Set(TYPE_TOTALS.flatMap((what) => [...this.of(what).keys()]));
    return Object.fromEntries(
      Array.from(types, (type) => [type, figures(TYPE_TOTALS, (what) => this.of(what).get(type) ?? 0)]),
    );
  }

  percentiles(what: 'answer-ms' | 'handler-ms'): Percentiles {
    return percentilesOf(new Map(Array.from(this.of(what), ([detail, times]) => [latencyBound(detail), times])));
  }

  msByType(): Readonly<Record<string, Percentiles>> {
    const types = new Map<string, Map<number, number>>();
    for (const [detail, times] of this.of('type-ms')) {
      const space = detail.lastIndexOf(' ');
      const type = detail.slice(0, space);
      const buckets = types.get(type) ?? new Map<number, number>();
      types.set(type, buckets.set(latencyBound(detail.slice(space + 1)), times));
    }
    return Object.fromEntries(Array.from(types, ([type, buckets]) => [type, percentilesOf(buckets)]));
  }
}

function figures<Name extends string>(names: readonly Name[], of: (name: Name) => number): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>;
}

/** Durations in milliseconds. Half of them were at most `p50`, 90 % at most `p90`, and 99 % at most `p99`. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/** @param buckets - the count for each upper bound */
export function percentilesOf(buckets: ReadonlyMap<number, number>): Percentiles {
  const filled = [...buckets].filter(([, times]) => times > 0).sort(([a], [b]) => a - b);
  const count = filled.reduce((sum, [, times]) => sum + times, 0);
  const boundOf = (part: number): number | null => {
    const rank = Math.ceil(count * part);
    let upTo = 0;
    return filled.find(([, times]) => (upTo += times) >= rank)?.[0] ?? null;
  };
  return { count, p50: boundOf(0.5), p90: boundOf(0.9), p99: boundOf(0.99), max: filled.at(-1)?.[0] ?? null };
}
