import { countedType } from './counted-types.ts';
import { latencyBucket, type Counted, type CountTotal } from './counted.ts';

/** Counts for operators; an engine without operators counts nothing. */
export interface Counting {
  readonly counts: {
    count(what: Counted, detail: string): void;
    countType(what: Counted, type: string | null): void;
    /** How long a handler ran, of all types and of its own. */
    countMs(what: 'handler-ms', ms: number, type: string | null): void;
  };
}

/** What one transaction has counted, summed up: a row for each kind, however many events share the commit. */
export class Tally implements Required<Counting['counts']> {
  #sums = new Map<string, CountTotal>();

  count(what: Counted, detail: string): void {
    const key = `${what} ${detail}`;
    this.#sums.set(key, { what, detail, count: (this.#sums.get(key)?.count ?? 0) + 1 });
  }

  countType(what: Counted, type: string | null): void {
    this.count(what, countedType(type));
  }

  countMs(what: 'handler-ms', ms: number, type: string | null): void {
    const bucket = latencyBucket(ms);
    this.count(what, bucket);
    this.count('type-ms', `${countedType(type)} ${bucket}`);
  }

  get isEmpty(): boolean {
    return this.#sums.size === 0;
  }

  /** The sums, which are forgotten here. */
  take(): readonly CountTotal[] {
    const sums = [...this.#sums.values()];
    this.#sums.clear();
    return sums;
  }

  /** Runs work whose counts are forgotten when it throws. */
  apart<T>(work: () => T): T {
    const before = new Map(this.#sums);
    try {
      return work();
    } catch (failure) {
      this.#sums = before;
      throw failure;
    }
  }
}
