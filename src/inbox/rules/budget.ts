/** One transaction rewrites this many bytes of bodies, and one event more: deliveries share its commit. */
const MOST_BYTES = 1024 * 1024;

export class Budget {
  #left: number;

  constructor(bytes = MOST_BYTES) {
    this.#left = bytes;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }
}

/** At least one event, even if it alone is too large. */
export function withinBudget<E extends { readonly bytes: number }>(
  events: readonly E[],
  budget = new Budget(),
): readonly E[] {
  const after = events.findIndex(({ bytes }) => {
    if (budget.isSpent) return true;
    budget.spend(bytes);
    return false;
  });
  return after === -1 ? events : events.slice(0, after);
}

export interface TimeSlice {
  /** Counts a row with the length of its body; `true` when the caller must write what it has, and ask `isOver`. */
  add(bytes: number): boolean;
  isOver(): boolean;
}
