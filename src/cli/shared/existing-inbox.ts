import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Inbox } from '../../inbox/contract.ts';
import { distrustSchema } from '../../inbox/sqlite/opening/database.ts';
import { CommandError, EXIT } from './exit.ts';
import { openInbox } from './open-inbox.ts';

/**
 * Opens the inbox in a file, for commands that read what is stored: they make no new file, and no tables in the database of
 * another program. An inbox of an older hookbox gets the tables that this version needs.
 *
 * @throws CommandError, with the exit code for what is not found
 */
export function existingInbox(file: string): Inbox {
  if (!existsSync(file)) {
    throw new CommandError(`There is no file ${file}. Say with --db where the inbox is.`, EXIT.notFound);
  }
  if (!holdsInbox(file)) {
    throw new CommandError(`${file} holds no inbox of hookbox. Say with --db where it is.`, EXIT.notFound);
  }
  return openInbox(file);
}

function holdsInbox(file: string): boolean {
  let database;
  try {
    database = new Database(file, { readonly: true, fileMustExist: true });
    distrustSchema(database);
    return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hookbox_events'").get() !== undefined;
  } catch {
    return true; // opening it as an inbox tells what is wrong with it
  } finally {
    database?.close();
  }
}
