import { ConfigurationError } from '../errors.ts';
import type { AnyInbox, Operations } from '../inbox/contract.ts';
import type { Gauges, RejectedDelivery } from '../inbox/operator/counts.ts';
import { assertOptions, type KnownOptions, positiveWhole } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';
import { Sums, type Totals, type TypeTotals } from './counted-sums.ts';
import type { Percentiles } from './percentiles.ts';
import type { Processing } from './processors.ts';
import type { AllTraffic } from './traffic/what-comes-in.ts';
import type { Unhandled } from './unhandled.ts';
import { watch } from './watch.ts';

export type { Totals, TypeTotals } from './counted-sums.ts';
export type { Percentiles } from './percentiles.ts';

/** The result of {@link stats}: a time span, and the current state. */
export interface Stats {
  readonly since: Date;
  readonly until: Date;
  /** The numbers of events now. */
  readonly now: Gauges;
  /** Events that no processor handles now, and events that were ignored because no processor handled their type. */
  readonly unhandled: Unhandled;
  /** Current traffic compared with earlier days. */
  readonly traffic: AllTraffic;
  /** Running and missing processors. */
  readonly processing: Processing;
  /** Sums over the time span. */
  readonly totals: Totals;
  /**
   * Sums by type. `other` counts types that neither hookbox nor a handler names. `invalid` counts events that fit no
   * schema.
   */
  readonly byType: Readonly<Record<string, TypeTotals>>;
  /** Rejected deliveries by reason. */
  readonly rejectedByReason: Readonly<Record<string, number>>;
  /**
   * How long responses took, in milliseconds, as upper bounds. `null` if nothing was measured; `Infinity` above a
   * minute.
   */
  readonly answerMs: Percentiles;
  /** How long handlers ran, in milliseconds, as upper bounds. */
  readonly handlerMs: Percentiles;
  /** How long handlers ran, by type. */
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
  /** When the step begins. */
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

const OPTIONS: KnownOptions<StatsOptions> = { since: true, until: true, steps: true };

const HOUR_MS = 60 * 60_000;
const MAX_STEPS = 1_000;

/**
 * Counts events by state and type over time. The result also contains the age of the oldest pending event, latencies
 * and rates.
 *
 * hookbox keeps counts per minute for a day, and older counts per hour. A count belongs to the step in which its minute
 * or hour begins. For spans of more than a day, choose steps of whole hours.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an empty span, or an inbox without `operations`
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
  const start = since.getTime();
  const span = until.getTime() - start;
  if (!(span > 0)) throw new ConfigurationError('INVALID_OPTION', '`since` must be before `until`.');
  const count = positiveWhole('steps', options.steps ?? 60, MAX_STEPS);

  const [now, watched, { all, steps }] = await Promise.all([
    operations.gauges(),
    watch(inbox),
    countedSteps(operations, (step) => start + (span * step) / count, count),
  ]);
  const { unhandled, traffic, ...processing } = watched;

  const totals = all.totals();
  const { stored, duplicate, rejected } = totals;
  return {
    since,
    until,
    now,
    unhandled,
    traffic,
    processing,
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

/** What was counted in each step, and in all of them. */
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
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
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
  return operationsOf(inbox).rejected(positiveWhole('limit', limit));
}
