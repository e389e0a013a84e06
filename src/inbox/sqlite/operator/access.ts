import type { SqliteDatabase } from '../database.ts';
import type { Statements } from '../statements.ts';

/** How operations reach the tables. */
export interface Access {
  /** The connection, for reading outside a transaction. */
  database(): SqliteDatabase;
  /** Runs synchronous work in the next group commit, with deliveries; resolves when that is on disk. */
  write<T>(work: (database: SqliteDatabase, statements: Statements) => T): Promise<T>;
  /** Tells processors that events may have become due. */
  notify(): void;
}
