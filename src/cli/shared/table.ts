import { oneLine } from '../../printable.ts';
import type { WideOptions } from './options.ts';
import { print, styled, tell, type Style } from './output.ts';

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

/** A column as it is: how wide its widest cell is, and how far its cells may be shortened. */
export interface Measured {
  readonly widest: number;
  readonly least: number;
  /** further than `least`: where the last column stands beneath the others, and that is not enough */
  readonly atWorst?: number;
  /** then it is left out, that with the lowest number first */
  readonly goes?: number;
  /** further than `atWorst`: where even that is not enough */
  readonly lastly?: number;
}

/** How wide columns may be so that a line fits. */
export interface Fit {
  /** 0 for one that is left out */
  readonly widths: readonly number[];
  /** the last one stands on a line of its own beneath the others */
  readonly below: boolean;
}

/** Between two columns. */
export const GAP = 2;
/** Before what stands beneath the others. */
export const INDENT = 4;
/** What is left of the last column beside the others, or it stands beneath them. */
const LEAST_BESIDE = 32;
/** A terminal that is narrower wraps its lines: nothing stands beneath others. */
const NARROWEST = 40;
const LEAST_WRAPPED = 16;

/**
 * Fits columns into a line: the last one is cut first, since it holds what is longest; then the others are shortened, the widest
 * first; where that is not enough, the last one goes beneath them, and then some are left out.
 */
export function fitted(columns: readonly Measured[], lineWidth: number): Fit {
  const others = columns.slice(0, -1);
  const last = columns.at(-1)?.widest ?? 0;
  const isNarrow = lineWidth < NARROWEST;
  const least = Math.min(last, isNarrow ? LEAST_WRAPPED : LEAST_BESIDE);
  const beside = narrowed(others, lineWidth - least - GAP);
  const left = lineWidth - lengthOf(beside) - GAP;
  if (left >= least || others.length === 0 || isNarrow) {
    return { widths: [...beside, Math.min(last, Math.max(left, least))], below: false };
  }
  return { widths: [...inNeed(others, lineWidth), lineWidth - INDENT], below: true };
}

/** The widths of columns where there is no room for each of them, shortened. */
function inNeed(columns: readonly Measured[], lineWidth: number): readonly number[] {
  const left = [...columns];
  const goes = ({ goes: rank = Infinity }: Measured): number => rank;
  const going = columns.filter((column) => goes(column) < Infinity).sort((one, other) => goes(one) - goes(other));
  for (const [n, column] of going.entries()) {
    // The last of them goes only where words that give way are not enough.
    const mayShrink = n === going.length - 1;
    const widths = mayShrink ? atWorst(left, lineWidth) : narrowed(left, lineWidth);
    if (lengthOf(widths) <= lineWidth) break;
    left.splice(left.indexOf(column), 1);
  }
  const lastly = left.map((column) => column.lastly ?? column.atWorst ?? column.least);
  const widths = shrunk(atWorst(left, lineWidth), lastly, lineWidth);
  return columns.map((column) => widths[left.indexOf(column)] ?? 0);
}

function atWorst(columns: readonly Measured[], room: number): readonly number[] {
  const least = columns.map((column) => column.atWorst ?? column.least);
  return shrunk(narrowed(columns, room), least, room);
}

/** The widths of columns that take so much of a line at most, where they can be shortened as far. */
function narrowed(columns: readonly Measured[], room: number): readonly number[] {
  return shrunk(
    columns.map(({ widest }) => widest),
    columns.map(({ least }) => least),
    room,
  );
}

/** Takes from the widest, one character after the other, down to what each keeps at least. */
function shrunk(widest: readonly number[], least: readonly number[], room: number): readonly number[] {
  const widths = [...widest];
  for (let excess = lengthOf(widths) - room; excess > 0; excess -= 1) {
    let most = -1;
    for (const [at, width] of widths.entries()) {
      if (width > (least[at] ?? 0) && width > (widths[most] ?? 0)) most = at;
    }
    if (most === -1) break;
    widths[most] = (widths[most] ?? 0) - 1;
  }
  return widths;
}

function lengthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * Math.max(widths.length - 1, 0);
}
