import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** The database type of a handler's transaction if the inbox does not set a different one: that of SQLite. */
export type DefaultDatabase = SqliteDatabase;
