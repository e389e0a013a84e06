import Database from 'better-sqlite3';
import { afterAll, beforeAll } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { suiteFolder } from './scratch-folder.ts';

const TABLES = [
  'redeliveries',
  'conflicts',
  'attempts',
  'steps',
  'entities',
  'handling',
  'processors',
  'rates',
  'breakers',
  'pauses',
  'terms',
  'progress',
  'events',
].map((name) => `hookbox_${name}`);
/** Everything begins at the same time. */
const FORGET = 'UPDATE hookbox_clock SET latest_ms = 0, back_ms = NULL';

/** Takes away all that an inbox remembers of its events. */
export function emptyInbox(database: InstanceType<typeof Database>): void {
  database.exec(`BEGIN; ${TABLES.map((table) => `DELETE FROM ${table}`).join('; ')}; ${FORGET}; COMMIT`);
}

/**
 * One inbox for all tests of a file, emptied for each: what starts threads is dear. Nobody may close it.
 *
 * @returns what gives it out, empty
 */
export function emptiedInbox(openFile: (file: string) => Inbox): () => Inbox {
  let shared: { readonly inbox: Inbox; readonly database: InstanceType<typeof Database> } | undefined;
  const file = `${suiteFolder()}/shop.db`;
  beforeAll(() => {
    shared = { inbox: openFile(file), database: new Database(file) };
  });
  afterAll(async () => {
    shared?.database.close();
    await shared?.inbox.close();
  });
  return () => {
    if (shared === undefined) throw new Error('an inbox outside of a test');
    emptyInbox(shared.database);
    const close = async (): Promise<void> => {};
    return { ...shared.inbox, close, [Symbol.asyncDispose]: close };
  };
}
