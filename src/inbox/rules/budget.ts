/** One transaction rewrites this many bytes of bodies, and one event more, because deliveries share its commit. */
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
  /** Adds a row with the length of its body. `true`: the caller must write its rows, and ask `isOver`. */
  add(bytes: number): boolean;
  isOver(): boolean;
}
