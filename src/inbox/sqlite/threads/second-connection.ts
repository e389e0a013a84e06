import { fileOf, type SqliteDatabase } from '../opening/database.ts';
import { IN_ANOTHER_LIBRARY, isInAnotherLibrary } from '../opening/files-in-use.ts';
import { isOfOurCopy } from '../opening/open.ts';

/** Why nobody else in this process may open the file of a connection, not even to read; `null` where somebody may. */
export function whyNoSecondReader(database: SqliteDatabase): string | null {
  if (database.memory) return 'the database is in memory';
  // Two SQLites in one process do not see each other's locks, and closing one connection drops those of the other.
  if (!isOfOurCopy(database))
    return 'the connection belongs to a copy of better-sqlite3 other than the one that hookbox loads';
  if (isInAnotherLibrary(fileOf(database))) return IN_ANOTHER_LIBRARY;
  if (database.pragma('locking_mode', { simple: true }) === 'exclusive')
    return 'the connection has locking_mode = EXCLUSIVE';
  return null;
}

/** Those for one connection alone are in a table of their own. */
const TRIGGERS = ['sqlite_master', 'sqlite_temp_master'].map(
  (table) => `SELECT 1 FROM ${table} WHERE type = 'trigger' AND tbl_name LIKE 'hookbox\\_%' ESCAPE '\\'`,
);

/** Why no thread may open the file of an application's connection itself; `null` if no reason is known. */
export function whyNoSecondConnection(database: SqliteDatabase): string | null {
  // A trigger may call functions that only the application's connection has.
  if (TRIGGERS.some((sql) => database.prepare(sql).get() !== undefined))
    return 'you added a trigger to a hookbox table';
  return whyNoSecondReader(database);
}
