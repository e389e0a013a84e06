import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/host/clock.ts';
import { noCallsUnderWay } from './calls-under-way.ts';

/** 2026-01-01T00:00:00Z, when these tests begin. */
export const START = 1_767_225_600_000;

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it. */
export class VirtualClock implements Clock {
  #now = START;
  readonly #timers = new Set<Timer>();

  now(): number {
    // Like Date.now(), in whole milliseconds.
    return Math.floor(this.#now);
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** How many callbacks are still to come. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Lets time pass; what falls due on the way happens at its own time, and all that follows from it is done before the next. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await rest();
      const [next] = [...this.#timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = until;
    await rest();
  }

  /** Moves the clock without calling anybody: what a blocked event loop looks like from inside. */
  block(ms: number): void {
    this.#now += ms;
  }
}

/** Enough turns of the event loop for a handler to end, its end to be committed, and the next one to be claimed and begun. */
export async function rest(turns = 8): Promise<void> {
  for (let n = 0; n < turns; n += 1) {
    await turn();
    await noCallsUnderWay();
  }
}
