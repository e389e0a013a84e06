import { Client } from 'pg';
import { z } from 'zod';
import type { Bench } from '../bench.ts';
import { atLeast } from '../goals.ts';
import { range, table, whole } from '../markdown.ts';
import { cells, comparison, ratio } from '../marks.ts';
import { counting, interleave, middle, type Rounds } from '../rounds.ts';
import type { Section } from '../table.ts';
import type { BenchServer } from './bench-server.ts';
import { startTogether } from './start-together.ts';

const WAYS = [
  { how: 'together', title: 'hookbox, what comes together in one statement', into: 'hookbox.events' },
  { how: 'each', title: "hookbox's own transaction, each event alone", into: 'hookbox.events' },
  { how: 'by-hand', title: 'by hand: INSERT … ON CONFLICT, one table', into: 'by_hand' },
] as const;
const PROCESSES = [1, 4];
/** of all processes */
const CALLERS = 256;

const result = z.object({ stored: z.number(), all: z.number() });
const quotient = (own: number, other: number): number => own / other;

/** Storing only: what hookbox gains by taking in together what comes together. */
export async function storedTable(bench: Bench, server: BenchServer): Promise<Section> {
  const contenders = PROCESSES.flatMap((processes) =>
    WAYS.map((way) => ({ ...way, name: nameOf(processes, way.how), processes })),
  );
  const rounds = await interleave(
    bench,
    contenders.map(({ name, how, into, processes }) => ({
      name,
      measure: () => server.withDatabase((url) => measure(bench, url, how, into, processes)),
    })),
    bench.options.rounds,
    { describe: (rate) => `${whole(rate)} stored/s`, rateOf: (rate) => rate },
  );
  const of = (processes: number, how: string): Rounds<number> | undefined => rounds.get(nameOf(processes, how));
  const lines = contenders.map(({ name, title, how, processes }) => {
    const own = rounds.get(name);
    const others = ['each', 'by-hand'].map((other) =>
      how === other ? '–' : ratio(bench, own, of(processes, other), quotient),
    );
    const values = own === undefined ? [] : [whole(middle(own, (rate) => rate)), range(counting(own)), ...others];
    return [`${title}, ${processes} process${processes === 1 ? '' : 'es'}`, ...(own ? cells(bench, own, values) : [])];
  });
  const goals = (processes: number, wanted: number) =>
    [
      ['each', 'the same with each event alone'],
      ['by-hand', 'one INSERT each by hand'],
    ].map(([how = '', other]) =>
      atLeast(
        `Postgres, stored together, of ${other}, ${processes} process(es)`,
        { wanted },
        comparison(bench, of(processes, 'together'), of(processes, how), quotient),
      ),
    );
  return {
    text: [
      '#### Stored',
      `${CALLERS} callers at once in all, no HTTP, a pool of ten connections for each process. hookbox writes the event, its ` +
        'place in the queue and its count; by hand it is a row in one table with the same columns and unique key.',
      table(['', 'Stored/s', 'Range', 'Of each alone', 'Of by hand'], lines),
    ].join('\n\n'),
    goals: [...goals(1, 2), ...goals(4, 4)],
    disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
    data: [...rounds],
  };
}

function nameOf(processes: number, how: string): string {
  return `Postgres, ${how}, ${processes}`;
}

async function measure(bench: Bench, url: string, how: string, into: string, processes: number): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    // As hookbox's own, without what only hookbox needs.
    await client.query(`CREATE TABLE by_hand (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, endpoint text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
      type text COLLATE "C", created_ms bigint, created_ns integer, entity text COLLATE "C", verified boolean NOT NULL,
      received_ms bigint NOT NULL, body bytea, UNIQUE (id, endpoint))`);
    const { warmUpSeconds, seconds } = bench.options;
    const args = [url, how, ...[CALLERS / processes, warmUpSeconds, seconds].map(String)];
    const running = startTogether(new URL('store.ts', import.meta.url), args, processes);
    await bench.disturbance.watch([], running);
    const results = (await running).map((each) => result.parse(each));
    const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM ${into}`);
    const said = results.reduce((sum, { all }) => sum + all, 0);
    if (Number(rows[0]?.count) !== said) throw new Error(`${rows[0]?.count} of ${said} events are in ${into}.`);
    return results.reduce((sum, { stored }) => sum + stored, 0) / seconds;
  } finally {
    await client.end();
  }
}
