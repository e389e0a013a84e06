import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** The database type in a handler's transaction, unless the inbox sets another: SQLite's. */
export type DefaultDatabase = SqliteDatabase;
