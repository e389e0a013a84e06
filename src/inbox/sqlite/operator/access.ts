import type { SqliteDatabase, SqliteStatement } from '../database.ts';
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

const prepared = new WeakMap<SqliteDatabase, Map<string, SqliteStatement>>();

/** A statement of a connection, prepared on first use: operations are many, and most processes use none of them. */
export function statement(database: SqliteDatabase, sql: string): SqliteStatement {
  let statements = prepared.get(database);
  if (statements === undefined) {
    statements = new Map();
    prepared.set(database, statements);
  }
  let found = statements.get(sql);
  if (found === undefined) {
    found = database.prepare(sql).safeIntegers(false);
    statements.set(sql, found);
  }
  return found;
}
