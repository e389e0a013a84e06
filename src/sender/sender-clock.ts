import { delay, performance, setImmediate } from '../host/real-timers.ts';
import { assertOption, positive, MAX_TIMER_MS } from '../option-rules.ts';

export interface SenderClock {
  /** milliseconds since 1970 */
  now(): number;
  until(at: number, signal?: AbortSignal): Promise<void>;
  /** A virtual clock does not move during this work. */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

interface RealClockOptions {
  readonly scale?: number;
  readonly startAt?: Date | number;
}

/** With a scale of 3600, an hour takes a second. */
export function realClock({ scale = 1, startAt = Date.now() }: RealClockOptions = {}): SenderClock {
  assertOption('scale', scale, positive());
  const startedAt = performance.now();
  const now = (): number => Number(startAt) + (performance.now() - startedAt) * scale;
  return {
    now,
    async until(at, signal) {
      // A timer may fire a moment early, and none lasts longer than 24 days.
      for (let wait = at - now(); wait > 0; wait = at - now()) {
        if (signal?.aborted === true) return;
        const ms = Math.min(Math.ceil(wait / scale), MAX_TIMER_MS);
        await delay(ms, undefined, signal && { signal }).catch(() => {});
      }
    },
    hold: (work) => work(),
  };
}

interface Waiter {
  readonly at: number;
  readonly wake: () => void;
}

/** Jumps to the next due time when all work is done. */
export function virtualClock(
  startAt: Date | number = Date.now(),
  beforeJump: () => Promise<void> = async () => {},
): SenderClock {
  /** ordered by time, then by arrival */
  const waiters: Waiter[] = [];
  let now = Number(startAt);
  let working = 0;
  let jumping = false;

  /** The last work may start new work, or wait for an earlier time. */
  async function jump(): Promise<void> {
    await nextTurn();
    if (working > 0 || waiters.length === 0) return;
    await hold(beforeJump);
    await nextTurn();
    const [next] = waiters;
    if (working > 0 || next === undefined) return;
    now = next.at;
    while (waiters[0]?.at === now) waiters.shift()?.wake();
  }

  function considerJump(): void {
    if (jumping || working > 0 || waiters.length === 0) return;
    jumping = true;
    void jump().finally(() => {
      jumping = false;
      considerJump();
    });
  }

  async function hold<T>(work: () => Promise<T>): Promise<T> {
    working += 1;
    try {
      return await work();
    } finally {
      working -= 1;
      considerJump();
    }
  }

  return {
    now: () => now,
    until(at, signal) {
      if (at <= now || signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const waiter: Waiter = {
          at,
          wake() {
            signal?.removeEventListener('abort', giveUp);
            resolve();
          },
        };
        const giveUp = (): void => {
          waiters.splice(waiters.indexOf(waiter), 1);
          resolve();
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        waiters.splice(placeOf(at, waiters), 0, waiter);
        considerJump();
      });
    },
    hold,
  };
}

function placeOf(at: number, waiters: readonly Waiter[]): number {
  let low = 0;
  let high = waiters.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((waiters[middle]?.at ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
