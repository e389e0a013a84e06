export const HOUR_MS = 60 * 60_000;
const KEPT_MS = 400 * 24 * HOUR_MS;
/** Rows moved in one transaction, which takes a few milliseconds. */
export const MOVED_AT_ONCE = 1_000;

/** A way that rows of counts go. Nothing depends on when, or how often, or on clocks: what comes late follows later. */
export type CountMove =
  /** Only here does anything get into the sum of all, so that it holds what has left the counts, each of them once. */
  'take in' | 'make hours' | 'forget';

/** @param moveSome - moves some of the rows of before; as many as are moved at once, unless there are no more */
export async function coarsenInSteps(
  before: number,
  moveSome: (move: CountMove, before: number) => Promise<number>,
): Promise<void> {
  const wholeHours = Math.floor(before / HOUR_MS) * HOUR_MS;
  const moves: readonly (readonly [CountMove, before: number])[] = [
    ['take in', Number.MAX_SAFE_INTEGER],
    ['make hours', wholeHours],
    ['forget', wholeHours - KEPT_MS],
  ];
  for (const [move, until] of moves) {
    let moved = MOVED_AT_ONCE;
    while (moved >= MOVED_AT_ONCE) moved = await moveSome(move, until);
  }
}
