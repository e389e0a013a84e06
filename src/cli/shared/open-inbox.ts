import type { Inbox } from '../../inbox/contract.ts';
import { isInPostgres, type DbOptions } from './db-option.ts';
import { requireFile } from './read-input.ts';

/**
 * Opens an inbox, or makes it.
 *
 * @throws CommandError or InboxOpenError that says what to do
 */
export async function openInbox(options: DbOptions): Promise<Inbox> {
  if (!isInPostgres(options)) return openFile(options.db);
  const { openOnPostgres } = await import('./postgres-inbox.ts');
  return openOnPostgres(options, { migrate: true });
}

/** Opens an inbox in a file, as `openInbox` does. SQLite loads here: a command on Postgres needs none. */
export async function openFile(file: string): Promise<Inbox> {
  requireFile(file);
  const { sqliteInbox } = await import('../../inbox/sqlite/sqlite-inbox.ts');
  // A command has no other work that its disk could hold up, and it starts sooner without a thread.
  return sqliteInbox(file, { thread: false });
}
