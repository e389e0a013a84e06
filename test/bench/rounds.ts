import type { Bench } from './bench.ts';
import type { Measured } from './disturbance/disturbance.ts';
import { median } from './median.ts';
import type { LoadFigures } from './session.ts';

/** Rounds that lie further apart than this, of their median, disturb each other. */
const SCATTER_LIMIT = 0.1;
const EXTRA_ROUNDS = 2;
/** Above this share of a core it is the generator that is measured. */
const GENERATOR_LIMIT = 0.9;

/** One of those that take turns. */
export interface Contender<T> {
  readonly name: string;
  readonly measure: () => Promise<T>;
}

/** What was measured of one contender. */
export interface Rounds<T> {
  readonly rounds: readonly Measured<T>[];
  /** No majority of the rounds was quiet and agreed. */
  readonly disturbed: boolean;
  /** What forbids to judge it: answers that failed, or a generator that was the limit. */
  readonly fault: string | null;
}

/** What is to be known of the values that are measured. */
export interface Kind<T> {
  readonly describe: (value: T) => string;
  /** Rounds have to agree on it. */
  readonly rateOf?: (value: T) => number;
  readonly loadsOf?: (value: T) => readonly LoadFigures[];
}

/**
 * Measures every contender once a round. They take turns, so that a machine that grows slower for a while does so for all
 * of them. Where no majority of the rounds agrees on what `rateOf` gives, that contender gets two more.
 */
export async function interleave<T>(
  bench: Bench,
  contenders: readonly Contender<T>[],
  rounds: number,
  { describe, rateOf, loadsOf }: Kind<T>,
): Promise<Map<string, Rounds<T>>> {
  const all = new Map<string, Measured<T>[]>(contenders.map(({ name }) => [name, []]));
  const measure = async ({ name, measure }: Contender<T>): Promise<void> => {
    const measured = await bench.disturbance.undisturbed(measure);
    const own = all.get(name);
    own?.push(measured);
    bench.progress(
      `${name}, round ${own?.length}: ${describe(measured.value)}${measured.disturbed ? ', disturbed' : ''}`,
    );
  };
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of contenders) await measure(contender);
  }
  for (let extra = 0; extra < (rounds > 1 ? EXTRA_ROUNDS : 0); extra += 1) {
    for (const contender of contenders) {
      if (!isDisturbed(all.get(contender.name) ?? [], rateOf) || !bench.disturbance.isPatient) continue;
      const startedAt = performance.now();
      await measure(contender);
      bench.disturbance.spend(performance.now() - startedAt);
    }
  }
  return new Map(
    [...all].map(([name, own]) => {
      const fault = loadsOf === undefined ? null : faultOf(own.flatMap(({ value }) => loadsOf(value)));
      return [name, { rounds: own, disturbed: isDisturbed(own, rateOf), fault }];
    }),
  );
}

function faultOf(loads: readonly LoadFigures[]): string | null {
  const sum = (of: (load: LoadFigures) => number): number => loads.reduce((total, load) => total + of(load), 0);
  const non2xx = sum((load) => load.non2xx);
  const socketErrors = sum((load) => load.socketErrors);
  // Never rounded up to 100.
  if (non2xx > 0)
    return `${(Math.floor((1 - non2xx / sum(({ requests }) => requests)) * 10_000) / 100).toFixed(2)} % 2xx`;
  if (socketErrors > 0) return `${socketErrors} socket errors`;
  return loads.some(({ generatorCpu }) => (generatorCpu ?? 0) > GENERATOR_LIMIT) ? 'void' : null;
}

function isDisturbed<T>(all: readonly Measured<T>[], rateOf?: (value: T) => number): boolean {
  const quiet = all.filter(({ disturbed }) => !disturbed).map(({ value }) => value);
  const majority = Math.floor(all.length / 2) + 1;
  if (quiet.length < majority) return true;
  return rateOf !== undefined && scatter(quiet.map(rateOf), majority) > SCATTER_LIMIT;
}

/** How far apart the closest so many values lie, of the median of all. */
function scatter(values: readonly number[], many: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const widths = sorted.slice(many - 1).map((highest, lowest) => highest - (sorted[lowest] ?? highest));
  return Math.min(...widths) / median(values);
}

/** What counts: the quiet rounds, or all where too few were. */
export function counting<T>({ rounds, disturbed }: Rounds<T>): readonly T[] {
  return rounds.filter((round) => disturbed || !round.disturbed).map(({ value }) => value);
}

/** The median of the rounds. */
export function middle<T>(rounds: Rounds<T>, of: (value: T) => number): number {
  return median(counting(rounds).map(of));
}

/** Both of each round against each other, since machines drift: the median of that. */
export function paired<T, U>(a: Rounds<T>, b: Rounds<U>, compare: (a: T, b: U) => number): number {
  const all = a.disturbed || b.disturbed;
  const pairs = a.rounds.flatMap((one, round) => {
    const other = b.rounds[round];
    return other === undefined || (!all && (one.disturbed || other.disturbed)) ? [] : [compare(one.value, other.value)];
  });
  if (pairs.length > 0) return median(pairs);
  return median(counting(a).flatMap((one) => counting(b).map((other) => compare(one, other))));
}

/** A part of each value. */
export function part<T, U>({ rounds, ...rest }: Rounds<T>, of: (value: T) => U): Rounds<U> {
  return { ...rest, rounds: rounds.map(({ value, disturbed }) => ({ value: of(value), disturbed })) };
}
