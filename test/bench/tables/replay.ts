import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { acceptingServer, replayAll } from '../../cli/replay-peak.ts';
import { table, whole } from '../markdown.ts';
import { cells } from '../marks.ts';
import { runProcess } from '../run-process.ts';
import type { Table } from '../table.ts';

/** One replay of everything that a file holds, by the built command and with its progress bar. */
interface Replay {
  readonly seconds: number;
  readonly peakMiB: number;
}

const COUNTS = [10_000, 100_000];

export const replay: Table = {
  name: 'replay',
  async measure(bench) {
    const measured = [];
    for (const stored of COUNTS) {
      const folder = join(bench.folder, `replay-${stored}`);
      mkdirSync(folder);
      bench.progress(`replaying ${stored} stored events`);
      const filling = new URL('../filled-file/fill.ts', import.meta.url);
      await runProcess(filling, [join(folder, 'hookbox.db'), String(stored)]);
      measured.push({ stored, ...(await bench.disturbance.alone(() => measure(folder, stored))) });
      rmSync(folder, { recursive: true });
    }
    const lines = measured.map(({ stored, disturbed, value: { seconds, peakMiB } }) => [
      whole(stored),
      ...cells(bench, { disturbed, fault: null }, [whole(stored / seconds), peakMiB.toFixed(0)]),
    ]);
    return {
      text: [
        '### Replaying stored events',
        '`hookbox replay --all` with its progress bar, 16 deliveries at a time, to a server that takes everything.',
        table(['Stored events', 'Events/s', 'Peak memory MiB'], lines),
      ].join('\n\n'),
      goals: [],
      disturbed: measured.some(({ disturbed }) => disturbed),
      data: measured,
    };
  },
};

async function measure(folder: string, stored: number): Promise<Replay> {
  const server = await acceptingServer();
  try {
    const startedAt = performance.now();
    const { code, stderr, peakKiB } = await replayAll(folder, server.url);
    const seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0 || !stderr.includes('\r')) {
      throw new Error(`The replay of ${stored} events ended with ${code}: ${stderr}`);
    }
    return { seconds, peakMiB: peakKiB / 1024 };
  } finally {
    await server.close();
  }
}
