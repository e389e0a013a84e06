import type { Bench } from '../bench.ts';
import { atMost } from '../goals.ts';
import { table, whole } from '../markdown.ts';
import { cells, comparison, ratio } from '../marks.ts';
import { startPruning, type Pruned } from '../operators/prune-beside.ts';
import { interleave, middle, type Rounds } from '../rounds.ts';
import { stored } from '../rows.ts';
import { goalConnections, withSession, type LoadFigures } from '../session.ts';
import type { Table } from '../table.ts';
import { pacedRate } from '../server-rounds.ts';

const timesP99 = (own: LoadFigures, other: LoadFigures): number => own.p99Ms / other.p99Ms;

/** All that it can take, and what a busy shop sends. */
const LOADS = [
  { title: 'full load', load: {} },
  { title: `${whole(pacedRate)}/s`, load: { requestsPerSecond: pacedRate } },
];

/** Deliveries to a server whose file is being pruned by another process, and undisturbed. */
export const pruning: Table = {
  name: 'pruning',
  async measure(bench) {
    const prune = new Prune();
    const contenders = LOADS.flatMap(({ title, load }) => [
      { name: `${title}, undisturbed`, measure: () => measure(bench, load, null) },
      { name: `${title}, pruning`, measure: () => measure(bench, load, prune) },
    ]);
    const rounds = await interleave(bench, contenders, Math.min(2, bench.options.rounds), {
      describe: ({ requestsPerSecond, p99Ms }) => `${whole(requestsPerSecond)} requests/s, p99 ${p99Ms.toFixed(1)} ms`,
      loadsOf: (load) => [load],
    });
    const lines = LOADS.flatMap(({ title }) => {
      const undisturbed = rounds.get(`${title}, undisturbed`);
      return ['undisturbed', 'pruning'].flatMap((how) => {
        const own = rounds.get(`${title}, ${how}`);
        if (own === undefined || undisturbed === undefined) return [];
        return [[`${title}, ${how}`, ...cells(bench, own, columns(bench, own, undisturbed))]];
      });
    });
    const { pruned, seconds } = prune.first ?? { pruned: 0, seconds: 0 };
    return {
      text: [
        '### Pruning under load',
        `A file of ${whole(bench.filled.events)} processed events, ${goalConnections} connections; \`pruneEvents\` in another ` +
          `process makes tombstones of half of them. One prune ran to its end, most of it after the load: ` +
          `${whole(pruned)} events in ${whole(seconds)} s.`,
        table(['Deliveries', 'Requests/s', 'p50 ms', 'p99 ms', 'p99 of undisturbed'], lines),
      ].join('\n\n'),
      goals: [
        atMost(
          'pruning at full load: p99, of the undisturbed one',
          { wanted: 2 },
          comparison(bench, rounds.get('full load, pruning'), rounds.get('full load, undisturbed'), timesP99),
        ),
      ],
      disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
      data: { rounds: [...rounds], prune: prune.first },
    };
  },
};

/** Lets the first prune run to its end, after the load too; the others are stopped with it. */
class Prune {
  first: Pruned | undefined;

  async beside<T>(file: string, work: () => Promise<T>): Promise<T> {
    const process = await startPruning(file);
    const result = await work();
    if (this.first === undefined) this.first = await process.ended();
    else await process.kill();
    return result;
  }
}

function measure(bench: Bench, load: { requestsPerSecond?: number }, prune: Prune | null): Promise<LoadFigures> {
  const database = (free: string): Promise<string> => bench.filled.copyTo(free);
  return withSession(stored, bench, { database }, async (session) => {
    const run = (): Promise<LoadFigures> => session.load(load);
    return prune === null ? run() : prune.beside(session.databaseFile, run);
  });
}

function columns(bench: Bench, own: Rounds<LoadFigures>, undisturbed: Rounds<LoadFigures>): readonly string[] {
  return [
    whole(middle(own, ({ requestsPerSecond }) => requestsPerSecond)),
    middle(own, ({ p50Ms }) => p50Ms).toFixed(2),
    middle(own, ({ p99Ms }) => p99Ms).toFixed(2),
    ratio(bench, own, undisturbed, timesP99),
  ];
}
