import { measureCell, type Cell, type CellSettings } from './cell.ts';
import { middleHandling } from './handling.ts';
import { median } from './median.ts';
import type { Row } from './rows.ts';

/** What was measured of a row at a number of connections, as medians over the rounds. */
export interface ThroughputCell extends Cell {
  /** Requests per second of each round. */
  readonly rates: readonly number[];
  /** Events handled per second in each round; none where the row handles nothing. */
  readonly handledRates: readonly number[];
}

/**
 * Every row at every number of connections, once a round. Rows take turns within a round, so that a machine that
 * grows slower for a while does so for all of them.
 */
export async function measureThroughput(
  rows: readonly Row[],
  connections: readonly number[],
  rounds: number,
  settings: CellSettings,
  progress: (line: string) => void,
): Promise<ThroughputCell[]> {
  const cells: Cell[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const count of connections) {
      for (const row of rows) {
        const cell = await measureCell(row, count, settings);
        cells.push(cell);
        progress(`round ${round}, ${count} connections, ${row.name}: ${Math.round(cell.requestsPerSecond)} requests/s`);
      }
    }
  }
  return connections.flatMap((count) =>
    rows.map((row) => mediansOf(cells.filter((cell) => cell.row === row.name && cell.connections === count))),
  );
}

/** One cell of several: medians of what varies, the worst of what must not. */
export function mediansOf(cells: readonly Cell[]): ThroughputCell {
  const [first] = cells;
  if (first === undefined) throw new Error('There is no middle of nothing.');
  const middle = (of: (cell: Cell) => number): number => median(cells.map(of));
  const middleOrNull = (of: (cell: Cell) => number | null): number | null => {
    const known = cells.map(of).filter((value) => value !== null);
    return known.length === 0 ? null : median(known);
  };
  return {
    row: first.row,
    connections: first.connections,
    rates: cells.map((cell) => cell.requestsPerSecond),
    handledRates: cells.flatMap(({ handling }) => handling?.handledPerSecond ?? []),
    requestsPerSecond: middle((cell) => cell.requestsPerSecond),
    p50Ms: middle((cell) => cell.p50Ms),
    p99Ms: middle((cell) => cell.p99Ms),
    share2xx: Math.min(...cells.map((cell) => cell.share2xx)),
    socketErrors: cells.reduce((sum, cell) => sum + cell.socketErrors, 0),
    serverCpu: middleOrNull((cell) => cell.serverCpu),
    generatorCpu: middleOrNull((cell) => cell.generatorCpu),
    othersCpu: middleOrNull((cell) => cell.othersCpu),
    handling: middleHandling(cells.flatMap(({ handling }) => handling ?? [])),
    void: cells.some((cell) => cell.void),
    // The median is a quiet round's as long as most rounds were quiet.
    disturbed: cells.filter((cell) => cell.disturbed).length * 2 > cells.length,
  };
}

/** How many times faster than `other`: the median of the rounds, each compared with its own, since machines drift. */
export function ratioOf(cell: ThroughputCell, other: ThroughputCell): number {
  return ratioOfRates(cell.rates, other.rates);
}

/** The median of the rounds, each compared with its own. */
export function ratioOfRates(rates: readonly number[], others: readonly number[]): number {
  return median(rates.map((rate, round) => rate / (others[round] ?? median(others))));
}

/** Whether the numbers may be judged: nothing failed, all was handled once, and the generator was not the limit. */
export function isSound(cell: ThroughputCell): boolean {
  const { handling } = cell;
  const handledOnce = handling === null || (handling.handled === handling.stored && handling.reruns === 0);
  return !cell.void && cell.share2xx === 1 && cell.socketErrors === 0 && handledOnce;
}
