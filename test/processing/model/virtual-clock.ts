import type { Clock } from '../../../src/host/clock.ts';

/** Timers of a dead process never fire; those of a frozen one fire when it thaws. */
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

/** Timers follow the passed time; the wall clock can be set. */
export class VirtualClock {
  readonly #timers = new Set<Timer>();
  #passed = 0;
  #offset = START;
  #order = 0;

  now(): number {
    return this.#passed + this.#offset;
  }

  get passed(): number {
    return this.#passed;
  }

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

  jump(ms: number): void {
    this.#offset += ms;
  }

  async advance(ms: number, between: () => Promise<void>): Promise<void> {
    const until = this.#passed + ms;
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.#passed = Math.max(this.#passed, timer.at);
      timer.fire();
      await between();
    }
    this.#passed = until;
  }

  /** After the sleep, each timer that would have fired fires once. */
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
