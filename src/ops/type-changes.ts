import type { AnyInbox } from '../inbox/contract.ts';
import type { CountSpan } from '../inbox/operator/counts.ts';
import { Sums } from './counted-sums.ts';
import { operationsOf } from './operations-of.ts';
import type { Percentiles } from './percentiles.ts';
import type { Stats } from './stats.ts';

/** How the handler of a type did in a span. */
export interface TypeFigures {
  /** runs that ended: processed, failed, or dead */
  readonly ended: number;
  /** runs that failed and were tried again */
  readonly failed: number;
  readonly dead: number;
  /** those that failed or died as part of all that ended, from 0 to 1; `null` where none did */
  readonly failedPart: number | null;
  readonly handlerMs: Percentiles;
}

/** How the handler of a type does, and how it did before. */
export interface TypeChange {
  readonly type: string;
  readonly before: TypeFigures;
  readonly after: TypeFigures;
}

const UNMEASURED: Percentiles = { count: 0, p50: null, p90: null, p99: null, max: null };

/** What was counted of each type, as `stats` has it of a span. */
export type TypesCounted = Pick<Stats, 'byType' | 'handlerMsByType'>;

/** A release, and what is told of the time since. */
export interface SinceRelease {
  readonly name: string;
  readonly at: Date;
  /** how long the span before it is, in words */
  readonly before: string;
  /** what was counted in the last hour; `null` where it began within that */
  readonly lately: TypesCounted | null;
}

/** What was counted of each type in some spans. */
export async function typesIn(inbox: AnyInbox, spans: readonly CountSpan[]): Promise<readonly TypesCounted[]> {
  const counted = await operationsOf(inbox).totalsIn(spans);
  return counted.map((totals) => {
    const sums = new Sums();
    for (const total of totals) sums.add(total);
    return { byType: sums.byType(), handlerMsByType: sums.msByType() };
  });
}

/** Rates of failure and durations by type, of two spans; first what fails more often than it did, then what failed most. */
export function typeChanges(then: TypesCounted, now: TypesCounted): readonly TypeChange[] {
  const types = new Set([...Object.keys(then.byType), ...Object.keys(now.byType)]);
  return Array.from(types, (type) => ({ type, before: figuresOf(then, type), after: figuresOf(now, type) }))
    .filter(({ type, before, after }) => type !== 'invalid' && before.ended + after.ended > 0)
    .toSorted(
      (one, other) => worseBy(other) - worseBy(one) || bad(other) - bad(one) || other.after.ended - one.after.ended,
    );
}

/** How the handler of a type did, from what was counted. */
export function figuresOf({ byType, handlerMsByType }: TypesCounted, type: string): TypeFigures {
  const { processed = 0, failed = 0, dead = 0 } = byType[type] ?? {};
  const ended = processed + failed + dead;
  return {
    ended,
    failed,
    dead,
    failedPart: ended === 0 ? null : (failed + dead) / ended,
    handlerMs: handlerMsByType[type] ?? UNMEASURED,
  };
}

function bad({ after: { failed, dead } }: TypeChange): number {
  return failed + dead;
}

/** By how much more of it fails than before, in whole percents. */
function worseBy(change: TypeChange): number {
  const { after, before } = change;
  return comparisonOf(change).failures === 'worse'
    ? Math.round(((after.failedPart ?? 0) - (before.failedPart ?? 0)) * 100)
    : 0;
}

/** What a span beside the one before says; `too few` where either has too few runs to tell. */
export type Comparison = 'worse' | 'not worse' | 'too few';

/** So many runs a span has at least that is compared with another. */
export const LEAST_RUNS = 10;
/** So many failures may be chance. */
const FEW = 3;

/**
 * Whether a type does worse than before. It fails more often when it does so at least twice as often, and not only once or twice;
 * it takes longer when half of its runs take at least twice as long.
 */
export function comparisonOf(change: TypeChange): { readonly failures: Comparison; readonly durations: Comparison } {
  const { before, after } = change;
  const [then, now] = [before.handlerMs, after.handlerMs];
  const part = after.failedPart ?? 0;
  const failsMore = bad(change) >= FEW && part >= 0.02 && part >= 2 * (before.failedPart ?? 0);
  const takesLonger = then.p50 !== null && now.p50 !== null && now.p50 >= 20 && now.p50 >= 2 * then.p50;
  return {
    failures: compared(Math.min(before.ended, after.ended), failsMore),
    durations: compared(Math.min(then.count, now.count), takesLonger),
  };
}

function compared(runs: number, isWorse: boolean): Comparison {
  if (runs < LEAST_RUNS) return 'too few';
  return isWorse ? 'worse' : 'not worse';
}
