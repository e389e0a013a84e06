import type { Clock } from '../host/clock.ts';

/** A clock that only your test advances. */
export interface TestClock extends Clock {
  /**
   * Advances the clock by `ms` milliseconds. Runs the work that becomes due, one item after another, and waits for it
   * to finish. A processor looks for due events once a second on the clock, so a retry can run up to a second late.
   * `advance` waits for handlers for at most one second of real time. A handler that takes longer is still running when `advance` returns.
   */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** The clock with what `handledAll` needs of it. */
export class SteppingClock implements TestClock {
  readonly #timers = new Set<Timer>();
  readonly #rest: () => Promise<void>;
  #now: number;

  /** @param rest - resolves when all that a callback has set off is done */
  constructor(now: number, rest: () => Promise<void>) {
    this.#now = now;
    this.#rest = rest;
  }

  now(): number {
    return Math.floor(this.#now); // whole milliseconds, as Date.now() gives them
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    while (await this.step(until));
    this.#now = Math.max(this.#now, until);
    await this.#rest();
  }

  /** Whether anybody has asked to be called back. */
  get isWaitedFor(): boolean {
    return this.#timers.size > 0;
  }

  /** Leaves out the time until then: timers that are due before it call back late. */
  skipTo(time: number): void {
    this.#now = Math.max(this.#now, time);
  }

  /** Goes on to the next thing that happens by then; `false` when nothing does. */
  async step(until: number): Promise<boolean> {
    await this.#rest();
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
    if (next === undefined || next.at > until) return false;
    this.#timers.delete(next);
    this.#now = Math.max(this.#now, next.at);
    next.callback();
    return true;
  }
}
