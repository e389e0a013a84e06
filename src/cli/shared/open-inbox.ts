import { InboxOpenError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';
import { isInPostgres, type DbOptions } from './db-option.ts';
import { CommandError } from './exit.ts';
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

/** As `openInbox` does, where it is known that it is no URL. */
export function openFile(file: string): Inbox {
  requireFile(file);
  try {
    // A command serves nobody else whom its disk could hold up, and is sooner there without a thread.
    return sqliteInbox(file, { thread: false });
  } catch (failure) {
    throw failure instanceof InboxOpenError && isWithoutRights(failure) ? withAdvice(failure) : failure;
  }
}

/** The words that SQLite and the operating system have for it. */
function isWithoutRights({ code, message }: InboxOpenError): boolean {
  return (
    code === 'CANNOT_OPEN' &&
    /unable to open database file|readonly database|\b(?:EACCES|EPERM|EROFS|ENOENT)\b/.test(message)
  );
}

function withAdvice({ message }: InboxOpenError): CommandError {
  return new CommandError(`${message} Check that this user may write to it and to its folder, or give another path.`);
}
