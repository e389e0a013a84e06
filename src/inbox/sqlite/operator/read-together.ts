import type { SqliteDatabase } from '../database.ts';

/** Reads what must fit together, though it stands in several tables or indexes, whatever other processes write meanwhile. */
export function readTogether<T>(database: SqliteDatabase, read: () => T): T {
  const begun = begin(database);
  try {
    return read();
  } finally {
    if (begun && database.inTransaction) database.exec('COMMIT');
  }
}

/** Not where the merchant has a transaction of their own, or reads rows one by one: both hold the moment, too. */
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
