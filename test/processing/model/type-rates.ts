import type { ModelEvent, Worker } from './model-event.ts';
import { must } from './violation.ts';

/** A call may wait in the database, whose clock goes on. */
const WAITED_MS = 1_000;

interface Moment {
  readonly now: number;
  readonly passed: number;
}

/** When attempts of a type began whose rate is kept, by their endpoints. */
export class TypeRates {
  readonly #starts = new Map<string, number[]>();
  /** since the clock was set back: until when attempts from before it may count */
  #unsure: Map<string, number> | null = null;

  begun(event: ModelEvent, by: Worker, now: number): void {
    const { rate } = by;
    if (rate === undefined) return;
    const starts = this.#startsOf(event, by);
    starts.push(now);
    const recent = starts.filter((at) => at > now - rate.perMs + WAITED_MS);
    const say = () => `${event.name} began as no. ${recent.length} of ${rate.count} in ${rate.perMs} ms`;
    must(recent.length <= rate.count, 'a type keeps its rate', say);
  }

  /** Attempts from before may count for two spans, from when a claim first looks at them. */
  setBack(): void {
    this.#starts.clear();
    this.#unsure = new Map();
  }

  mayWait(event: ModelEvent, by: Worker, { now, passed }: Moment): boolean {
    const { rate } = by;
    if (rate === undefined) return false;
    const lane = laneOf(event, by);
    if (this.#unsure !== null) {
      const until = this.#unsure.get(lane) ?? passed + 2 * rate.perMs + WAITED_MS;
      this.#unsure.set(lane, until);
      if (passed <= until) return true;
    }
    return this.#startsOf(event, by).filter((at) => at > now - rate.perMs - WAITED_MS).length >= rate.count;
  }

  #startsOf(event: ModelEvent, by: Worker): number[] {
    const lane = laneOf(event, by);
    const starts = this.#starts.get(lane) ?? [];
    this.#starts.set(lane, starts);
    return starts;
  }
}

function laneOf({ endpoint, type }: ModelEvent, { types }: Worker): string {
  return JSON.stringify([endpoint, types === '*' ? '*' : type]);
}
