import type { SqliteDatabase } from '../opening/database.ts';

/** Reads from several tables or indexes as of one time, whatever other processes write meanwhile. */
export function readTogether<T>(database: SqliteDatabase, read: () => T): T {
  const begun = begin(database);
  try {
    return read();
  } finally {
    if (begun && database.inTransaction) database.exec('COMMIT');
  }
}

/** Not inside a transaction of the application, nor while it reads rows one by one: nothing changes then either. */
function begin(database: SqliteDatabase): boolean {
  if (database.inTransaction) return false;
  try {
    database.exec('BEGIN');
    return true;
  } catch (failure) {
    if (failure instanceof TypeError) return false;
    throw failure;
  }
}
