import { ConfigurationError } from '../errors.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { Gauges, RejectedDelivery } from '../inbox/operator/counts.ts';
import type { Operations } from '../inbox/operator/operations.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { positiveWhole } from '../number-option.ts';
import { operationsOf } from './operations-of.ts';
import { Sums, type Totals, type TypeTotals } from './counted-sums.ts';
import type { Percentiles } from './percentiles.ts';
import type { Processing } from './processors.ts';
import type { AllTraffic } from './traffic/what-comes-in.ts';
import type { Unhandled } from './unhandled.ts';
import { watch } from './watch.ts';

export type { Totals, TypeTotals } from './counted-sums.ts';
export type { Percentiles } from './percentiles.ts';

/** What happened in a span of time, and how things stand now. */
export interface Stats {
  readonly since: Date;
  readonly until: Date;
  readonly now: Gauges;
  /** what nobody handles now, and what was put away before somebody did */
  readonly unhandled: Unhandled;
  /** what comes in now, compared with earlier days */
  readonly traffic: AllTraffic;
  /** who handles events now, and whose processors have gone */
  readonly processing: Processing;
  /** sums over the span */
  readonly totals: Totals;
  /** `other` are types that neither hookbox knows nor a handler names, `invalid` events that fit no schema */
  readonly byType: Readonly<Record<string, TypeTotals>>;
  readonly rejectedByReason: Readonly<Record<string, number>>;
  /** milliseconds, as upper bounds; `null` where nothing was measured, `Infinity` beyond a minute */
  readonly answerMs: Percentiles;
  readonly handlerMs: Percentiles;
  /** the same by type, of those whose handlers ran */
  readonly handlerMsByType: Readonly<Record<string, Percentiles>>;
  /** redeliveries as part of the deliveries that were taken in, from 0 to 1 */
  readonly redeliveryRate: number;
  /** rejections as part of all deliveries, from 0 to 1 */
  readonly rejectionRate: number;
  /** steps of equal length, oldest first, that cover the span */
  readonly steps: readonly StatsStep[];
}

export interface StatsStep extends Totals {
  readonly at: Date;
  readonly answerMs: Percentiles;
}

export interface StatsOptions {
  /** an hour before `until` unless given */
  readonly since?: Date;
  /** now unless given */
  readonly until?: Date;
  /** how many steps to cut the span into; 60 unless given, 1,000 at most */
  readonly steps?: number;
}

const OPTIONS: KnownOptions<StatsOptions> = { since: true, until: true, steps: true };

const HOUR_MS = 60 * 60_000;
const MAX_STEPS = 1_000;

/**
 * Counts by state and type over time, the age of the oldest pending event, latencies, and rates.
 *
 * What is counted has the time of the minute it happened in, and of the hour once that is more than a day ago; it belongs
 * to the step in which that minute or hour begins. So steps of whole hours look best for spans of more than a day.
 *
 * @throws ConfigurationError for a span without length, or an inbox that cannot be looked into
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
  if (!(span > 0)) throw new ConfigurationError('INVALID_OPTION', 'since must be before until.');
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
 * Deliveries that were not taken in, the latest first, alike ones as one line; the latest thousand kinds are kept.
 *
 * @param limit - how many lines; 100 unless given
 * @throws ConfigurationError for an inbox that cannot be looked into
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
