import { availableParallelism } from 'node:os';
import type { Bench } from '../bench.ts';
import { atLeast, atMost, type Goal } from '../goals.ts';
import { percent, range, table, whole } from '../markdown.ts';
import { cells, comparison, figure, ratio } from '../marks.ts';
import { counting, middle, part, type Rounds } from '../rounds.ts';
import { baseline, handWritten, stored, verifier, type Row } from '../rows.ts';
import { goalConnections, type LoadFigures } from '../session.ts';

type Loads = ReadonlyMap<string, Rounds<LoadFigures>>;

/** Rates that differ by less than two runs do are level. */
const LEVEL = 0.95;

const timesAsFast = (own: LoadFigures, other: LoadFigures): number => own.requestsPerSecond / other.requestsPerSecond;

/** A line for each server; numbers of connections beside the first were measured once. */
export function throughputTable(
  bench: Bench,
  rows: readonly Row[],
  full: Loads,
  others: readonly number[],
  once: ReadonlyMap<string, Rounds<readonly LoadFigures[]>>,
): string {
  const { warmUpSeconds, warmUpLimit, seconds, rounds } = bench.options;
  const atOnce = (name: string, at: number): Rounds<LoadFigures> | undefined => {
    const own = once.get(name);
    return own && part(own, (loads) => loadAt(loads, at));
  };
  const lines = rows.map(({ name, title }) => [
    title,
    ...columns(bench, full.get(name), full.get(baseline.name), true),
    ...others.flatMap((_, at) => columns(bench, atOnce(name, at), atOnce(baseline.name, at), false)),
  ]);
  const heads = [
    `${goalConnections} connections`,
    'range',
    'of Hono',
    'p50 ms',
    'p99 ms',
    ...others.flatMap((count) => [`${count} connection${count === 1 ? '' : 's'}`, 'of Hono', 'p99 ms']),
  ];
  const loads = [...full.values()].flatMap(counting);
  const most = Math.max(0, ...loads.map(({ generatorCpu }) => generatorCpu ?? 0));
  return [
    '### Requests per second',
    `Signed \`order.created\` events of about 400 bytes. Each server is warmed up until its rate is steady, ` +
      `${warmUpSeconds} to ${warmUpLimit} s, and measured for ${seconds} s; medians of ${rounds} interleaved round(s) at ` +
      `${goalConnections} connections${others.length === 0 ? '' : ', one round beside'}. Ratios compare each round with ` +
      `itself. The load generator took up to ${percent(most)} % of a core; a figure is void where that is over 90 %.`,
    table(['Server', ...heads], lines),
  ].join('\n\n');
}

function loadAt(loads: readonly LoadFigures[], at: number): LoadFigures {
  const load = loads[at];
  if (load === undefined) throw new Error('Each number of connections is measured.');
  return load;
}

function columns(
  bench: Bench,
  own: Rounds<LoadFigures> | undefined,
  base: Rounds<LoadFigures> | undefined,
  isMain: boolean,
): readonly string[] {
  if (own === undefined) return Array.from({ length: isMain ? 5 : 3 }, () => '–');
  const rates = counting(own).map(({ requestsPerSecond }) => requestsPerSecond);
  const ofBase = ratio(bench, own, base, timesAsFast);
  const p50 = middle(own, ({ p50Ms }) => p50Ms).toFixed(2);
  const p99 = middle(own, ({ p99Ms }) => p99Ms).toFixed(2);
  const rate = whole(middle(own, ({ requestsPerSecond }) => requestsPerSecond));
  return cells(bench, own, isMain ? [rate, range(rates), ofBase, p50, p99] : [rate, ofBase, p99]);
}

export function throughputGoals(bench: Bench, full: Loads): readonly Goal[] {
  const rate = (goal: string, own: string, other: string, bounds: { wanted: number; stretch?: number }): Goal =>
    atLeast(goal, bounds, comparison(bench, full.get(own), full.get(other), timesAsFast));
  const cores = availableParallelism();
  const hono = { wanted: cores < 3 ? 0.38 : 0.5, stretch: 0.7 };
  return [
    rate(`stored, of the commit before, ${cores} cores`, stored.name, 'stored-before', { wanted: 1.3, stretch: 1.6 }),
    rate(`stored, of bare Hono, ${cores} cores`, stored.name, baseline.name, hono),
    rate('stored, of hand-written Express with INSERT', stored.name, handWritten.name, { wanted: 6, stretch: 8 }),
    rate('stored, of standardwebhooks, which stores nothing', stored.name, 'standardwebhooks', { wanted: 1 }),
    rate('stored, of tern, which stores nothing', stored.name, 'tern', { wanted: 1 }),
    rate('a stretch: stored, of stripe, which stores nothing', stored.name, 'stripe', { wanted: 1 }),
    rate('the verifier, of bare Hono', verifier.name, baseline.name, { wanted: 0.6 }),
    rate('the verifier, of stripe', verifier.name, 'stripe', { wanted: 1 }),
    rate('the verifier, of octokit, which checks no schema', verifier.name, 'octokit', { wanted: LEVEL, stretch: 1 }),
    atMost(
      'stored: p99 of the answer, of its p50',
      { wanted: 4, stretch: 3 },
      figure(bench, full.get(stored.name), ({ p50Ms, p99Ms }) => p99Ms / p50Ms),
    ),
  ];
}
