import type { Clock } from '../../../src/host/clock.ts';

/** Whose timers these are: those of a dead process never fire, those of a frozen one fire when it thaws. */
export interface TimerOwner {
  readonly dead: boolean;
  readonly frozen: boolean;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly owner: TimerOwner;
  readonly fire: () => void;
}

const START = Date.UTC(2030, 0, 1);

/**
 * The time of a simulated machine. Timers follow the time that has passed, as `setTimeout` does; the wall clock may be
 * set forwards and backwards beside it.
 */
export class VirtualClock {
  readonly #timers = new Set<Timer>();
  #passed = 0;
  #offset = START;
  #order = 0;

  now(): number {
    return this.#passed + this.#offset;
  }

  /** How much time has really passed, in milliseconds; nobody can set it. */
  get passed(): number {
    return this.#passed;
  }

  /** The clock as one process sees it. */
  of(owner: TimerOwner): Clock {
    return {
      now: () => this.now(),
      after: (ms, callback) => {
        const timer: Timer = {
          at: this.#passed + Math.max(ms, 1),
          order: (this.#order += 1),
          owner,
          fire: () => {
            this.#timers.delete(timer);
            callback();
          },
        };
        this.#timers.add(timer);
        return () => this.#timers.delete(timer);
      },
    };
  }

  /** Somebody sets the wall clock; no time passes. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  /** Time passes, one timer after another, with whatever happens in between. */
  async advance(ms: number, between: () => Promise<void>): Promise<void> {
    const until = this.#passed + ms;
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.#passed = Math.max(this.#passed, timer.at);
      timer.fire();
      await between();
    }
    this.#passed = until;
  }

  /** The machine sleeps: afterwards every timer that would have fired meanwhile fires once. */
  async suspend(ms: number, between: () => Promise<void>): Promise<void> {
    this.#passed += ms;
    const due = [...this.#timers].filter((timer) => timer.at <= this.#passed && runs(timer)).toSorted(inOrder);
    for (const timer of due) {
      if (!this.#timers.has(timer) || !runs(timer)) continue;
      timer.fire();
      await between();
    }
  }

  timersOf(owner: TimerOwner): number {
    return [...this.#timers].filter((timer) => timer.owner === owner).length;
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.owner.dead) this.#timers.delete(timer);
      else if (timer.at <= until && runs(timer) && (next === undefined || inOrder(timer, next) < 0)) next = timer;
    }
    return next;
  }
}

function runs({ owner }: Timer): boolean {
  return !owner.dead && !owner.frozen;
}

function inOrder(a: Timer, b: Timer): number {
  return a.at - b.at || a.order - b.order;
}
