import { constants } from 'node:fs';
import { copyFile, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { measureCell, type Cell, type CellSettings } from './cell.ts';
import { durable } from './rows.ts';
import { runProcess } from './run-process.ts';
import { mediansOf, type ThroughputCell } from './throughput.ts';

/** The durable row with an empty file and with one that already holds many events. */
export interface StoredEventsComparison {
  readonly stored: number;
  readonly fileBytes: number;
  readonly empty: ThroughputCell;
  readonly full: ThroughputCell;
}

/** The third table: empty and full take turns, so that a change of the machine's mood falls on both. */
export async function measureStoredEvents(
  stored: number,
  connections: number,
  pairs: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<StoredEventsComparison> {
  const filled = join(settings.folder, 'filled.db');
  progress(`storing ${stored} events`);
  const report = await runProcess(new URL('fill.ts', import.meta.url), [filled, String(stored)]);
  z.object({ stored: z.literal(stored) }).parse(report);
  const { size } = await stat(filled);
  const cells: { empty: Cell[]; full: Cell[] } = { empty: [], full: [] };
  const measure = async (kind: 'empty' | 'full', own: CellSettings): Promise<void> => {
    const cell = await measureCell(durable, connections, own);
    cells[kind].push(cell);
    progress(`${kind} file: ${Math.round(cell.requestsPerSecond)} requests/s`);
  };
  for (let pair = 0; pair < pairs; pair += 1) {
    await measure('empty', settings);
    await measure('full', { ...settings, prepareDatabase: (file) => copyDatabase(filled, file) });
  }
  await Promise.all(['', '-wal', '-shm'].map((suffix) => rm(`${filled}${suffix}`, { force: true })));
  return { stored, fileBytes: size, empty: mediansOf(cells.empty), full: mediansOf(cells.full) };
}

async function copyDatabase(from: string, to: string): Promise<void> {
  for (const suffix of ['', '-wal']) {
    const copied = await copyFile(from + suffix, to + suffix, constants.COPYFILE_FICLONE).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // A write-ahead log is there only if the last process did not close its database.
        if (suffix === '-wal' && error.code === 'ENOENT') return false;
        throw error;
      },
    );
    if (!copied) continue;
    // On the disk now, or the kernel writes it back during a measurement and competes with the commits.
    await using handle = await open(to + suffix, 'r+');
    await handle.sync();
  }
}
