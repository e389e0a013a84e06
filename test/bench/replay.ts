import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { acceptingServer, replayAll } from '../cli/replay-peak.ts';
import { table, whole } from './markdown.ts';
import { runProcess } from './run-process.ts';

/** One replay of everything that a file holds, by the built command and with its progress bar. */
export interface ReplayCell {
  readonly stored: number;
  readonly seconds: number;
  readonly peakMiB: number;
}

const COUNTS = [10_000, 100_000];

export async function measureReplay(folder: string, progress: (line: string) => void): Promise<readonly ReplayCell[]> {
  const server = await acceptingServer();
  const cells: ReplayCell[] = [];
  for (const stored of COUNTS) {
    progress(`replaying ${stored} stored events`);
    const apart = join(folder, `replay-${stored}`);
    mkdirSync(apart);
    await runProcess(new URL('fill.ts', import.meta.url), [join(apart, 'hookbox.db'), String(stored)]);
    const startedAt = performance.now();
    const { code, stderr, peakKiB } = await replayAll(apart, server.url);
    const seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0 || !stderr.includes('\r'))
      throw new Error(`The replay of ${stored} events ended with ${code}: ${stderr}`);
    cells.push({ stored, seconds, peakMiB: peakKiB / 1024 });
  }
  await server.close();
  return cells;
}

export function replayTable(cells: readonly ReplayCell[]): string {
  const lines = cells.map(({ stored, seconds, peakMiB }) => [
    whole(stored),
    whole(stored / seconds),
    peakMiB.toFixed(0),
  ]);
  return (
    `### Replaying stored events\n\n` +
    `\`hookbox replay --all\` with its progress bar, 16 deliveries at a time, to a server that takes everything.\n\n` +
    table(['Stored events', 'Events/s', 'Peak memory MiB'], lines)
  );
}
