import Database from 'better-sqlite3';
import { existsSync } from 'node:fs';
import { afterAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import {
  sqliteInbox as threaded,
  type SqliteDatabase,
  type SqliteInboxOptions,
} from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { waitedFor } from './calls-under-way.ts';
import { emptyInbox } from './emptied-inbox.ts';
import type * as onLoop from './inbox-on-loop.ts';
import { shareScratchFile, suiteFolder } from './scratch-folder.ts';

const file = `${suiteFolder()}/shared.db`;
let merchant: Database.Database | undefined;
/** One in the file, and one on the merchant's connection. */
const shared: { file?: Inbox; merchant?: Inbox } = {};
/** Of the running test. */
const taken = new Set<'path' | 'inbox'>();

type Source = string | { readonly database: SqliteDatabase };

shareScratchFile(() => {
  if (taken.has('path')) return null;
  taken.add('path');
  onTestFinished(() => {
    taken.clear();
    forgetAll();
  });
  return file;
});

/**
 * In place of `inbox-on-loop.ts`, for suites that were written for an inbox without threads: one that writes in a thread, and
 * that `rest()` waits for. The first one of a test is always the same, in a file that all tests share: to start threads is dear.
 */
export const sqliteInbox = ((source: Source, options?: SqliteInboxOptions): Inbox => {
  const isOfMerchant = typeof source !== 'string';
  const isShared = isOfMerchant ? source.database === merchant : source === file;
  if (!isShared || options !== undefined || taken.has('inbox')) return waitedFor(threaded(source, options));
  taken.add('inbox');
  const inbox = (shared[isOfMerchant ? 'merchant' : 'file'] ??= threaded(source));
  const close = async (): Promise<void> => {};
  return waitedFor({ ...inbox, close, [Symbol.asyncDispose]: close });
}) as typeof threaded; // of the connection that is given

export const openConnection: typeof onLoop.openConnection = (path) => {
  if (path === file) return (merchant ??= new Database(file, { timeout: 20_000 }));
  throw new Error('a connection to another file than the one that all tests share');
};

afterAll(async () => {
  await Promise.all([shared.file?.close(), shared.merchant?.close()]);
  merchant?.close();
});

/** Makes the shared file one that nothing was stored in, by hookbox or by a merchant. */
function forgetAll(): void {
  if (!existsSync(file)) return;
  const database = new Database(file);
  database.pragma('foreign_keys = OFF');
  const made = database
    .prepare<[], { type: string; name: string }>(
      "SELECT type, name FROM sqlite_schema WHERE type != 'index' AND name NOT GLOB 'hookbox_*' AND name NOT GLOB 'sqlite_*'",
    )
    .all();
  for (const { type, name } of made) database.exec(`DROP ${type} IF EXISTS "${name}"`);
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'hookbox_events'").get()) emptyInbox(database);
  database.close();
}
