import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** What a handler's transaction works on where no inbox says it: the database of the one durable inbox there is. */
export type DefaultDatabase = SqliteDatabase;
