import { measureCell, type Cell, type CellSettings } from './cell.ts';
import type { FilledFile } from './filled-file.ts';
import { durable } from './rows.ts';
import { mediansOf, type ThroughputCell } from './throughput.ts';

/** The durable row with an empty file and with one that already holds many processed events. */
export interface StoredEventsComparison {
  readonly stored: number;
  readonly fileBytes: number;
  readonly empty: ThroughputCell;
  readonly full: ThroughputCell;
}

/** The third table: empty and full take turns, so that a change of the machine's mood falls on both. */
export async function measureStoredEvents(
  filled: FilledFile,
  connections: number,
  pairs: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<StoredEventsComparison> {
  const fileBytes = await filled.bytes();
  const cells: { empty: Cell[]; full: Cell[] } = { empty: [], full: [] };
  const measure = async (kind: 'empty' | 'full', own: CellSettings): Promise<void> => {
    const cell = await measureCell(durable, connections, own);
    cells[kind].push(cell);
    progress(`${kind} file: ${Math.round(cell.requestsPerSecond)} requests/s`);
  };
  for (let pair = 0; pair < pairs; pair += 1) {
    await measure('empty', settings);
    await measure('full', { ...settings, prepareDatabase: (file) => filled.copyTo(file) });
  }
  return { stored: filled.events, fileBytes, empty: mediansOf(cells.empty), full: mediansOf(cells.full) };
}
