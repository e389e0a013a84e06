/** A page shows times of the inbox's clock by its own clock, and the two are compared only to some milliseconds. */
const SAME_MS = 1_000;

/** Whether a time that an operator saw is still the stored one; `null` for none. */
export function isSameTime(stored: number | null, shown: number | null): boolean {
  return stored === null || shown === null ? stored === shown : Math.abs(stored - shown) <= SAME_MS;
}
