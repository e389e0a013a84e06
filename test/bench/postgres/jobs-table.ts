import { z } from 'zod';
import type { Bench } from '../bench.ts';
import { atLeast, type Goal } from '../goals.ts';
import { installedVersion } from '../installed-version.ts';
import { range, table, whole } from '../markdown.ts';
import { cells, comparison, ratio } from '../marks.ts';
import { counting, interleave, middle } from '../rounds.ts';
import type { Section } from '../table.ts';
import type { BenchServer } from './bench-server.ts';
import type { QueueName } from './queues.ts';
import { startTogether } from './start-together.ts';

interface Contender {
  readonly queue: QueueName;
  readonly title: string;
  /** jobs in one call */
  readonly together: number;
  readonly callers: number;
}

const MANY = { together: 1, callers: 256 };
const BATCHES = { together: 500, callers: 4 };
const WARM_UP = 1_000;
const versioned = (name: string): string => `${name} ${installedVersion(name)}`;

const CONTENDERS: readonly Contender[] = [
  { queue: 'hookbox', title: 'hookbox', ...MANY },
  { queue: 'hookbox-transaction', title: 'hookbox, each handler with `ctx.transaction`', ...MANY },
  { queue: 'pg-boss', title: `${versioned('pg-boss')}, send`, ...MANY },
  { queue: 'pg-boss', title: `${versioned('pg-boss')}, insert of ${BATCHES.together}`, ...BATCHES },
  { queue: 'graphile-worker', title: `${versioned('graphile-worker')}, addJob`, ...MANY },
  { queue: 'graphile-worker', title: `${versioned('graphile-worker')}, addJobs of ${BATCHES.together}`, ...BATCHES },
];

const result = z.object({ taken: z.number(), done: z.number() });

interface Rates {
  readonly taken: number;
  readonly done: number;
}

const timesAsFast = (own: Rates, other: Rates): number => own.done / other.done;

/** Taking in and running what does nothing, by one process: hookbox, and what is there for jobs in Postgres. */
export async function jobsTable(bench: Bench, server: BenchServer): Promise<Section> {
  const jobs = bench.options.seconds * 4_000; // some seconds of them
  const rounds = await interleave(
    bench,
    CONTENDERS.map((contender) => ({
      name: contender.title,
      measure: () => server.withDatabase((url) => measure(bench, url, contender, jobs)),
    })),
    bench.options.rounds,
    {
      describe: ({ taken, done }) => `${whole(taken)} taken in/s, ${whole(done)} done/s`,
      rateOf: ({ done }) => done,
    },
  );
  const hookbox = rounds.get('hookbox');
  const lines = CONTENDERS.flatMap(({ title }) => {
    const own = rounds.get(title);
    if (own === undefined) return [];
    const done = counting(own).map(({ done }) => done);
    const values = [
      whole(middle(own, ({ taken }) => taken)),
      whole(middle(own, ({ done }) => done)),
      range(done),
      title === 'hookbox' ? '–' : ratio(bench, hookbox, own, timesAsFast),
    ];
    return [[title, ...cells(bench, own, values)]];
  });
  const goals: readonly Goal[] = CONTENDERS.filter(({ queue }) => !queue.startsWith('hookbox')).map(({ title }) =>
    atLeast(
      `Postgres, stored and handled, of ${title}`,
      { wanted: 1 },
      comparison(bench, hookbox, rounds.get(title), timesAsFast),
    ),
  );
  return {
    text: [
      '#### Stored and handled, beside queues of jobs',
      `One process takes in ${whole(jobs)} and runs them meanwhile; each does nothing. Done/s counts from the first call until ` +
        `the last one has run. hookbox takes in one event a call, ${MANY.callers} callers at once, four events of an order one ` +
        'after the other; it knows duplicates, keeps the order of each order, and keeps the events; 100 handlers at once, a ' +
        'pool of its own. With `ctx.transaction` each writes a row: ten handlers, a pool of twelve. The others know no ' +
        `duplicates and no order, and are given the same bodies, in one call each (${MANY.callers} callers) and in batches ` +
        `(${BATCHES.callers} callers). pg-boss: batchSize 500, localConcurrency 4, burstWhenBatchFull, a look each 0.5 s, which ` +
        'is the least, a pool of ten. graphile-worker: what its page on performance says (concurrentJobs 24, a pool of 25, ' +
        'localQueue 500, completeJobBatchDelay 0).',
      table(['', 'Taken in/s', 'Done/s', 'Range', 'hookbox, of it'], lines),
    ].join('\n\n'),
    goals,
    disturbed: [...rounds.values()].some(({ disturbed }) => disturbed),
    data: [...rounds],
  };
}

async function measure(bench: Bench, url: string, contender: Contender, jobs: number): Promise<Rates> {
  const { queue, together, callers } = contender;
  const args = [url, queue, ...[together, callers, WARM_UP, jobs].map(String)];
  const running = startTogether(new URL('run-jobs.ts', import.meta.url), args, 1);
  await bench.disturbance.watch([], running);
  const [{ taken, done } = { taken: 0, done: 0 }] = (await running).map((each) => result.parse(each));
  return { taken: jobs / taken, done: jobs / done };
}
