import { ConfigurationError } from '../errors.ts';
import type { Inbox } from '../inbox/contract.ts';
import {
  latencyBound,
  type Counted,
  type CountTotal,
  type Gauges,
  type RejectedDelivery,
} from '../inbox/operator/counts.ts';
import { SlicedWork } from '../inbox/operator/turns.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { positiveWhole } from '../number-option.ts';
import { operationsOf } from './operations-of.ts';
import { percentilesOf, type Percentiles } from './percentiles.ts';
import { unhandledEvents, type Unhandled } from './unhandled.ts';

export type { Percentiles } from './percentiles.ts';

/** What happened in a span of time, and how things stand now. */
export interface Stats {
  readonly since: Date;
  readonly until: Date;
  readonly now: Gauges;
  /** what nobody handles now, and what was put away before somebody did */
  readonly unhandled: Unhandled;
  /** sums over the span */
  readonly totals: Totals;
  /** `other` are types that hookbox does not know, `invalid` events that fit no schema */
  readonly byType: Readonly<Record<string, TypeTotals>>;
  readonly rejectedByReason: Readonly<Record<string, number>>;
  /** milliseconds, as upper bounds; `null` where nothing was measured, `Infinity` beyond a minute */
  readonly answerMs: Percentiles;
  readonly handlerMs: Percentiles;
  /** redeliveries as part of the deliveries that were taken in, from 0 to 1 */
  readonly redeliveryRate: number;
  /** rejections as part of all deliveries, from 0 to 1 */
  readonly rejectionRate: number;
  /** steps of equal length, oldest first, that cover the span */
  readonly steps: readonly StatsStep[];
}

export interface Totals {
  readonly stored: number;
  readonly duplicate: number;
  readonly conflict: number;
  readonly processed: number;
  /** attempts that failed and are tried again */
  readonly failed: number;
  readonly dead: number;
  readonly ignored: number;
  readonly rerun: number;
  readonly discarded: number;
  /** deliveries that were not taken in, for whatever reason */
  readonly rejected: number;
}

export type TypeTotals = Pick<Totals, 'stored' | 'processed' | 'failed' | 'dead'>;

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
export async function stats(inbox: Inbox, options: StatsOptions = {}): Promise<Stats> {
  assertOptions('stats', options, OPTIONS);
  const operations = operationsOf(inbox);
  const until = options.until ?? new Date();
  const since = options.since ?? new Date(until.getTime() - HOUR_MS);
  const start = since.getTime();
  const span = until.getTime() - start;
  if (!(span > 0)) throw new ConfigurationError('INVALID_OPTION', 'since must be a time before until.');
  const count = positiveWhole('steps', options.steps ?? 60, MAX_STEPS);

  const work = await SlicedWork.begin();
  const [now, unhandled] = await Promise.all([operations.gauges(), unhandledEvents(inbox)]);
  const all = new Sums();
  const steps: StatsStep[] = [];
  const startOf = (step: number): number => start + (span * step) / count;
  for (let step = 0; step < count; step += 1) {
    const sums = new Sums();
    for (const total of await operations.totals({ since: startOf(step), until: startOf(step + 1) })) {
      sums.add(total);
      all.add(total);
    }
    steps.push({ at: new Date(startOf(step)), ...sums.totals(), answerMs: sums.percentiles('answer-ms') });
    await work.rest(); // deliveries come in between
  }

  const totals = all.totals();
  const { stored, duplicate, rejected } = totals;
  return {
    since,
    until,
    now,
    unhandled,
    totals,
    byType: all.byType(),
    rejectedByReason: Object.fromEntries(all.of('rejected')),
    answerMs: all.percentiles('answer-ms'),
    handlerMs: all.percentiles('handler-ms'),
    redeliveryRate: part(duplicate, stored + duplicate),
    rejectionRate: part(rejected, stored + duplicate + rejected),
    steps,
  };
}

/** What is counted, in the order in which it happens. */
export const TOTALS = [
  'stored',
  'duplicate',
  'conflict',
  'processed',
  'failed',
  'dead',
  'ignored',
  'rerun',
  'discarded',
  'rejected',
] as const satisfies readonly (keyof Totals)[];
const TYPE_TOTALS = ['stored', 'processed', 'failed', 'dead'] as const satisfies readonly (keyof TypeTotals)[];

/** What was counted, summed up by what it is and its detail. */
class Sums {
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

  byType(): Stats['byType'] {
    const types = new Set(TYPE_TOTALS.flatMap((what) => [...this.of(what).keys()]));
    return Object.fromEntries(
      Array.from(types, (type) => [type, figures(TYPE_TOTALS, (what) => this.of(what).get(type) ?? 0)]),
    );
  }

  percentiles(what: 'answer-ms' | 'handler-ms'): Percentiles {
    return percentilesOf(new Map(Array.from(this.of(what), ([detail, times]) => [latencyBound(detail), times])));
  }
}

function figures<Name extends string>(names: readonly Name[], of: (name: Name) => number): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>; // of exactly these names
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
export async function rejectedDeliveries(inbox: Inbox, limit = 100): Promise<readonly RejectedDelivery[]> {
  return operationsOf(inbox).rejected(positiveWhole('limit', limit));
}
