import type { Handled, ModelEvent } from './model-event.ts';

interface Sight {
  /** by the wall clock: the last word, and the latest */
  readonly last: number;
  readonly latest: number;
  /** by the time that has really passed */
  readonly passed: number;
}

/** When somebody was last seen who handles a type of an endpoint. */
export class Takers {
  readonly #seen = new Map<string, Sight>();

  announced({ endpoints, types }: Handled, now: number, passed: number): void {
    for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
      for (const type of types === '*' ? ['*'] : types) {
        const key = JSON.stringify([endpoint, type]);
        const before = this.#seen.get(key)?.latest ?? -Infinity;
        this.#seen.set(key, { last: now, latest: Math.max(before, now), passed });
      }
    }
  }

  /** So lately that every clock agrees; between what they say, an inbox may choose. */
  surely(event: ModelEvent, withinMs: number, now: number, passed: number): boolean {
    return this.#of(event).some(
      (seen) => Math.min(seen.last, seen.latest) > now - withinMs && seen.passed > passed - withinMs,
    );
  }

  /** So lately that one clock says so, or that one was wrong then. */
  possibly(event: ModelEvent, withinMs: number, now: number, passed: number): boolean {
    return this.#of(event).some((seen) => seen.latest > now - withinMs || seen.passed > passed - withinMs);
  }

  #of({ endpoint, type }: ModelEvent): Sight[] {
    return [endpoint, '*'].flatMap((of) =>
      [type ?? '', '*'].flatMap((taker) => this.#seen.get(JSON.stringify([of, taker])) ?? []),
    );
  }
}
