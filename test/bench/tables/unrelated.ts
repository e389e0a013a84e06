import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { atMost } from '../goals.ts';
import type { LoadMeasurement } from '../load/generator.ts';
import { table, whole } from '../markdown.ts';
import { cells, comparison } from '../marks.ts';
import { interleave, middle, paired, part, type Rounds } from '../rounds.ts';
import { baseline, stored, storedBefore, storedOnTheLoop, type Row } from '../rows.ts';
import { withSession, type LoadFigures, type SessionOptions } from '../session.ts';
import type { Table } from '../table.ts';
import { pacedRate } from '../server-rounds.ts';

/** One server's other route, alone and beside deliveries, in one round. */
interface UnrelatedRound {
  readonly alone: LoadMeasurement;
  readonly beside: LoadMeasurement;
  readonly deliveries: LoadFigures;
}

interface Contender {
  readonly name: string;
  readonly title: string;
  readonly row: Row;
  readonly options: SessionOptions;
}

/** How long the answers of another route of the merchant's server take while deliveries come. */
export const unrelated: Table = {
  name: 'unrelated',
  async measure(bench) {
    const contenders = contendersOf(bench);
    const rounds = await interleave(
      bench,
      contenders.map(({ name, row, options }) => ({ name, measure: () => measureRound(row, options, bench) })),
      bench.options.rounds,
      {
        describe: ({ alone, beside }) => `p99 ${alone.p99Ms.toFixed(2)} ms alone, ${beside.p99Ms.toFixed(2)} ms beside`,
        loadsOf: ({ deliveries }) => [deliveries],
      },
    );
    const lines = contenders.flatMap(({ name, title }) => {
      const own = rounds.get(name);
      return own === undefined ? [] : [[title, ...columns(bench, own)]];
    });
    const own = rounds.get(stored.name);
    return {
      text: [
        `### Another route of the same server, while ${whole(pacedRate)} deliveries/s come`,
        'A GET that reads nothing, 500 times a second over 8 connections: what its answers take alone and beside the ' +
          'deliveries, in milliseconds. Medians of the rounds.',
        table(['Server', 'alone, p50', 'p99', 'beside, p50', 'p99', 'p99 of alone'], lines),
      ].join('\n\n'),
      goals: [
        atMost(
          `p99 of an unrelated route while ${whole(pacedRate)} deliveries/s come, of what it is without`,
          { wanted: 1.5, stretch: 1.2 },
          comparison(bench, own && part(own, ({ beside }) => beside), own && part(own, ({ alone }) => alone), timesP99),
        ),
      ],
      disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
      data: [...rounds],
    };
  },
};

const timesP99 = (beside: LoadMeasurement, alone: LoadMeasurement): number => beside.p99Ms / alone.p99Ms;

function contendersOf({ options: { against }, syncDelay }: Bench): readonly Contender[] {
  const here = [baseline, stored, ...storedOnTheLoop, ...storedBefore(against)];
  const usual = here.map((row) => ({ name: row.name, title: row.title, row, options: {} }));
  if (typeof syncDelay === 'string') return usual;
  const slow = [stored, ...storedOnTheLoop].map((row) => ({
    name: `${row.name}-slow-disk`,
    title: `${row.title}, syncs ${syncDelay.ms} ms slower`,
    row,
    options: { env: syncDelay.env },
  }));
  return [...usual, ...slow];
}

function measureRound(row: Row, options: SessionOptions, bench: Bench): Promise<UnrelatedRound> {
  const { seconds } = bench.options;
  return withSession(row, bench, options, async (session) => {
    await session.unrelated(1); // compiled
    const alone = await session.unrelated(seconds);
    // The deliveries begin before and end after what is measured beside them.
    const [deliveries, beside] = await Promise.all([
      session.load({ seconds: seconds + 2, requestsPerSecond: pacedRate }),
      delay(1_000).then(() => session.unrelated(seconds)),
    ]);
    return { alone, beside, deliveries };
  });
}

function columns(bench: Bench, own: Rounds<UnrelatedRound>): readonly string[] {
  const ms = (of: (round: UnrelatedRound) => number): string => middle(own, of).toFixed(2);
  return cells(bench, own, [
    ms(({ alone }) => alone.p50Ms),
    ms(({ alone }) => alone.p99Ms),
    ms(({ beside }) => beside.p50Ms),
    ms(({ beside }) => beside.p99Ms),
    paired(own, own, ({ beside }, { alone }) => timesP99(beside, alone)).toFixed(2),
  ]);
}
