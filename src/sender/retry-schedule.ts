const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long after each failed try the service sends again (interface 6.4); "immediately" is the first of them. */
const RETRY_AFTER_MS = [0, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS] as const;

/** How often the service sends before it gives up: once, and once for each retry. */
export const MAX_ATTEMPTS = RETRY_AFTER_MS.length + 1;

/** How long the service waits after a failed try, counted from 1; `null` after the last. */
export function retryAfter(attempt: number): number | null {
  return RETRY_AFTER_MS[attempt - 1] ?? null;
}
