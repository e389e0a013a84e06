import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { measureCell, type Cell, type CellSettings } from '../cell.ts';
import type { FilledFile } from '../filled-file.ts';
import { SHARE_2XX, share2xx, table, whole } from '../markdown.ts';
import { durable } from '../rows.ts';
import { mediansOf, type ThroughputCell } from '../throughput.ts';

/** Deliveries to a server whose file is being pruned by another process, and undisturbed. */
export interface PruningComparison {
  readonly stored: number;
  readonly loads: readonly PrunedLoad[];
  /** how many tombstones the prune made that ran to its end, and in how long */
  readonly prune: Pruned;
}

interface PrunedLoad {
  /** `null` for as many as the server answers */
  readonly requestsPerSecond: number | null;
  readonly undisturbed: ThroughputCell;
  readonly pruning: ThroughputCell;
}

interface Pruned {
  readonly pruned: number;
  readonly seconds: number;
}

/** All that it can take, as in the other tables, and what a busy shop sends. */
const LOADS = [null, 1_000];
const SECONDS = 6;

/** The eighth table: with and without pruning, in turns. */
export async function measurePruning(
  filled: FilledFile,
  connections: number,
  rounds: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<PruningComparison> {
  let prune: Pruned | undefined;
  /** Lets the first one run to its end, after the load too; the others are stopped with it. */
  const beside = async (file: string): Promise<AsyncDisposable> => {
    const pruning = await startPruning(file);
    return {
      async [Symbol.asyncDispose]() {
        if (prune === undefined) prune = await pruning.ended();
        else await pruning.kill();
      },
    };
  };
  const loads: PrunedLoad[] = [];
  for (const requestsPerSecond of LOADS) {
    const cells: { undisturbed: Cell[]; pruning: Cell[] } = { undisturbed: [], pruning: [] };
    const own = {
      ...settings,
      ...(requestsPerSecond !== null && { requestsPerSecond }),
      seconds: SECONDS,
      prepareDatabase: (file: string) => filled.copyTo(file),
    };
    for (let round = 0; round < rounds; round += 1) {
      cells.undisturbed.push(await measureCell(durable, connections, own));
      cells.pruning.push(await measureCell(durable, connections, { ...own, beside }));
      progress(`prune under load: p99 ${cells.undisturbed.at(-1)?.p99Ms} ms, ${cells.pruning.at(-1)?.p99Ms} ms`);
    }
    loads.push({ requestsPerSecond, undisturbed: mediansOf(cells.undisturbed), pruning: mediansOf(cells.pruning) });
  }
  if (prune === undefined) throw new Error('Nothing was pruned.');
  return { stored: filled.events, loads, prune };
}

/** Resolves when the first events are tombstones. */
async function startPruning(file: string): Promise<{ ended(): Promise<Pruned>; kill(): Promise<unknown> }> {
  const script = fileURLToPath(new URL('pruning-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  return {
    async ended() {
      await closed;
      const last = output.trimEnd().split('\n').at(-1) ?? '';
      return z.object({ pruned: z.number(), seconds: z.number() }).parse(JSON.parse(last));
    },
    kill() {
      child.kill('SIGKILL');
      return closed;
    },
  };
}

/** How many times longer the slowest hundredth waits, at full load. */
export function pruningRatio({ loads }: PruningComparison): number | null {
  const full = loads.find(({ requestsPerSecond }) => requestsPerSecond === null);
  return full === undefined ? null : full.pruning.p99Ms / full.undisturbed.p99Ms;
}

export function pruningTable({ stored, loads, prune }: PruningComparison): string {
  const line = (title: string, cell: ThroughputCell, undisturbed: ThroughputCell): string[] => [
    title,
    whole(cell.requestsPerSecond),
    cell.p50Ms.toFixed(2),
    cell.p99Ms.toFixed(2),
    (cell.p99Ms / undisturbed.p99Ms).toFixed(2),
    share2xx(cell.share2xx),
  ];
  const lines = loads.flatMap(({ requestsPerSecond, undisturbed, pruning }) => {
    const load = requestsPerSecond === null ? 'full load' : `${whole(requestsPerSecond)}/s`;
    return [line(`${load}, undisturbed`, undisturbed, undisturbed), line(`${load}, pruning`, pruning, undisturbed)];
  });
  return (
    `### Pruning under load\n\n` +
    `A file of ${whole(stored)} processed events, 64 connections; \`pruneEvents\` in another process makes tombstones of ` +
    `half of them. One prune ran to its end, most of it after the load: ${whole(prune.pruned)} events in ` +
    `${whole(prune.seconds)} s.\n\n` +
    table(['Deliveries', 'Requests/s', 'p50 ms', 'p99 ms', 'p99 of undisturbed', SHARE_2XX], lines)
  );
}
