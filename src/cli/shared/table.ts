import { oneLine } from '../../printable.ts';
import type { WideOptions } from './options.ts';
import { print, printNdjson, styled, tell, type Style } from './output.ts';

export type Cell = string | { readonly text: string; readonly style: Style };

type Row = readonly Cell[];

/** A column may be shortened to `least`, then further. The last column may always be cut. */
type Column = string | ({ readonly title: string } & Partial<Floors> & { readonly goes?: number });

interface Floors {
  readonly least: number;
  /** if the last column moves to its own line, and `least` is not enough */
  readonly atWorst: number;
  readonly lastly: number;
}

const SHORTENED = 'evt_…wYb2'.length;
const MINUTES = '2026-01-01T03:12'.length;
const SECONDS = '2026-01-01T03:12:07'.length;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Their middle is shortened. */
export function texts(title: string): Column {
  return { title, least: SHORTENED };
}

/** Commands take these names, so they are shortened last. */
export function names(title: string): Column {
  return { title, lastly: SHORTENED };
}

/** Times lose their seconds. */
export function times(title: string): Column {
  return { title, least: MINUTES };
}

export function words(title: string): Column {
  return { title, atWorst: 'processing'.length };
}

/** A narrow terminal drops the column with the lowest rank first. */
export function dispensable(column: Column, rank: number): Column {
  return typeof column === 'string' ? { title: column, goes: rank } : { ...column, goes: rank };
}

const USUAL_COLUMNS = 80;

export function lineWidth({ wide = false }: WideOptions): number {
  return process.stdout.isTTY && !wide ? process.stdout.columns || USUAL_COLUMNS : Infinity;
}

export type Columns<Item> = readonly (readonly [column: Column, cell: (item: Item) => Cell])[];

export function printList<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  options: WideOptions & { readonly json?: boolean },
): void {
  if (options.json === true) for (const item of items) printNdjson(item);
  else if (items.length > 0) growingList(columns, options)(items);
}

export function growingList<Item>(columns: Columns<Item>, options: WideOptions): (items: readonly Item[]) => void {
  const head = columns.map(([column]) => column);
  const print = growingTable(head, lineWidth(options));
  return (items) => print(items.map((item) => columns.map(([, cell]) => cell(item))));
}

export function table(head: readonly Column[], rows: readonly Row[], lineWidth?: number): void {
  growingTable(head, lineWidth)(rows);
}

/**
 * Columns widen when a row needs it.
 *
 * @returns prints more rows
 */
export function growingTable(head: readonly Column[], lineWidth = Infinity): (rows: readonly Row[]) => void {
  const titles = head.map((column) => (typeof column === 'string' ? column : column.title));
  const widest = titles.map((title) => title.length);
  let isFirst = true;
  let hasNoted = false;

  const measured = (column: Column, at: number): Measured => {
    const width = widest[at] ?? 0;
    const { least = width, atWorst = least, lastly = atWorst, goes } = typeof column === 'string' ? {} : column;
    const noLess = (than: number): number => Math.min(Math.max(than, titles[at]?.length ?? 0), width);
    return { widest: width, least: noLess(least), atWorst: noLess(atWorst), lastly: noLess(lastly), goes };
  };

  return (rows) => {
    for (const row of rows) {
      for (const [at, cell] of row.entries()) widest[at] = Math.max(widest[at] ?? 0, textOf(cell).length);
    }
    const { widths, below } = fitted(head.map(measured), lineWidth);
    const beside = (cells: readonly string[]): string =>
      (below ? cells.slice(0, -1) : cells).filter((_, at) => (widths[at] ?? 0) > 0).join(' '.repeat(GAP));
    const lines = (row: Row): readonly string[] => {
      const cells = row.map((cell, at) => shown(cell, widths[at] ?? 0, at === row.length - 1));
      const isBeneath = below && !['', '-'].includes(textOf(row.at(-1) ?? ''));
      return [beside(cells), ...(isBeneath ? [' '.repeat(INDENT) + (cells.at(-1) ?? '')] : [])].map((line) =>
        line.trimEnd(),
      );
    };
    if (isFirst) print(lines(titles)[0] ?? '', beside(widths.map((width) => '-'.repeat(width))));
    isFirst = false;
    for (const row of rows) print(...lines(row));
    if (hasNoted || widths.every((width, at) => width >= (widest[at] ?? 0))) return;
    hasNoted = true;
    tell('Columns are shortened to fit this terminal. Add --wide to see everything.');
  };
}

/** Escapes widen a cell. */
function textOf(cell: Cell): string {
  return oneLine(typeof cell === 'string' ? cell : cell.text, Infinity);
}

function shown(cell: Cell, width: number, isLast: boolean): string {
  const text = textOf(cell);
  const cut = text.length > width ? shortened(text, width, isLast) : text;
  const blank = ' '.repeat(Math.max(width - cut.length, 0));
  return (typeof cell === 'string' ? cut : styled(cell.style, cut)) + blank;
}

/** Names of a kind begin alike and differ at the end. */
function shortened(text: string, width: number, isLast: boolean): string {
  if (isLast) return `${text.slice(0, width - 1)}…`;
  if (TIME.test(text)) return text.slice(0, width < SECONDS ? MINUTES : SECONDS);
  const end = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`;
}

interface Measured extends Floors {
  readonly widest: number;
  readonly goes: number | undefined;
}

const GAP = 2;
const INDENT = 4;
/** Otherwise, the last column moves to its own line. */
const LEAST_BESIDE = 32;
/** A narrower terminal wraps lines. */
const NARROWEST = 40;
const LEAST_WRAPPED = 16;

/**
 * Cuts the last column first, since it is the longest; then shortens the others, the widest first; then moves the last
 * one to its own line; then drops columns (width 0).
 */
function fitted(
  columns: readonly Measured[],
  lineWidth: number,
): { readonly widths: readonly number[]; readonly below: boolean } {
  const others = columns.slice(0, -1);
  const last = columns.at(-1)?.widest ?? 0;
  const isNarrow = lineWidth < NARROWEST;
  const least = Math.min(last, isNarrow ? LEAST_WRAPPED : LEAST_BESIDE);
  const beside = narrowed(others, lineWidth - least - GAP, ['least']);
  const left = lineWidth - lengthOf(beside) - GAP;
  if (left >= least || others.length === 0 || isNarrow) {
    return { widths: [...beside, Math.min(last, Math.max(left, least))], below: false };
  }
  return { widths: [...inNeed(others, lineWidth), lineWidth - INDENT], below: true };
}

function inNeed(columns: readonly Measured[], lineWidth: number): readonly number[] {
  const left = [...columns];
  const rank = ({ goes = Infinity }: Measured): number => goes;
  const going = columns.filter((column) => rank(column) < Infinity).sort((one, other) => rank(one) - rank(other));
  for (const [n, column] of going.entries()) {
    // The last of them goes only if shortened words are not enough.
    const floors: readonly (keyof Floors)[] = n === going.length - 1 ? ['least', 'atWorst'] : ['least'];
    if (lengthOf(narrowed(left, lineWidth, floors)) <= lineWidth) break;
    left.splice(left.indexOf(column), 1);
  }
  const widths = narrowed(left, lineWidth, ['least', 'atWorst', 'lastly']);
  return columns.map((column) => widths[left.indexOf(column)] ?? 0);
}

function narrowed(columns: readonly Measured[], room: number, floors: readonly (keyof Floors)[]): readonly number[] {
  const widths = columns.map(({ widest }) => widest);
  for (const floor of floors) {
    for (let excess = lengthOf(widths) - room; excess > 0; excess -= 1) {
      let most = -1;
      for (const [at, width] of widths.entries()) {
        if (width > (columns[at]?.[floor] ?? 0) && width > (widths[most] ?? 0)) most = at;
      }
      if (most === -1) break;
      widths[most] = (widths[most] ?? 0) - 1;
    }
  }
  return widths;
}

function lengthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(widths.length - 1, 0);
}
