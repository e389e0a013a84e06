import type { Bench } from '../bench.ts';
import { FilledFile } from '../filled-file/filled-file.ts';
import { atLeast, notMeasured } from '../goals.ts';
import { range, table, whole } from '../markdown.ts';
import { cells, comparison, ratio } from '../marks.ts';
import { counting, interleave, middle, type Rounds } from '../rounds.ts';
import { stored } from '../rows.ts';
import { goalConnections, withSession, type LoadFigures, type SessionOptions } from '../session.ts';
import type { Table } from '../table.ts';

const MILLION = 1_000_000;
const TEN_MILLION = 10 * MILLION;

interface Contender {
  readonly name: 'empty' | 'full' | 'ten million';
  readonly title: string;
  readonly options: SessionOptions;
}

const timesAsFast = (own: LoadFigures, other: LoadFigures): number => own.requestsPerSecond / other.requestsPerSecond;

/** Storing into an empty file and into one that already holds many processed events. */
export const events: Table = {
  name: 'events',
  async measure(bench) {
    const { filled } = bench;
    const ten = bench.options.tenMillion ? new FilledFile(bench.folder, TEN_MILLION, bench.progress) : null;
    const contenders: Contender[] = [
      { name: 'empty', title: 'nothing', options: {} },
      {
        name: 'full',
        title: titleOf(filled.events, await filled.bytes()),
        options: { database: (free) => filled.copyTo(free) },
      },
    ];
    if (ten !== null) {
      // Ten gigabytes are not copied for each round: what a round adds is little to them.
      const options = { database: () => ten.itself(), sameFile: true };
      contenders.push({ name: 'ten million', title: titleOf(ten.events, await ten.bytes()), options });
    }
    const rounds = await interleave(
      bench,
      contenders.map(({ name, options }) => ({
        name,
        measure: () => withSession(stored, bench, options, (session) => session.load()),
      })),
      Math.max(2, bench.options.rounds),
      {
        describe: ({ requestsPerSecond }) => `${whole(requestsPerSecond)} requests/s`,
        rateOf: ({ requestsPerSecond }) => requestsPerSecond,
        loadsOf: (load) => [load],
      },
    );
    await ten?.remove();
    const empty = rounds.get('empty');
    const lines = contenders.flatMap(({ name, title }) => {
      const own = rounds.get(name);
      return own === undefined || empty === undefined
        ? []
        : [[title, ...cells(bench, own, columns(bench, own, empty))]];
    });
    const heads = ['Requests/s', 'Range', 'Of the empty file', 'p50 ms', 'p99 ms', 'Loop delay p99', 'Max'];
    const full = filled.events >= MILLION ? comparison(bench, rounds.get('full'), empty, timesAsFast) : notMeasured;
    return {
      text: [
        '### hookbox, stored, with events already in the file',
        `${goalConnections} connections; medians of the rounds, taking turns. Most events in the file are copies of a few ` +
          'thousand that were delivered and handled, under ids of their own.',
        table(['In the file before', ...heads], lines),
      ].join('\n\n'),
      goals: [
        atLeast('stored with 1,000,000 events in the file, of the empty file', { wanted: 0.8 }, full),
        atLeast(
          'stored with 10,000,000 events in the file, of the empty file',
          { wanted: 0.6, stretch: 0.8 },
          comparison(bench, rounds.get('ten million'), empty, timesAsFast),
        ),
      ],
      disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
      data: [...rounds],
    };
  },
};

function titleOf(count: number, bytes: number): string {
  return `${whole(count)} processed events (${whole(bytes / 1024 ** 2)} MiB)`;
}

function columns(bench: Bench, own: Rounds<LoadFigures>, empty: Rounds<LoadFigures>): readonly string[] {
  const ms = (of: (load: LoadFigures) => number): string => middle(own, of).toFixed(2);
  return [
    whole(middle(own, ({ requestsPerSecond }) => requestsPerSecond)),
    range(counting(own).map(({ requestsPerSecond }) => requestsPerSecond)),
    ratio(bench, own, empty, timesAsFast),
    ms(({ p50Ms }) => p50Ms),
    ms(({ p99Ms }) => p99Ms),
    ms(({ loopDelay }) => loopDelay.p99),
    Math.max(...counting(own).map(({ loopDelay }) => loopDelay.max)).toFixed(1),
  ];
}
