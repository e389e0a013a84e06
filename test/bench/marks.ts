import type { Bench } from './bench.ts';
import { notMeasured, type Figure } from './goals.ts';
import { middle, paired, type Rounds } from './rounds.ts';

/** A row's cells; in place of them, or beside the first where that is allowed, that it was disturbed. */
export function cells(
  bench: Bench,
  { disturbed, fault }: Pick<Rounds<unknown>, 'disturbed' | 'fault'>,
  values: readonly string[],
): readonly string[] {
  if (disturbed && !bench.options.allowDisturbed) return values.map((_, at) => (at === 0 ? 'disturbed' : '–'));
  const marks = [...(disturbed ? ['disturbed'] : []), ...(fault === null ? [] : [fault])];
  return marks.length === 0 ? values : values.map((value, at) => (at === 0 ? `${value} (${marks.join(', ')})` : value));
}

/** The median of the rounds, for a goal. */
export function figure<T>(bench: Bench, rounds: Rounds<T> | undefined, of: (value: T) => number): Figure {
  return rounds === undefined ? notMeasured : judgeable(bench, [rounds], () => middle(rounds, of));
}

/** Two in the same rounds, for a goal. */
export function comparison<T, U>(
  bench: Bench,
  a: Rounds<T> | undefined,
  b: Rounds<U> | undefined,
  compare: (a: T, b: U) => number,
): Figure {
  return a === undefined || b === undefined ? notMeasured : judgeable(bench, [a, b], () => paired(a, b, compare));
}

/** Two in the same rounds, for a row: nothing where either cannot be judged. */
export function ratio<T, U>(
  bench: Bench,
  a: Rounds<T> | undefined,
  b: Rounds<U> | undefined,
  compare: (a: T, b: U) => number,
): string {
  return comparison(bench, a, b, compare).value?.toFixed(2) ?? '–';
}

function judgeable(bench: Bench, rounds: readonly Rounds<unknown>[], value: () => number): Figure {
  const fault = rounds.map((each) => each.fault).find((each) => each !== null);
  if (fault !== undefined) return { value: null, note: fault };
  return undisturbed(
    bench,
    rounds.some((each) => each.disturbed),
    value(),
  );
}

/** A value for a goal, unless something disturbed it. */
export function undisturbed(bench: Bench, disturbed: boolean, value: number | undefined): Figure {
  if (value === undefined) return notMeasured;
  if (!disturbed) return { value, note: null };
  return { value: bench.options.allowDisturbed ? value : null, note: 'disturbed' };
}
