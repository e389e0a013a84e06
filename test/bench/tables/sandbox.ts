import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { atMost } from '../goals.ts';
import { startLoad } from '../load/generator.ts';
import { range, table, whole } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { median } from '../median.ts';
import { counting, interleave, middle, type Contender } from '../rounds.ts';
import { stored } from '../rows.ts';
import { runProcess } from '../run-process.ts';
import { firstAnswerMs, startSandbox } from '../sandbox/command.ts';
import { rawRequest, requests, type RequestName } from '../sandbox/requests.ts';
import { startServer } from '../server-process.ts';
import { goalConnections } from '../session.ts';
import type { Table } from '../table.ts';

const NAMES = Object.keys(requests) as readonly RequestName[]; // its own keys
const IN_PROCESS = new URL('../sandbox/in-process.ts', import.meta.url);

/** The service on a laptop: how much it takes, how much it sends, and how soon it is there. */
export const sandbox: Table = {
  name: 'sandbox',
  section: 'bench:sandbox',
  async measure(bench) {
    const contenders: readonly Contender<number>[] = [
      ...NAMES.map((name) => ({
        name: `${requests[name].title}, in the process`,
        measure: () => rateOf(bench, ['operations', name, String(2_000 * bench.options.seconds)]),
      })),
      ...NAMES.map((name) => ({ name: `${requests[name].title}, over HTTP`, measure: () => overHttp(bench, name) })),
      {
        name: 'events delivered in the process',
        measure: () => rateOf(bench, ['events', String(1_000 * bench.options.seconds)]),
      },
      { name: 'events delivered over HTTP', measure: () => deliveredOverHttp(bench, 1_000 * bench.options.seconds) },
    ];
    const rounds = await interleave(bench, contenders, bench.options.rounds, {
      describe: (rate) => `${whole(rate)}/s`,
      rateOf: (rate) => rate,
    });
    const first = await bench.disturbance.alone(async () => {
      const times: number[] = [];
      for (let round = -1; round < bench.options.quickRounds; round += 1) {
        const ms = await firstAnswerMs();
        if (round >= 0) times.push(ms); // the first round fills the caches
      }
      return median(times);
    });
    const lines = [...rounds].map(([name, own]) => [
      name,
      ...cells(bench, own, [whole(middle(own, (rate) => rate)), range(counting(own))]),
    ]);
    const start = [
      ['from start to first answer', ...cells(bench, { ...first, fault: null }, [first.value.toFixed(0)])],
    ];
    return {
      text: [
        '### The sandbox',
        'In the process: `sandbox.fetch` of one client, one request after the other, and a receiver with an inbox in memory ' +
          'and a handler, on a clock that stands still. Over HTTP: the command `hookbox sandbox`, asked over ' +
          `${goalConnections} connections; and a sandbox on a file that delivers 16 at a time to a server of hookbox, which ` +
          'stores. Medians of the rounds, taking turns.',
        table(['A second', 'Rate', 'Range'], lines),
        table(['hookbox sandbox', 'ms'], start),
      ].join('\n\n'),
      goals: [
        atMost(
          'hookbox sandbox: from start to first answer',
          { wanted: 300, unit: 'ms' },
          undisturbed(bench, first.disturbed, first.value),
        ),
      ],
      disturbed: first.disturbed || [...rounds.values()].some(({ disturbed }) => disturbed),
      data: { rounds: [...rounds], first },
    };
  },
};

/** What a process of its own has measured. */
async function rateOf(bench: Bench, args: readonly string[]): Promise<number> {
  const measured = runProcess(IN_PROCESS, args);
  await bench.disturbance.watch([], measured);
  return Number(await measured);
}

/** Only what was answered well counts. */
async function overHttp({ generator, pools, options, disturbance }: Bench, name: RequestName): Promise<number> {
  await using command = await startSandbox();
  const pool = await pools.same(`sandbox-${name}`, rawRequest(requests[name], command.apiKey));
  const { port } = command;
  const load = (seconds: number) => startLoad(generator, { port, connections: goalConnections, seconds, pool });
  await (
    await load(options.warmUpSeconds)
  ).ended;
  const running = await load(options.seconds);
  await disturbance.watch([command.pid, running.pid], delay(options.seconds * 1_000 - 200));
  const { requests: answered, non2xx, seconds } = await running.ended;
  return (answered - non2xx) / seconds;
}

async function deliveredOverHttp(bench: Bench, count: number): Promise<number> {
  const file = join(bench.folder, 'sandbox.db');
  const inbox = join(bench.folder, 'sandbox-inbox.db');
  try {
    await using server = await startServer(stored, inbox);
    return await rateOf(bench, ['events-over-http', String(count), file, `http://127.0.0.1:${server.port}/webhooks`]);
  } finally {
    for (const suffix of ['', '-wal', '-shm']) {
      await Promise.all([file, inbox].map((each) => rm(each + suffix, { force: true })));
    }
  }
}
