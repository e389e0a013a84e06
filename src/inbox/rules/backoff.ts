/** The schedule of attempts. */
export interface RetryOptions {
  /**
   * How many attempts an event gets before it becomes dead.
   *
   * @defaultValue 20
   */
  readonly attempts?: number;
  /**
   * The longest wait before the second attempt, in milliseconds. This limit doubles with each failure.
   *
   * @defaultValue 1,000
   */
  readonly baseMs?: number;
  /**
   * The longest wait before any attempt, in milliseconds.
   *
   * @defaultValue 3,600,000 (one hour)
   */
  readonly maxMs?: number;
}

/** Twenty attempts: at most 1 s, 2 s, 4 s … 34 min, then 1 h between them; eight hours in all at most, and four on average. */
export const DEFAULT_RETRY: Required<RetryOptions> = { attempts: 20, baseMs: 1_000, maxMs: 3_600_000 };

/**
 * Exponential backoff with full jitter: anything from 0 to the longest wait, so that events that failed together do not
 * come back together.
 *
 * @param failures - how often the event has failed, this time included
 * @returns milliseconds
 */
export function backoffMs(
  failures: number,
  { baseMs, maxMs }: Required<RetryOptions>,
  random: () => number = Math.random,
): number {
  // 2 ** 1024 is Infinity, and nothing times that is no number.
  return Math.round(random() * Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 100)));
}
