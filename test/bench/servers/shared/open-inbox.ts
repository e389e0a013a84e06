import type { Inbox } from 'hookbox';
import { sqliteInbox, type SqliteInboxOptions } from 'hookbox/sqlite';
import { databaseFile, onTheLoop } from './arguments.ts';

/** The inbox of this process's file, as it comes or without a thread. A hookbox without threads takes no notice. */
export function openInbox(): Inbox {
  const options: SqliteInboxOptions & { readonly thread?: false } = onTheLoop() ? { thread: false } : {};
  return sqliteInbox(databaseFile(), options);
}
