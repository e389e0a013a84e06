import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Inbox } from '../../inbox/contract.ts';
import { whyHidden } from '../../inbox/sqlite/opening/usable-file.ts';
import { requireFile } from './files.ts';
import { isInPostgres, type DbOptions } from './options.ts';
import { CommandError, EXIT } from './output.ts';

/** Does not create an inbox, or tables in the database of another program. */
export async function existingInbox(options: DbOptions): Promise<Inbox> {
  if (isInPostgres(options)) return onPostgres(options, false);
  const { db } = options;
  if (!existsSync(db)) {
    const why = whyHidden(resolve(db));
    if (why !== null) throw new CommandError(`hookbox cannot open ${db}: ${why}`);
    throw new CommandError(`The file ${db} does not exist. Pass the path of the inbox with --db.`, EXIT.notFound);
  }
  if (await holdsInbox(db)) return openFile(db);
  throw new CommandError(`${db} contains no hookbox inbox. Pass the path of the inbox with --db.`, EXIT.notFound);
}

export async function openInbox(options: DbOptions): Promise<Inbox> {
  return isInPostgres(options) ? onPostgres(options, true) : openFile(options.db);
}

async function onPostgres(options: DbOptions, migrate: boolean): Promise<Inbox> {
  const { openOnPostgres } = await import('./postgres-inbox.ts');
  return openOnPostgres(options, { migrate });
}

/** A command on Postgres does not need SQLite, so SQLite is loaded only here. */
async function openFile(file: string): Promise<Inbox> {
  requireFile(file);
  const { sqliteInbox } = await import('../../inbox/sqlite/sqlite-inbox.ts');
  // A command starts sooner without a thread.
  return sqliteInbox(file, { thread: false });
}

async function holdsInbox(file: string): Promise<boolean> {
  const { openConnection } = await import('../../inbox/sqlite/opening/better-sqlite.ts');
  let database;
  try {
    database = openConnection(file, { readonly: true, fileMustExist: true });
    return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hookbox_events'").get() !== undefined;
  } catch {
    return true; // opening it as an inbox explains the fault
  } finally {
    database?.close();
  }
}
