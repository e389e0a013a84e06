import { isEventType } from '../../../events/event-types.ts';
import type { Counted, CountRow } from '../../operator/counts.ts';
import { latencyBucket } from '../../rules/latency-buckets.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { addCount } from './add-count.ts';

/**
 * Counts what one transaction does, and writes the sums with it: one row a minute for each kind, however many events share
 * the commit. So the counts are as true as the events, and a delivery hardly notices.
 */
export class MinuteCounts {
  readonly #database: SqliteDatabase;
  /** one for each transaction, so that what it takes back goes from the minute it went to */
  #at: number | null = null;
  #sums = new Map<string, Omit<CountRow, 'at'>>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** @param times - negative takes back what the same transaction has counted before */
  count(what: Counted, detail: string, times = 1): void {
    const key = `${what} ${detail}`;
    this.#sums.set(key, { what, detail, count: (this.#sums.get(key)?.count ?? 0) + times });
  }

  countType(what: Counted, type: string | null, times = 1): void {
    this.count(what, countedType(type), times);
  }

  countMs(what: 'answer-ms' | 'handler-ms', ms: number): void {
    this.count(what, latencyBucket(ms));
  }

  /** Writes the sums; call it before the commit. */
  write(): void {
    if (this.#sums.size === 0) return;
    this.#at ??= Date.now();
    for (const sum of this.#sums.values()) if (sum.count !== 0) addCount(this.#database, { at: this.#at, ...sum });
    this.#sums.clear();
  }

  /** The transaction is over, one way or the other. */
  forget(): void {
    this.#sums.clear();
    this.#at = null;
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

/** Types are the sender's text: those that hookbox does not know are counted together, so that the counts stay few. */
export function countedType(type: string | null): string {
  if (type === null) return 'invalid';
  return isEventType(type) ? type : 'other';
}
