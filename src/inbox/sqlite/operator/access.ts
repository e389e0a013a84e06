import type { SqliteDatabase } from '../database.ts';
import type { Statements } from '../statements.ts';

/** How operations reach the tables. */
export interface Access {
  /** The connection, for reading outside a transaction. */
  database(): SqliteDatabase;
  /**
   * Runs synchronous work in the next group commit, with deliveries; resolves when that is on disk. What is thrown takes
   * these back as well, so nothing should be.
   *
   * @param work - told by how much the clock has moved while it waited for that commit, in milliseconds
   */
  write<T>(work: (statements: Statements, waitedMs: number) => T): Promise<T>;
  /** Tells processors that events may have become due. */
  notify(): void;
}
