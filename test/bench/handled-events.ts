import { measureCell, type Cell, type CellSettings } from './cell.ts';
import type { FilledFile } from './filled-file.ts';
import { durable, handled } from './rows.ts';
import { mediansOf, type ThroughputCell } from './throughput.ts';

/** Requests per second of the moderate load: far below what a server takes, so that nothing piles up. */
export const moderateRate = 500;

/** Storing alone, and storing while the same process handles what it stored. */
export interface HandledEventsComparison {
  readonly stored: number;
  readonly fileBytes: number;
  readonly storedOnly: ThroughputCell;
  readonly empty: ThroughputCell;
  readonly full: ThroughputCell;
  readonly moderate: ThroughputCell;
}

/** The fourth table: all take turns within a round, as the rows of the first do. */
export async function measureHandledEvents(
  filled: FilledFile,
  connections: number,
  rounds: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<HandledEventsComparison> {
  const fileBytes = await filled.bytes();
  const kinds = {
    storedOnly: () => measureCell(durable, connections, settings),
    empty: () => measureCell(handled, connections, settings),
    full: () =>
      measureCell(handled, connections, { ...settings, prepareDatabase: (file: string) => filled.copyTo(file) }),
    moderate: () => measureCell(handled, connections, { ...settings, requestsPerSecond: moderateRate }),
  };
  const cells: Record<keyof typeof kinds, Cell[]> = { storedOnly: [], empty: [], full: [], moderate: [] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const kind of ['storedOnly', 'empty', 'full', 'moderate'] as const) {
      const cell = await kinds[kind]();
      cells[kind].push(cell);
      progress(`round ${round}, handling, ${kind}: ${described(cell)}`);
    }
  }
  return {
    stored: filled.events,
    fileBytes,
    storedOnly: mediansOf(cells.storedOnly),
    empty: mediansOf(cells.empty),
    full: mediansOf(cells.full),
    moderate: mediansOf(cells.moderate),
  };
}

function described({ requestsPerSecond, handling }: Cell): string {
  const stored = `${Math.round(requestsPerSecond)} requests/s`;
  if (handling === null) return stored;
  const { handledPerSecond, handled, waitMs } = handling;
  const rest = handling.stored - handled;
  const missing = rest === 0 ? '' : `, ${rest} never handled`;
  return `${stored}, ${Math.round(handledPerSecond)} handled/s, wait p50 ${waitMs?.p50.toFixed(1) ?? '–'} ms${missing}`;
}
