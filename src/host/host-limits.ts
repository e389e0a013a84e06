import { clearTimeout, performance, setImmediate, setTimeout } from './real-timers.ts';

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

export function startDeadline(withinMs: number, host?: HostLimits | null): Deadline {
  const allowedMs = host?.remainingMs ?? Infinity;
  // Some hosts return NaN.
  const ms = Math.max(0, Number.isNaN(allowedMs) ? withinMs : Math.min(withinMs, allowedMs));
  let timer: NodeJS.Timeout | undefined;
  let isMet = false;
  const passed = new Promise<typeof LATE>((resolve) => {
    // After a blocked event loop, timers run first, so the response of a thread must be received before the deadline counts.
    // Node and Bun receive it before the next immediate, Deno before the next timer.
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

/** A promise that was done in time settles before the deadline, even if the event loop was blocked. */
export function withinDeadline<T>(promise: Promise<T>, deadline: Deadline): Promise<T | typeof LATE> {
  return Promise.race([promise, deadline.passed]);
}

/** The limits of a host that runs code only while it answers requests. */
export interface HostLimits {
  /** How long this request may still take, in milliseconds, if that is less than `deadlineMs`. */
  readonly remainingMs?: number;
  /** `true` if no code runs between requests. Handlers then run inline, unless `processing.mode` is set. */
  readonly frozenBetweenRequests?: boolean;
  /** Asks the host to keep running until a promise settles, even after the response is sent. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** A host may throw. That must not fail the delivery. */
export function askToWait(waitUntil: HostLimits['waitUntil'], work: Promise<unknown>): void {
  try {
    waitUntil?.(work);
  } catch {
    // The host may cut the work off, as without `waitUntil`.
  }
}
