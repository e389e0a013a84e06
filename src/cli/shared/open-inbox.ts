import { InboxOpenError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';
import { CommandError } from './exit.ts';
import { refuseFolder } from './read-input.ts';

/**
 * Opens the inbox in a file, or makes it.
 *
 * @throws CommandError or InboxOpenError that says what to do
 */
export function openInbox(file: string): Inbox {
  refuseFolder(file);
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
