import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** The database type that a handler's transaction uses by default: SQLite's. */
export type DefaultDatabase = SqliteDatabase;
