import type { SqliteDatabase, SqliteStatement } from '../opening/database.ts';

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
