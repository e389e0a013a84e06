import type { Handler, Receiver, UnknownEvent, WebhookEvent } from 'hookbox';
import type { HandlingCounts, Spread } from '../../handling.ts';
import type { HandlingQuestion, LoopDelayQuestion } from '../../server-process.ts';
import { percentile } from '../../median.ts';

/** Counts in the server's own process what it stores and handles, and tells the parent process when asked. */
export class HandlingMonitor {
  readonly #answeredAt = new Map<string, number>();
  readonly #handledBeforeAnswer = new Set<string>();
  #waitsMs: number[] = [];
  #stored = 0;
  #handled = 0;
  #reruns = 0;
  #firstAt: number | undefined;
  #lastAt = 0;

  constructor() {
    process.on('message', (question: HandlingQuestion | LoopDelayQuestion) => {
      if (question === 'begin') this.#begin();
      if (question === 'begin' || question === 'count' || question === 'report') {
        process.send?.(this.#counts(question === 'report'));
      }
    });
  }

  /** The receiver, with a look at what it answers. */
  watch(receiver: Receiver): Pick<Receiver, 'receive'> {
    return {
      receive: async (delivery) => {
        this.#firstAt ??= performance.now();
        const outcome = await receiver.receive(delivery);
        if (outcome.kind === 'stored') this.#answered(outcome.id);
        return outcome;
      },
    };
  }

  /** A handler that does nothing but be counted. */
  readonly handler: Handler<WebhookEvent | UnknownEvent> = ({ id }, { attempt }) => {
    if (attempt > 1) {
      this.#reruns += 1;
      return;
    }
    this.#handled += 1;
    this.#lastAt = performance.now();
    const answeredAt = this.#answeredAt.get(id);
    if (answeredAt === undefined) this.#handledBeforeAnswer.add(id);
    else this.#answeredAt.delete(id);
    this.#waitsMs.push(answeredAt === undefined ? 0 : this.#lastAt - answeredAt);
  };

  #answered(id: string): void {
    this.#stored += 1;
    if (!this.#handledBeforeAnswer.delete(id)) this.#answeredAt.set(id, performance.now());
  }

  #begin(): void {
    this.#waitsMs = [];
    this.#stored = 0;
    this.#handled = 0;
    this.#reruns = 0;
    this.#firstAt = undefined;
    this.#lastAt = 0;
  }

  #counts(withWaits: boolean): HandlingCounts {
    const waits = this.#waitsMs;
    return {
      stored: this.#stored,
      handled: this.#handled,
      reruns: this.#reruns,
      seconds: this.#handled === 0 ? 0 : (this.#lastAt - (this.#firstAt ?? this.#lastAt)) / 1000,
      waitMs: withWaits && waits.length > 0 ? spreadOf((share) => percentile(waits, share)) : null,
    };
  }
}

function spreadOf(at: (share: number) => number): Spread {
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
