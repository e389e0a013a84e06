import { latencyBound, type Counted, type CountTotal } from '../inbox/rules/counted.ts';
import { percentilesOf, type Percentiles } from './percentiles.ts';

/** Numbers of events, attempts and deliveries in a time span. */
export interface Totals {
  readonly stored: number;
  readonly duplicate: number;
  readonly conflict: number;
  readonly processed: number;
  /** Attempts that failed and will be retried. */
  readonly failed: number;
  readonly dead: number;
  readonly ignored: number;
  readonly rerun: number;
  readonly discarded: number;
  /** Deliveries that were not accepted, for any reason. */
  readonly rejected: number;
}

/** Numbers for one type in a time span. */
export type TypeTotals = Pick<Totals, 'stored' | 'processed' | 'failed' | 'dead'>;

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

  /** How long handlers ran, by type. */
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
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, number>; // of exactly these names
}
