/** Every name of hookbox is shorter than this, and a typed text may be anything. */
const MOST_CHARACTERS = 100;

/** `Did you mean order.created?`; `null` if no name is similar. */
export function didYouMean(typed: string, names: readonly string[]): string | null {
  const near = typed.length > MOST_CHARACTERS ? [] : nearest(typed, names);
  return near.length === 0 ? null : `Did you mean ${near.join(' or ')}?`;
}

/** The names most similar to a mistyped one; none if no name is similar. */
export function nearest(typed: string, names: readonly string[]): readonly string[] {
  const distances = names.map((name) => distance(typed.toLowerCase(), name));
  const least = Math.min(...distances);
  if (least > Math.max(typed.length * 0.4, 1)) return names.filter((name) => typed !== '' && name.includes(typed));
  return names.filter((_, index) => distances[index] === least);
}

/** How many letters must be inserted, deleted, replaced or swapped. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
