import type { Bench } from '../bench.ts';
import { atLeast } from '../goals.ts';
import { handlingDuring, type Handling } from '../handling.ts';
import { percent, range, table, whole } from '../markdown.ts';
import { cells, comparison, ratio } from '../marks.ts';
import { counting, interleave, middle, type Rounds } from '../rounds.ts';
import { handled as handledRow, stored, storedOnTheLoop, type Row } from '../rows.ts';
import { goalConnections, withSession, type DeliveryLoad, type LoadFigures, type SessionOptions } from '../session.ts';
import type { Table } from '../table.ts';

/** Far below what a server takes, so that nothing piles up. */
const MODERATE_RATE = 500;

interface HandledRound {
  readonly load: LoadFigures;
  /** `null` where nothing is handled */
  readonly handling: Handling | null;
}

interface Contender {
  readonly name: string;
  readonly row: Row;
  readonly options?: SessionOptions;
  readonly load?: DeliveryLoad;
}

/** What becomes done in a second: handled, or stored where nothing is handled. */
const done = ({ load, handling }: HandledRound): number => handling?.handledPerSecond ?? load.requestsPerSecond;
const timesAsFast = (own: HandledRound, other: HandledRound): number => done(own) / done(other);

/** Storing alone, and storing while the same process handles what it stored. */
export const handled: Table = {
  name: 'handled',
  async measure(bench) {
    const { filled } = bench;
    const size = whole((await filled.bytes()) / 1024 ** 2);
    const full = `the same, ${whole(filled.events)} processed events before (${size} MiB)`;
    const moderate = `the same, empty, at ${MODERATE_RATE} requests/s`;
    const contenders: readonly Contender[] = [
      { name: 'stored only', row: stored },
      { name: 'stored and handled', row: handledRow },
      ...storedOnTheLoop.map((row) => ({
        name: 'the same on the loop',
        row: { ...row, server: handledRow.server, handles: true },
      })),
      { name: full, row: handledRow, options: { database: (free) => filled.copyTo(free) } },
      { name: moderate, row: handledRow, load: { requestsPerSecond: MODERATE_RATE } },
    ];
    const rounds = await interleave(
      bench,
      contenders.map(({ name, row, options = {}, load }) => ({
        name,
        measure: () =>
          withSession(row, bench, options, async (session): Promise<HandledRound> => {
            if (row.handles !== true) return { load: await session.load(load), handling: null };
            const [figures, handling] = await handlingDuring(session.server, () => session.load(load));
            return { load: figures, handling };
          }),
      })),
      bench.options.rounds,
      {
        describe: (round) => `${whole(round.load.requestsPerSecond)} requests/s, done ${whole(done(round))}/s`,
        rateOf: done,
        loadsOf: ({ load }) => [load],
      },
    );
    const storedOnly = rounds.get('stored only');
    const empty = rounds.get('stored and handled');
    const rates = [...rounds].flatMap(([name, own]) =>
      name === moderate
        ? []
        : [[name, ...cells(bench, own, rateColumns(bench, own, storedOnly, name === full ? empty : undefined))]],
    );
    const times = [...rounds].flatMap(([name, own]) =>
      name === 'stored only' ? [] : [[name, ...cells(bench, own, timeColumns(own))]],
    );
    const heads = [
      'Stored/s',
      'Range',
      'Handled/s',
      'Range',
      'Of stored only',
      'Of the empty file',
      'Handled by then %',
    ];
    return {
      text: [
        '### Stored and handled',
        `One process stores and handles, with up to 100 handlers at once that do nothing. ${goalConnections} connections; ` +
          'medians of the rounds, taking turns. Handled/s counts from the first request until the handler of the last ' +
          'stored event has run, after the load too; its ratio is to what is stored without handling. Handled by then: ' +
          'of what was stored, when the load ended.',
        table(['Full load', ...heads], rates),
        'Wait is from the answer to the start of the handler, 0 if the handler was first. Loop delay is under load; each ' +
          'max is the worst of all rounds.',
        table(['ms', 'Wait p50', 'Wait p99', 'Wait max', 'Loop delay p50', 'Loop delay p99', 'Loop delay max'], times),
      ].join('\n\n'),
      goals: [
        atLeast(
          'stored and handled, of stored only',
          { wanted: 0.5, stretch: 0.7 },
          comparison(bench, empty, storedOnly, timesAsFast),
        ),
      ],
      disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
      data: [...rounds],
    };
  },
};

function rateColumns(
  bench: Bench,
  own: Rounds<HandledRound>,
  storedOnly: Rounds<HandledRound> | undefined,
  empty: Rounds<HandledRound> | undefined,
): readonly string[] {
  const storedRates = counting(own).map(({ load }) => load.requestsPerSecond);
  const handledRates = counting(own).flatMap(({ handling }) => handling?.handledPerSecond ?? []);
  const isHandled = handledRates.length > 0;
  return [
    whole(middle(own, ({ load }) => load.requestsPerSecond)),
    range(storedRates),
    isHandled ? whole(middle(own, done)) : '–',
    range(handledRates),
    isHandled ? ratio(bench, own, storedOnly, timesAsFast) : '–',
    ratio(bench, own, empty, timesAsFast),
    isHandled ? percent(middle(own, ({ handling }) => handling?.shareByThen ?? 0)) : '–',
  ];
}

function timeColumns(own: Rounds<HandledRound>): readonly string[] {
  const waits = (of: 'p50' | 'p99'): string => middle(own, ({ handling }) => handling?.waitMs?.[of] ?? 0).toFixed(1);
  const worst = (of: (round: HandledRound) => number): string => Math.max(...counting(own).map(of)).toFixed(1);
  return [
    waits('p50'),
    waits('p99'),
    worst(({ handling }) => handling?.waitMs?.max ?? 0),
    middle(own, ({ load }) => load.loopDelay.p50).toFixed(1),
    middle(own, ({ load }) => load.loopDelay.p99).toFixed(1),
    worst(({ load }) => load.loopDelay.max),
  ];
}
