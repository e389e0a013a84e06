import type { Instant } from './instant.ts';

/** Clocks are off by minutes and zones by hours; more is a wrong clock, or a time in other units. */
const FAR_AHEAD_MS = 24 * 60 * 60_000;

/**
 * Whether an event says that it was created so far ahead that its time says nothing about others: they would all be
 * superseded until then.
 *
 * @param now - milliseconds since 1970
 */
export function isFarAhead(created: Instant, now: number): boolean {
  return created.ms - now > FAR_AHEAD_MS;
}
