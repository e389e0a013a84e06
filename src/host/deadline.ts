import { clearTimeout, performance, setImmediate, setTimeout } from './real-timers.ts';
import type { HostLimits } from './host-limits.ts';

/** What waiting ends with when the time is up. */
export const LATE = Symbol('late');

/** The time by which a delivery must be answered. One timer serves all steps of the delivery. */
export interface Deadline {
  /** The time on the clock of `performance.now()`, in milliseconds. */
  readonly at: number;
  /** Resolves when the deadline passes. Once `met` has been called, this promise never resolves. */
  readonly passed: Promise<typeof LATE>;
  /** Stops the timer. Call this function when the delivery has been answered. */
  met(): void;
}

/** @param host - may allow less */
export function startDeadline(withinMs: number, host?: HostLimits | null): Deadline {
  const allowedMs = host?.remainingMs ?? Infinity;
  // A host that does not know says NaN.
  const ms = Math.max(0, Number.isNaN(allowedMs) ? withinMs : Math.min(withinMs, allowedMs));
  let timer: NodeJS.Timeout | undefined;
  let isMet = false;
  const passed = new Promise<typeof LATE>((resolve) => {
    // Timers come first after the event loop was blocked: what another thread has said meanwhile is heard before it is late.
    // Node and Bun hear of it before the next immediate, Deno before the next timer.
    const turn = (): void => {
      if (!isMet) timer = setTimeout(resolve, 0, LATE);
    };
    timer = setTimeout(() => setImmediate(turn), ms);
  });
  const met = (): void => {
    isMet = true;
    clearTimeout(timer);
  };
  return { at: performance.now() + ms, passed, met };
}

/**
 * Waits for a promise until the deadline. Something that was done in time, or has itself blocked the event loop past it,
 * is not late: its promise settles before that of the deadline.
 */
export function withinDeadline<T>(promise: Promise<T>, deadline: Deadline): Promise<T | typeof LATE> {
  return Promise.race([promise, deadline.passed]);
}
