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
