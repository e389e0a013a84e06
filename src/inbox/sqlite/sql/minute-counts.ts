import { Tally } from '../../rules/tally.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { addCount } from './add-count.ts';

/**
 * Counts what one transaction does, and writes the sums with it: one row a minute for each kind, however many events share
 * the commit. So the counts are as true as the events, and a delivery hardly notices.
 */
export class MinuteCounts extends Tally {
  readonly #database: SqliteDatabase;
  /** one for each transaction, so that what it takes back goes from the minute it went to */
  #at: number | null = null;

  constructor(database: SqliteDatabase) {
    super();
    this.#database = database;
  }

  /** Writes the sums; call it before the commit. */
  write(): void {
    const sums = this.take();
    if (sums.length === 0) return;
    this.#at ??= Date.now();
    for (const sum of sums) addCount(this.#database, { at: this.#at, ...sum });
  }

  /** The transaction is over, one way or the other. */
  forget(): void {
    this.take();
    this.#at = null;
  }
}
