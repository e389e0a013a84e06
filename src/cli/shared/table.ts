import { oneLine } from '../../printable.ts';
import { fitted, GAP, INDENT, type Measured } from './fit-columns.ts';
import { print, styled, tell, type Style } from './output.ts';
import type { WideOptions } from './wide-option.ts';

/** What stands in a row and a column; coloured, where it is to be noticed. */
export type Cell = string | { readonly text: string; readonly style: Style };

type Row = readonly Cell[];

/** A column by its title; one that may be shortened says how far. The last one may always be cut. */
export type Column = string | ({ readonly title: string } & Partial<Omit<Measured, 'widest'>>);

const SHORTENED = 'evt_…wYb2'.length;

/** A column of names and other texts, of which the middle gives way. */
export function texts(title: string): Column {
  return { title, least: SHORTENED };
}

/** A column of names that commands take: they stay whole where anything else can give way. */
export function names(title: string): Column {
  return { title, lastly: SHORTENED };
}

/** A column of times, which give up their seconds. */
export function times(title: string): Column {
  return { title, least: MINUTES };
}

/** A column of words, which give way when nothing else does. */
export function words(title: string): Column {
  return { title, atWorst: 'processing'.length };
}

/** A column that is left out where there is no room, that with the lowest rank first. */
export function dispensable(column: Column, rank: number): Column {
  return typeof column === 'string' ? { title: column, goes: rank } : { ...column, goes: rank };
}

/** How long a time is that has them. */
const MINUTES = '2026-01-01T03:12'.length;
const SECONDS = '2026-01-01T03:12:07'.length;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const USUAL_COLUMNS = 80;

/** How wide a line may be; any width in a pipe. */
export function lineWidth({ wide = false }: WideOptions): number {
  return process.stdout.isTTY && !wide ? process.stdout.columns || USUAL_COLUMNS : Infinity;
}

/** Prints rows in columns as wide as their widest cell, or as a line allows. */
export function table(head: readonly Column[], rows: readonly Row[], lineWidth?: number): void {
  growingTable(head, lineWidth)(rows);
}

/**
 * Prints rows as they are found: the columns widen where a row needs it, and the head stands above the first ones.
 *
 * @param lineWidth - lines are made to fit, as `fitted` says
 * @returns prints more rows
 */
export function growingTable(head: readonly Column[], lineWidth = Infinity): (rows: readonly Row[]) => void {
  const titles = head.map((column) => (typeof column === 'string' ? column : column.title));
  const widest = titles.map((title) => title.length);
  let isFirst = true;
  let hasTold = false;

  const measured = (column: Column, at: number): Measured => {
    const width = widest[at] ?? 0;
    const { least = width, atWorst = least, lastly = atWorst, goes } = typeof column === 'string' ? {} : column;
    const noLess = (than: number): number => Math.min(Math.max(than, titles[at]?.length ?? 0), width);
    const measures = { widest: width, least: noLess(least), atWorst: noLess(atWorst), lastly: noLess(lastly) };
    return goes === undefined ? measures : { ...measures, goes };
  };

  return (rows) => {
    for (const row of rows) {
      for (const [at, cell] of row.entries()) widest[at] = Math.max(widest[at] ?? 0, textOf(cell).length);
    }
    const { widths, below } = fitted(head.map(measured), lineWidth);
    const isShown = (_: unknown, at: number): boolean => (widths[at] ?? 0) > 0;
    const lines = (row: Row): readonly string[] => {
      const cells = row.map((cell, at) => shown(cell, widths[at] ?? 0, at === row.length - 1));
      const beside = (below ? cells.slice(0, -1) : cells).filter(isShown);
      const last = row.at(-1) ?? '';
      const line = beside.join(' '.repeat(GAP)).trimEnd();
      const isBeneath = below && !['', '-'].includes(textOf(last));
      return isBeneath ? [line, ' '.repeat(INDENT) + (cells.at(-1) ?? '').trimEnd()] : [line];
    };
    if (isFirst) {
      const [line = ''] = lines(titles);
      const rule = (below ? widths.slice(0, -1) : widths).filter(isShown).map((width) => '-'.repeat(width));
      print(line, rule.join(' '.repeat(GAP)));
    }
    isFirst = false;
    for (const row of rows) print(...lines(row));
    if (hasTold || widths.every((width, at) => width >= (widest[at] ?? 0))) return;
    hasTold = true;
    tell('Columns are shortened to fit this terminal. Add --wide to see everything.');
  };
}

/** As it will be printed: what is escaped is wider. */
function textOf(cell: Cell): string {
  return oneLine(typeof cell === 'string' ? cell : cell.text, Infinity);
}

function shown(cell: Cell, width: number, isLast: boolean): string {
  const text = textOf(cell);
  const cut = text.length > width ? shortened(text, width, isLast) : text;
  const blank = ' '.repeat(Math.max(width - cut.length, 0));
  return (typeof cell === 'string' ? cut : styled(cell.style, cut)) + blank;
}

/** Names of a kind begin alike and differ at their ends. */
function shortened(text: string, width: number, isLast: boolean): string {
  if (isLast) return `${text.slice(0, width - 1)}…`;
  if (TIME.test(text)) return text.slice(0, width < SECONDS ? MINUTES : SECONDS);
  const end = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`;
}
