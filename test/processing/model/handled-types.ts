import type { Handled, ModelEvent } from './model-event.ts';

interface Sight {
  /** by the wall clock: the last word, and the latest */
  readonly last: number;
  readonly latest: number;
  /** by the time that has really passed */
  readonly passed: number;
  /** the clock was behind: once it is right again, the time since then is unknown */
  readonly behind: boolean;
}

/** A process that wants to know who is there. */
export interface Judge {
  /** by the wall clock */
  readonly now: number;
  /** by the time that has really passed */
  readonly passed: number;
  readonly startedAt: number;
  readonly startedNow: number;
}

export class HandledTypes {
  readonly #seen = new Map<string, Sight>();
  #highest = -Infinity;

  announced({ endpoints, types }: Handled, now: number, passed: number): void {
    const behind = now < this.#highest;
    this.#highest = Math.max(this.#highest, now);
    for (const endpoint of endpoints === '*' ? ['*'] : endpoints) {
      for (const type of types === '*' ? ['*'] : types) {
        const key = JSON.stringify([endpoint, type]);
        const before = this.#seen.get(key)?.latest ?? -Infinity;
        this.#seen.set(key, { last: now, latest: Math.max(before, now), passed, behind });
      }
    }
  }

  setBack(now: number): void {
    for (const [key, seen] of this.#seen) {
      this.#seen.set(key, { ...seen, last: Math.min(seen.last, now), latest: Math.min(seen.latest, now) });
    }
  }

  /** A processor may judge this only if both clocks say that another one runs, or if it was running itself. */
  present(event: ModelEvent, withinMs: number, { now, passed, startedAt, startedNow }: Judge): boolean {
    return this.#of(event).some(({ last, latest, passed: at, behind }) => {
      const isInTime = Math.min(last, latest) > now - withinMs;
      const wasThere = at > startedAt || (at === startedAt && last >= startedNow);
      return at > passed - withinMs && (isInTime || (wasThere && !behind));
    });
  }

  remembered(event: ModelEvent, withinMs: number, { now, passed }: Judge): boolean {
    return this.#of(event).some(
      ({ last, latest, passed: at }) => Math.min(last, latest) > now - withinMs && at > passed - withinMs,
    );
  }

  suspected(event: ModelEvent, withinMs: number, { now, passed }: Judge): boolean {
    return this.#of(event).some((seen) => seen.latest > now - withinMs || seen.passed > passed - withinMs);
  }

  #of({ endpoint, type }: ModelEvent): Sight[] {
    return [endpoint, '*'].flatMap((of) =>
      [type ?? '', '*'].flatMap((each) => this.#seen.get(JSON.stringify([of, each])) ?? []),
    );
  }
}
