import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** The database of a handler's transaction, if the inbox does not set another type: that of SQLite. */
export type DefaultDatabase = SqliteDatabase;
