/** So many bytes of bodies one transaction rewrites at most, and one event more: deliveries share its commit. */
const MOST_BYTES = 1024 * 1024;

/** Bounds how much of what waits one transaction rewrites. */
export class Budget {
  #left = MOST_BYTES;

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** @param bytes - the length of the body of an event that changes */
  spend(bytes: number): void {
    this.#left -= bytes;
  }
}

/** The first of some events whose bodies fit into the budget. */
export function firstWithin<T extends { readonly bytes: number }>(events: readonly T[], budget: Budget): readonly T[] {
  const end = events.findIndex(({ bytes }) => {
    if (budget.isSpent) return true;
    budget.spend(bytes);
    return false;
  });
  return end === -1 ? events : events.slice(0, end);
}
