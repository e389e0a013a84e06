/** As many groups as are told apart. */
export const MOST_GROUPS = 200;
/** So many are counted to find the largest ones. */
export const COUNTED_GROUPS = 2_000;

/** A group of dead events, by what they are grouped by. */
export interface CountedGroup {
  readonly print: string;
  /** up to `MOST_COUNTED` (gauges.ts) */
  readonly count: number;
  /** the `seq` of its newest event */
  readonly last: number;
}

/** Those that are shown, the largest first; of equal ones the one that had an event last. */
export function largestOf<Group extends CountedGroup>(groups: readonly Group[]): readonly Group[] {
  return groups.toSorted((a, b) => b.count - a.count || b.last - a.last).slice(0, MOST_GROUPS);
}
