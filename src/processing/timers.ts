import { boundToHere } from '../host/own-context.ts';
import type { Clock } from '../host/clock.ts';

/** The timers of a processor or of inline mode, which end together when it closes. */
export class Timers {
  readonly #clock: Clock;
  readonly #cancels = new Set<() => void>();
  #areOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  later(ms: number, callback: () => void): () => void {
    if (this.#areOver) return () => {};
    // An application's clock calls back in the context of the code that moves it.
    const called = boundToHere(() => {
      this.#cancels.delete(cancel);
      callback();
    });
    const cancelTimer = this.#clock.after(ms, called);
    const cancel = (): void => {
      this.#cancels.delete(cancel);
      cancelTimer();
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  /** The next turn begins when this one has ended, so that a slow disk gets one request at a time. */
  every(ms: number, task: () => Promise<void>, onFailure: (failure: unknown) => void): void {
    this.later(ms, () => {
      task()
        .catch(onFailure)
        .finally(() => this.every(ms, task, onFailure));
    });
  }

  /** Never resolves once the timers have ended. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.later(ms, resolve));
  }

  /** A locked database must not keep the process from ending. */
  atMost(limitMs: number, work: Promise<unknown> | null): Promise<unknown> {
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(limitMs, resolve);
    return Promise.race([Promise.resolve(work).finally(cancel), limit]);
  }

  stop(): void {
    this.#areOver = true;
    for (const cancel of this.#cancels) cancel();
  }
}
