import { AsyncLocalStorage } from 'node:async_hooks';
import { InboxUnavailableError, isInstance, TransactionError } from '../../errors.ts';
import { delay } from '../../host/real-timers.ts';
import { unavailable } from '../group-commit.ts';
import { settleInTransaction, refuseAsyncFunction, refusePromise } from '../queue-operations.ts';
import { processedBy, COMMITTED_BY_ITSELF } from '../rules/attempt.ts';
import type { Lease, TransactionAttempt } from '../work.ts';
import type { Connection } from './connection.ts';
import { fileFaultIn, isBusy, sqliteCode, type SqliteDatabase } from './opening/database.ts';
import type { BorrowLock } from './threads/write-lock.ts';

const BUSY_RETRY_MS = 10;

/**
 * The application's writes and the mark that their event is processed, in one transaction. Functions never share
 * a commit, because one of them can roll back or spoil the others'. While the function runs, the row of the event
 * says so. A function that commits by itself commits this mark too. The end of the attempt then finds that the effect must not
 * be repeated.
 */
export async function effectTransaction<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  { now, signal, skipped }: TransactionAttempt,
  borrow: BorrowLock,
): Promise<T> {
  refuseAsyncFunction(work);
  for (;;) {
    signal.throwIfAborted();
    const giveBack = await borrow();
    try {
      signal.throwIfAborted();
      return attempt(connection, lease, work, now(), skipped);
    } catch (failure) {
      if (!isInstance(failure, NotBegun)) throw failure;
    } finally {
      giveBack();
    }
    await delay(BUSY_RETRY_MS, undefined, { signal });
  }
}

/** Somebody else has the write lock, so nothing of the application's has run yet. */
class NotBegun extends Error {}

function attempt<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  now: number,
  skipped: TransactionAttempt['skipped'],
): T {
  const { moves, queue, store } = begin(connection);
  const database = connection.database();
  try {
    if (moves.beginEffect.run(lease).changes === 0) throw lost();
    database.exec('SAVEPOINT hookbox_work');
    const result = runInside(database, work, () => queue.hasEffect.get(lease) !== undefined);
    if (!settleInTransaction(store, lease, processedBy(skipped), now)) throw lost();
    connection.commit();
    return result;
  } catch (failure) {
    connection.rollback();
    const fault = fileFaultIn(failure);
    // For nothing else: an application may have kept statements of this connection.
    if (fault !== null || !database.open) connection.failed(fault ?? failure);
    // Also if the application's statement has met it: a fault of the disk does not count as a handler's failure. But a
    // committed effect must not be repeated.
    throw fault === null || isInstance(failure, TransactionError) ? failure : unavailable(failure);
  }
}

function lost(): TransactionError {
  return new TransactionError('LEASE_LOST', 'The attempt lost its lease on this event. Nothing was committed.');
}

function begin(connection: Connection) {
  try {
    return connection.begin();
  } catch (failure) {
    if (isBusy(failure)) throw new NotBegun();
    connection.failed(failure);
    throw isInstance(failure, InboxUnavailableError) ? failure : unavailable(failure);
  }
}

/**
 * The savepoint tells whether the transaction is still the one that was begun: it is gone when `work` has committed or
 * rolled back, even if it began another one.
 */
function runInside<T>(database: SqliteDatabase, work: (database: SqliteDatabase) => T, isCommitted: () => boolean): T {
  let result: T;
  try {
    result = withoutOpenRows(database, () => runOn(database, work));
  } catch (failure) {
    if (savepointStands(database)) throw failure;
    if (isCommitted()) throw new TransactionError('COMMITTED_BY_ITSELF', COMMITTED_BY_ITSELF, { cause: failure });
    // SQLite itself rolls back when the disk is full or failing; nothing can have been written after that.
    if (fileFaultIn(failure) !== null || /^SQLITE_(NOMEM|INTERRUPT)/.test(sqliteCode(failure) ?? '')) throw failure;
    throw new TransactionError('ROLLED_BACK_BY_ITSELF', ROLLED_BACK, { cause: failure });
  }
  refusePromise(result);
  if (savepointStands(database)) return result;
  if (isCommitted()) throw new TransactionError('COMMITTED_BY_ITSELF', COMMITTED_BY_ITSELF);
  throw new TransactionError('ROLLED_BACK_BY_ITSELF', ROLLED_BACK);
}

/** Rows that are still being read, one by one, would keep the transaction from ending: they are closed with it. */
function withoutOpenRows<T>(database: SqliteDatabase, work: () => T): T {
  const statement: { iterate: (...parameters: unknown[]) => Iterator<unknown> } = Object.getPrototypeOf(
    database.prepare('SELECT 1'),
  );
  const { iterate } = statement;
  const open: Iterator<unknown>[] = [];
  statement.iterate = function tracked(...parameters) {
    const rows = iterate.apply(this, parameters);
    open.push(rows);
    return rows;
  };
  try {
    return work();
  } finally {
    statement.iterate = iterate;
    for (const rows of open) rows.return?.();
  }
}

function savepointStands(database: SqliteDatabase): boolean {
  try {
    database.exec('RELEASE hookbox_work');
    return true;
  } catch {
    return false;
  }
}

const ROLLED_BACK =
  'The function in ctx.transaction, or a statement in it such as INSERT OR ROLLBACK, rolled the transaction back ' +
  'itself. Later writes were committed, but the event was not marked as processed, so the event is dead and is ' +
  'not retried. Leave the transaction to hookbox; to roll back, throw an error.';

/** The function that is running, and in whatever it has left running behind it: whether it has ended. */
const functions = new AsyncLocalStorage<{ isOver: boolean }>();

/** One for each connection, so that what an application keeps by it, or of it, serves for the next transaction too. */
const lent = new WeakMap<object, object>();

/**
 * Runs an application's function on a connection that refuses later calls of the function. An asynchronous function
 * continues after its transaction was rolled back, and its later writes would be committed by themselves.
 */
function runOn<T>(database: SqliteDatabase, work: (database: SqliteDatabase) => T): T {
  const run = { isOver: false };
  try {
    return functions.run(run, () => work(guarded(database)));
  } finally {
    run.isOver = true;
  }
}

/** A connection, or a statement of it, each of whose calls asks whether it may be made. */
function guarded<T extends object>(target: T): T {
  const known = lent.get(target);
  if (known !== undefined) return known as T; // it was made for this one
  // A shadow, as better-sqlite3 has properties that a proxy of theirs could not show otherwise.
  const guard: T = new Proxy(Object.create(target) as T, {
    set: (_, name, value) => Reflect.set(target, name, value),
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'constructor') {
        return (typeof value === 'object' && value !== null && lent.get(value)) || value;
      }
      return (...given: unknown[]): unknown => {
        if (functions.getStore()?.isOver === true) throw new Error(OVER);
        // The connection that better-sqlite3 notes down for its transactions is this one.
        const answer: unknown = Reflect.apply(value, name === 'transaction' ? guard : target, given);
        if (answer === target) return guard;
        return name === 'prepare' ? guarded(answer as object) : answer;
      };
    },
  });
  lent.set(target, guard);
  return guard;
}

const OVER =
  'This call came after the function in ctx.transaction had ended, so nothing was written. The function must be ' +
  'synchronous: await before ctx.transaction, and only write inside the function.';
