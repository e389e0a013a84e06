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
  const beside = shortened(others, lineWidth - least - GAP);
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
    const widths = mayShrink ? atWorst(left, lineWidth) : shortened(left, lineWidth);
    if (lengthOf(widths) <= lineWidth) break;
    left.splice(left.indexOf(column), 1);
  }
  const lastly = left.map((column) => column.lastly ?? column.atWorst ?? column.least);
  const widths = shrunk(atWorst(left, lineWidth), lastly, lineWidth);
  return columns.map((column) => widths[left.indexOf(column)] ?? 0);
}

function atWorst(columns: readonly Measured[], room: number): readonly number[] {
  const least = columns.map((column) => column.atWorst ?? column.least);
  return shrunk(shortened(columns, room), least, room);
}

/** The widths of columns that take so much of a line at most, where they can be shortened as far. */
function shortened(columns: readonly Measured[], room: number): readonly number[] {
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
