import Database from 'better-sqlite3';
import { InboxOpenError } from '../../../errors.ts';
import { nodeTooOld } from '../../../host/node-version.ts';
import type { SqliteDatabase } from './database.ts';

type DatabaseClass = new (
  path: string,
  options?: { readonly?: boolean; timeout: number; fileMustExist: boolean },
) => SqliteDatabase;

/** Its native part is loaded with the first connection, so that a Node that is too old gets a sentence instead of a crash. */
export function loadBetterSqlite(): DatabaseClass {
  const tooOld = nodeTooOld();
  if (tooOld !== null) throw new InboxOpenError('NODE_TOO_OLD', tooOld);
  return Database;
}
