import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { measureCell, type Cell, type CellSettings } from '../cell.ts';
import type { FilledFile } from '../filled-file.ts';
import { share2xx, table, whole } from '../markdown.ts';
import { median } from '../median.ts';
import { durable } from '../rows.ts';
import { mediansOf, type ThroughputCell } from '../throughput.ts';

/** Deliveries to a server whose file is being pruned by another process, and undisturbed. */
export interface PruningComparison {
  readonly stored: number;
  readonly requestsPerSecond: number;
  readonly undisturbed: ThroughputCell;
  readonly pruning: ThroughputCell;
  /** how many tombstones each prune made, and in how long */
  readonly prunes: readonly { readonly pruned: number; readonly seconds: number }[];
}

/** What a busy shop has, far below what the server can do: only then is latency about the server, not about the queue. */
const REQUESTS_PER_SECOND = 1_000;

/** The eighth table: with and without pruning, in turns. */
export async function measurePruning(
  filled: FilledFile,
  connections: number,
  rounds: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<PruningComparison> {
  const prunes: { pruned: number; seconds: number }[] = [];
  const cells: { undisturbed: Cell[]; pruning: Cell[] } = { undisturbed: [], pruning: [] };
  const paced = {
    ...settings,
    seconds: 6,
    requestsPerSecond: REQUESTS_PER_SECOND,
    prepareDatabase: (file: string) => filled.copyTo(file),
  };
  for (let round = 0; round < rounds; round += 1) {
    cells.undisturbed.push(await measureCell(durable, connections, paced));
    const beside = async (file: string): Promise<AsyncDisposable> => {
      const { ended } = await startPruning(file);
      return { [Symbol.asyncDispose]: async () => void prunes.push(await ended) };
    };
    cells.pruning.push(await measureCell(durable, connections, { ...paced, beside }));
    progress(`prune under load: p99 ${cells.undisturbed.at(-1)?.p99Ms} ms → ${cells.pruning.at(-1)?.p99Ms} ms`);
  }
  return {
    stored: filled.events,
    requestsPerSecond: REQUESTS_PER_SECOND,
    undisturbed: mediansOf(cells.undisturbed),
    pruning: mediansOf(cells.pruning),
    prunes,
  };
}

/** Resolves when the first events are tombstones. */
async function startPruning(file: string): Promise<{ ended: Promise<{ pruned: number; seconds: number }> }> {
  const script = fileURLToPath(new URL('pruning-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const ended = once(child, 'close').then(() =>
    z.object({ pruned: z.number(), seconds: z.number() }).parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')),
  );
  while (!output.includes('begun')) await once(child.stdout, 'data');
  return { ended };
}

/** How many times longer the slowest hundredth waits. */
export function pruningRatio({ undisturbed, pruning }: PruningComparison): number {
  return pruning.p99Ms / undisturbed.p99Ms;
}

export function pruningTable(comparison: PruningComparison): string {
  const { stored, requestsPerSecond, undisturbed, pruning, prunes } = comparison;
  const line = (title: string, cell: ThroughputCell): string[] => [
    title,
    whole(cell.requestsPerSecond),
    cell.p50Ms.toFixed(2),
    cell.p99Ms.toFixed(2),
    (cell.p99Ms / undisturbed.p99Ms).toFixed(2),
    share2xx(cell.share2xx),
  ];
  const pruned = median(prunes.map((prune) => prune.pruned));
  const seconds = median(prunes.map((prune) => prune.seconds));
  return (
    `### Pruning under load\n\n` +
    `A file of ${whole(stored)} processed events, ${whole(requestsPerSecond)} deliveries/s over ${undisturbed.connections} ` +
    `connections; meanwhile \`pruneEvents\` in another process makes tombstones of half of them ` +
    `(${whole(pruned)} in ${whole(seconds)} s).\n\n` +
    table(
      ['Deliveries', 'Requests/s', 'p50 ms', 'p99 ms', 'p99 of undisturbed', '2xx'],
      [line('undisturbed', undisturbed), line('while pruning', pruning)],
    )
  );
}
