import type { ThroughputCell } from './throughput.ts';

/** The column with the share of 2xx answers. */
export const SHARE_2XX = '2xx %';

/**
 * Columns padded to one width, numbers to the right: readable in a terminal as it is. Where all answers were 2xx, there is
 * no column for it.
 */
export function table(allHeads: readonly string[], allLines: readonly (readonly string[])[]): string {
  const shares = allHeads.indexOf(SHARE_2XX);
  const isTelling = (_: string, column: number): boolean =>
    column !== shares || allLines.some((line) => line[column] !== '100');
  const heads = allHeads.filter(isTelling);
  const lines = allLines.map((line) => line.filter(isTelling));
  const widths = heads.map((head, column) => Math.max(head.length, ...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column === 0 ? text.padEnd(width) : text.padStart(width);
  };
  const join = (line: readonly string[]): string => `| ${line.map(pad).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [join(heads), `| ${rule.join(' | ')} |`, ...lines.map(join)].join('\n');
}

/** Requests per second, with what they may not be trusted for. */
export function rate(cell: ThroughputCell): string {
  const caveat = cell.void ? ' (void)' : cell.disturbed ? ' (disturbed)' : '';
  return `${whole(cell.requestsPerSecond)}${caveat}`;
}

/** The slowest and the fastest round: how far the median may be trusted. */
export function range(rates: readonly number[]): string {
  return rates.length < 2 ? '–' : `${whole(Math.min(...rates))}–${whole(Math.max(...rates))}`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

export function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)}`;
}

/** Never rounded up to 100. */
export function share2xx(share: number): string {
  return share === 1 ? '100' : (Math.floor(share * 10_000) / 100).toFixed(2);
}
