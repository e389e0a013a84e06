import { createRequire } from 'node:module';
import { InboxOpenError, messageOf } from '../../../errors.ts';
import { nodeTooOld } from '../../../host/node-version.ts';
import type { SqliteDatabase } from './database.ts';

type DatabaseClass = new (path: string, options?: { timeout: number; fileMustExist: boolean }) => SqliteDatabase;

/** Bundled as CommonJS, a module may not know where it lies; then packages are those of the server that it is part of. */
const here = (import.meta as { readonly url?: string }).url ?? process.argv[1] ?? '';

/** Loaded on first use and by require, so that a Node that is too old gets a sentence instead of a crash. */
export function loadBetterSqlite(): DatabaseClass {
  const tooOld = nodeTooOld();
  if (tooOld !== null) throw new InboxOpenError('NODE_TOO_OLD', tooOld);
  try {
    const loaded: unknown = createRequire(here)('better-sqlite3');
    return loaded as DatabaseClass; // better-sqlite3 exports its class and nothing else
  } catch (cause) {
    const message = `better-sqlite3 cannot be loaded here: ${messageOf(cause)}. It needs Node, Bun or Deno on a machine with a disk.`;
    throw new InboxOpenError('CANNOT_OPEN', message, { cause });
  }
}
