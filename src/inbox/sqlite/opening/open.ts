import { platform } from 'node:os';
import { resolve } from 'node:path';
import { performance } from '../../../host/real-timers.ts';
import { InboxOpenError, messageOf } from '../../../errors.ts';
import { createForOwner } from '../../../host/files.ts';
import { assertLocal, assertOneName, assertUsable, whyNoAccess } from './usable-file.ts';
import { loadBetterSqlite, openConnection, whyNoTemporaryFiles } from './better-sqlite.ts';
import { fileOf, isBusy, sqliteCode, type SqliteDatabase } from './database.ts';
import { defineIdHash } from '../sql/statement.ts';
import { checkpointItself } from './checkpoints.ts';
import { migrate } from './schema.ts';

/** Each commit is synced. */
const FULL = 2;

/** May block, because no request is served yet. */
const OPEN_WAIT_MS = 5_000;

/** In negative KiB. Four times as much was not faster, and each thread has its own cache. */
const CACHE_SIZE = -16 * 1024;

/**
 * Each delivery changes its own page of an index. Half of SQLite's 4,096 bytes writes a third less
 * (docs/benchmarks.md); a quarter
 * costs more processor time.
 */
export const PAGE_BYTES = 2_048;

export function openFile(
  path: string,
  { waitMs, mustExist } = { waitMs: OPEN_WAIT_MS, mustExist: false },
): SqliteDatabase {
  const file = absolutePath(path);
  assertUsable(file);
  loadBetterSqlite(); // before a file is created
  let database: SqliteDatabase | undefined;
  try {
    // A backup may link a file in use.
    if (!mustExist) {
      assertOneName(file);
      createForOwner(file);
    }
    database = openConnection(file, { timeout: waitMs, fileMustExist: true });
    database.pragma(`page_size = ${PAGE_BYTES}`); // of a new file
    prepareConnection(database, waitMs);
    defineIdHash(database);
    checkpointItself(database, true);
    database.pragma(`cache_size = ${CACHE_SIZE}`);
    // Pruned and erased bytes must not stay on the disk.
    database.pragma('secure_delete = ON');
    database.pragma('busy_timeout = 0');
    return database;
  } catch (failure) {
    database?.close();
    throw openError(file, failure);
  }
}

/**
 * Gives the application's connection the same guarantees, and keeps its other settings.
 *
 * @param ephemeral - the database may be in memory
 * @throws InboxOpenError
 */
export function adopt(database: SqliteDatabase, ephemeral = false): void {
  if (!database.open)
    throw new InboxOpenError('CANNOT_OPEN', 'The database connection is closed. Pass an open connection.');
  if (database.memory && !ephemeral) {
    throw new InboxOpenError(
      'NOT_DURABLE',
      'The database is in memory and would be lost with the process. Open a file. In tests, set the option ' +
        'ephemeral: true, or use memoryInbox().',
    );
  }
  if (database.readonly) {
    throw new InboxOpenError('CANNOT_OPEN', `${database.name} was opened read-only. Open it for writing.`);
  }
  if (database.inTransaction) {
    throw new InboxOpenError(
      'CANNOT_OPEN',
      `${database.name} has an open transaction. End the transaction before you create the inbox.`,
    );
  }
  if (!database.memory) {
    assertLocal(fileOf(database));
    assertOneName(fileOf(database));
  }
  try {
    if (database.memory) migrate(database);
    else prepareConnection(database, OPEN_WAIT_MS);
    defineIdHash(database);
  } catch (failure) {
    throw openError(database.name, failure);
  }
}

/** The switch to the log resets `synchronous`. */
function prepareConnection(database: SqliteDatabase, waitMs: number): void {
  const before = Number(database.pragma('synchronous', { simple: true }));
  switchToWal(database, waitMs);
  database.pragma(`synchronous = ${Math.max(before, FULL)}`);
  if (platform() === 'darwin') {
    database.pragma('fullfsync = 1');
    database.pragma('checkpoint_fullfsync = 1');
  }
  migrate(database);
  assertDurable(database);
}

/**
 * Call it after a write, because the first write changes a new WAL database from FULL to NORMAL.
 *
 * @throws InboxOpenError `NOT_DURABLE`
 */
export function assertDurable(database: SqliteDatabase): void {
  const synchronous = Number(database.pragma('synchronous', { simple: true }));
  if (synchronous < FULL)
    throw notDurable(database, `synchronous = ${synchronous}`, 'Leave synchronous at FULL (2) or EXTRA (3)');
  const mode = String(database.pragma('journal_mode', { simple: true }));
  if (mode !== 'wal') throw notDurable(database, `journal_mode = ${mode}`, 'Leave journal_mode at WAL');
}

function notDurable(database: SqliteDatabase, setting: string, fix: string): InboxOpenError {
  return new InboxOpenError(
    'NOT_DURABLE',
    `${database.name} has ${setting}, so a power cut could lose acknowledged events. ${fix} on this connection.`,
  );
}

/** The switch needs the file alone and does not wait, but two processes may start at once. */
function switchToWal(database: SqliteDatabase, waitMs: number): void {
  const giveUpAt = performance.now() + waitMs;
  for (;;) {
    try {
      const mode = database.pragma('journal_mode = WAL', { simple: true });
      if (mode === 'wal') return;
      throw new InboxOpenError(
        'NOT_DURABLE',
        `The journal mode of ${database.name} must be WAL, but remains ${String(mode)}.`,
      );
    } catch (failure) {
      if (!isBusy(failure) || performance.now() >= giveUpAt) throw failure;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

/**
 * The working directory may change before the file is opened again.
 *
 * @throws InboxOpenError for a database in memory
 */
export function absolutePath(path: string): string {
  if (path !== ':memory:') return resolve(path);
  throw new InboxOpenError(
    'NOT_DURABLE',
    'sqliteInbox needs the path of a file, because a database in memory is lost with the process. In tests, use ' +
      "memoryInbox() or sqliteInbox({ database: new Database(':memory:') }, { ephemeral: true }) with " +
      'better-sqlite3.',
  );
}

const TEMP_STORE_MEMORY = 2;

/** Its setting stays, because a change would delete the application's temporary tables. */
export function whyTemporaryDataFails(database: SqliteDatabase): string | null {
  if (database.memory || Number(database.pragma('temp_store', { simple: true })) === TEMP_STORE_MEMORY) return null;
  try {
    return whyNoTemporaryFiles();
  } catch {
    return null; // the application's copy of better-sqlite3 is the only one that loads
  }
}

function openError(file: string, failure: unknown): InboxOpenError {
  if (failure instanceof InboxOpenError) return failure;
  const code = sqliteCode(failure) ?? '';
  const options = { cause: failure };
  if (code.startsWith('SQLITE_NOTADB')) {
    return new InboxOpenError(
      'NOT_A_DATABASE',
      `${file} is not a SQLite database. Pass a different path; the file was not changed.`,
      options,
    );
  }
  if (isBusy(failure)) {
    const seconds = OPEN_WAIT_MS / 1000;
    const message =
      `${file} was locked by another process for ${seconds} s. Find the process that keeps a transaction open, end ` +
      'the transaction, and start again.';
    return new InboxOpenError('LOCKED', message, options);
  }
  const isOfRights = code === '' || /^SQLITE_(CANTOPEN|READONLY)/.test(code);
  const unknown = `${messageOf(failure)}.${isOfRights ? ' Check the permissions of the file and of its folder.' : ''}`;
  const why = (isOfRights ? whyNoAccess(file) : null) ?? unknown;
  return new InboxOpenError('CANNOT_OPEN', `${file} cannot be opened: ${why}`, options);
}
