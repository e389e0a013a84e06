import { existsSync } from 'node:fs';
import type { Inbox } from '../../inbox/contract.ts';
import { oneLine } from '../../printable.ts';
import { isInPostgres, shownInbox, type DbOptions } from '../shared/db-option.ts';
import { CommandError, EXIT } from '../shared/exit.ts';
import { openInbox } from '../shared/open-inbox.ts';
import { tell } from '../shared/output.ts';
import { requireFile } from '../shared/read-input.ts';

/** After a move to another machine there is no inbox yet. */
export async function newOrExistingInbox(options: DbOptions): Promise<Inbox> {
  const isNew = !(await isThere(options));
  const inbox = await openInbox(options);
  // Only now, as it may not be to be had.
  if (isNew) tell(`note: ${shownInbox(options)} is a new inbox.`);
  return inbox;
}

async function isThere(options: DbOptions): Promise<boolean> {
  if (!isInPostgres(options)) return existsSync(options.db);
  const { isOnPostgres } = await import('../shared/postgres-inbox.ts');
  return isOnPostgres(options);
}

/** @throws CommandError where no file has the path */
export function refuseMissing(path: string): void {
  requireFile(path);
  if (!existsSync(path)) throw new CommandError(`The file ${oneLine(path)} does not exist.`, EXIT.notFound);
}
