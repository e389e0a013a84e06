import type { HostLimits } from './host-limits.ts';

/** What waiting ends with when the time is up. */
export const LATE = Symbol('late');

/** By when a delivery has to be answered. One timer serves every step of its way. */
export interface Deadline {
  /** on the clock of `performance.now()` */
  readonly at: number;
  /** resolves when the time is up, and never once the deadline is met */
  readonly passed: Promise<typeof LATE>;
  /** The delivery is answered: nothing waits any more. */
  met(): void;
}

/** @param host - may allow less */
export function startDeadline(withinMs: number, host?: HostLimits | null): Deadline {
  const allowedMs = host?.remainingMs ?? Infinity;
  // A host that does not know says NaN.
  const ms = Math.max(0, Number.isNaN(allowedMs) ? withinMs : Math.min(withinMs, allowedMs));
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, ms, LATE);
  });
  return { at: performance.now() + ms, passed, met: () => clearTimeout(timer) };
}

/**
 * Waits for a promise until the deadline. Something that blocks the event loop past it and then succeeds is not late: its
 * promise settles before the timer can fire.
 */
export function withinDeadline<T>(promise: Promise<T>, deadline: Deadline): Promise<T | typeof LATE> {
  return Promise.race([promise, deadline.passed]);
}
