import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { sqliteInbox as threaded } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { scratchFile } from './scratch-folder.ts';

/**
 * The inbox without threads, which is there at once: for tests of what does not depend on where the disk is waited for.
 * What does is tested both ways (`test/inbox/threads`).
 */
export const sqliteInbox: typeof threaded = (source, options) => threaded(source, { thread: false, ...options });

/** A connection of the merchant's, closed after the running test. */
export function openConnection(file: string): Database.Database {
  const database = new Database(file, { timeout: 20_000 });
  onTestFinished(() => void database.close());
  return database;
}

/** An inbox on a file of its own, and another connection to it. Both are closed after the running test. */
export function inboxOnFile(file = scratchFile()) {
  const inbox = sqliteInbox(file);
  const database = new Database(file);
  onTestFinished(async () => {
    database.close();
    await inbox.close();
  });
  return { inbox, database, file };
}
