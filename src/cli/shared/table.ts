import { oneLine } from '../../printable.ts';
import { print, styled, type Style } from './output.ts';

/** What stands in a row and a column; coloured, where it is to be noticed. */
export type Cell = string | { readonly text: string; readonly style: Style };

type Row = readonly Cell[];

/** Prints rows in columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly Row[]): void {
  growingTable(head)(rows);
}

/** A terminal that is narrower still wraps its lines. */
const LEAST_LAST = 16;

/**
 * Prints rows as they are found: the columns widen where a row needs it, and the head stands above the first ones.
 *
 * @param lineWidth - the last column is cut to end there
 * @returns prints more rows
 */
export function growingTable(head: readonly string[], lineWidth = Infinity): (rows: readonly Row[]) => void {
  const last = head.length - 1;
  const widths = head.map((title) => title.length);
  let isFirst = true;

  const line = (row: Row): string =>
    row
      .map((cell, column) => shown(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd();

  return (rows) => {
    for (const row of rows) {
      for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, textOf(cell).length);
    }
    const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
    widths[last] = Math.min(widths[last] ?? 0, Math.max(lineWidth - before, LEAST_LAST));
    if (isFirst) print(line(head), line(widths.map((width) => '-'.repeat(width))));
    isFirst = false;
    for (const row of rows) print(line(row));
  };
}

/** As it will be printed: what is escaped is wider. */
function textOf(cell: Cell): string {
  return oneLine(typeof cell === 'string' ? cell : cell.text, Infinity);
}

function shown(cell: Cell, width: number): string {
  const text = textOf(cell);
  const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  const blank = ' '.repeat(width - cut.length);
  return (typeof cell === 'string' ? cut : styled(cell.style, cut)) + blank;
}
