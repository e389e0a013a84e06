import { setTimeout as delay } from 'node:timers/promises';
import { TransactionError } from '../../errors.ts';
import type { Lease } from '../work.ts';
import type { Connection } from './connection.ts';
import { isBusy, sqliteCode, type SqliteDatabase } from './database.ts';
import { settle } from './work.ts';

const BUSY_RETRY_MS = 10;

/**
 * The merchant's writes and the mark that their event is processed, in one transaction of their own: merchants' functions
 * never share a commit, because one of them can roll back or spoil the others'.
 */
export async function effectTransaction<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  { now, signal }: { readonly now: () => number; readonly signal: AbortSignal },
): Promise<T> {
  if (Object.prototype.toString.call(work) === '[object AsyncFunction]') throw notSynchronous();
  for (;;) {
    signal.throwIfAborted();
    try {
      return attempt(connection, lease, work, now());
    } catch (failure) {
      if (!(failure instanceof NotBegun)) throw failure;
      await delay(BUSY_RETRY_MS, undefined, { signal });
    }
  }
}

/** Somebody else has the write lock, so nothing of the merchant's has run yet. */
class NotBegun extends Error {}

function attempt<T>(connection: Connection, lease: Lease, work: (database: SqliteDatabase) => T, now: number): T {
  const statements = begin(connection);
  const database = connection.database();
  try {
    if (statements.work.held.get({ ...lease, now }) === undefined) {
      throw new TransactionError('LEASE_LOST', 'The lease on this event was lost; nothing was committed.');
    }
    const result = runInside(database, work);
    settle(statements.work, lease, { outcome: 'processed' }, now);
    connection.commit();
    return result;
  } catch (failure) {
    connection.rollback();
    throw failure;
  }
}

function begin(connection: Connection) {
  try {
    return connection.begin();
  } catch (failure) {
    if (isBusy(failure)) throw new NotBegun();
    throw failure;
  }
}

/**
 * The savepoint tells whether the transaction is still the one that was begun: it is gone when `work` has committed or
 * rolled back, even if it began another one.
 */
function runInside<T>(database: SqliteDatabase, work: (database: SqliteDatabase) => T): T {
  database.exec('SAVEPOINT hookbox_effect');
  let result: T;
  try {
    result = work(database);
  } catch (failure) {
    // SQLite itself rolls back on INSERT OR ROLLBACK and on a full disk: then nothing was committed behind our back.
    if (sqliteCode(failure) === null && !savepointStands(database)) throw endedByItself(failure);
    throw failure;
  }
  if (isPromise(result)) {
    result.then(undefined, () => {}); // it has no business failing on its own as well
    throw notSynchronous();
  }
  if (!savepointStands(database)) throw endedByItself();
  return result;
}

function savepointStands(database: SqliteDatabase): boolean {
  try {
    database.exec('RELEASE hookbox_effect');
    return true;
  } catch {
    return false;
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function notSynchronous(): TransactionError {
  return new TransactionError(
    'NOT_SYNCHRONOUS',
    'The function given to ctx.transaction is asynchronous. Await before it, and only write inside it; nothing was committed.',
  );
}

function endedByItself(cause?: unknown): TransactionError {
  return new TransactionError(
    'ENDED_BY_ITSELF',
    'The function given to ctx.transaction ended the transaction itself (COMMIT or ROLLBACK). What it wrote may be ' +
      'committed without the event being processed, so the event is dead: look before you rerun it, and leave the ' +
      'transaction to hookbox.',
    { cause },
  );
}
