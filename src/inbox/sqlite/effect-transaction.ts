import { AsyncLocalStorage } from 'node:async_hooks';
import { InboxUnavailableError, isInstance, TransactionError } from '../../errors.ts';
import { delay } from '../../host/real-timers.ts';
import { unavailable } from '../group-commit.ts';
import { settleInTransaction, refuseAsyncFunction, refusePromise } from '../queue-operations.ts';
import { processedBy, COMMITTED_BY_ITSELF, leaseLost } from '../rules/attempt.ts';
import type { Lease, TransactionAttempt } from '../work.ts';
import type { Connection } from './connection.ts';
import { fileFaultIn, isBusy, sqliteCode, type SqliteDatabase } from './opening/database.ts';
import type { BorrowLock } from './threads/write-lock.ts';

const BUSY_RETRY_MS = 10;

/**
 * Commits the application's writes together with the end of the attempt. Functions never share a commit, because one
 * could roll back another's writes. A function that commits itself also commits `effect = 1`, so the event is not
 * handled again.
 */
export async function effectTransaction<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  attempt: TransactionAttempt,
  borrow: BorrowLock,
): Promise<T> {
  refuseAsyncFunction(work);
  const { signal } = attempt;
  for (;;) {
    signal.throwIfAborted();
    const giveBack = await borrow();
    try {
      signal.throwIfAborted();
      return runOnce(connection, lease, work, attempt);
    } catch (failure) {
      if (!isInstance(failure, NotBegun)) throw failure;
    } finally {
      giveBack();
    }
    await delay(BUSY_RETRY_MS, undefined, { signal });
  }
}

/** Another connection has the write lock, so the function has not run. */
class NotBegun extends Error {}

function runOnce<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  { now, unused, ...attempt }: TransactionAttempt,
): T {
  const endedAt = now();
  const { database, moves, queue, store } = begin(connection);
  try {
    if (moves.beginEffect.run(lease).changes === 0) throw leaseLost();
    database.exec('SAVEPOINT hookbox_work');
    const changes = (): unknown => Object.values(queue.totalChanges.get() ?? {})[0];
    const before = changes();
    const { result, isUsed } = runInside(database, work, () => queue.hasEffect.get(lease) !== undefined);
    const isUnused = !isUsed && changes() === before;
    if (!settleInTransaction(store, lease, processedBy(attempt), endedAt)) throw leaseLost();
    connection.commit();
    if (isUnused) unused?.();
    return result;
  } catch (failure) {
    connection.rollback();
    const fault = fileFaultIn(failure);
    // Opening the file again would invalidate statements that the application has prepared.
    if (fault !== null || !database.open) connection.failed(fault ?? failure);
    // A fault of the disk is not a failure of the handler. But a committed effect must not be repeated.
    throw fault === null || isInstance(failure, TransactionError) ? failure : unavailable(failure);
  }
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

/** The savepoint is gone if the function has ended the transaction. */
function runInside<T>(
  database: SqliteDatabase,
  work: (database: SqliteDatabase) => T,
  isCommitted: () => boolean,
): { readonly result: T; readonly isUsed: boolean } {
  const endedByItself = (options?: ErrorOptions): TransactionError =>
    isCommitted()
      ? new TransactionError('COMMITTED_BY_ITSELF', COMMITTED_BY_ITSELF, options)
      : new TransactionError('ROLLED_BACK_BY_ITSELF', ROLLED_BACK, options);
  let ran: { readonly result: T; readonly isUsed: boolean };
  try {
    ran = withoutOpenRows(database, () => runOn(database, work));
  } catch (failure) {
    if (hasSavepoint(database)) throw failure;
    // SQLite itself rolls back if the disk is full or failing.
    const isFault = fileFaultIn(failure) !== null || /^SQLITE_(NOMEM|INTERRUPT)/.test(sqliteCode(failure) ?? '');
    if (isFault && !isCommitted()) throw failure;
    throw endedByItself({ cause: failure });
  }
  refusePromise(ran.result);
  if (hasSavepoint(database)) return ran;
  throw endedByItself();
}

/** Iterators that the function left open would block the end of the transaction. */
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

function hasSavepoint(database: SqliteDatabase): boolean {
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

/** Also reaches asynchronous code that the function started. */
const functions = new AsyncLocalStorage<{ isOver: boolean; isUsed: boolean }>();

/** One proxy for each object, so that properties that an application stores on it last. */
const guards = new WeakMap<object, object>();

/**
 * An asynchronous function would continue after its transaction was rolled back, and its later writes would be
 * committed on their own.
 */
function runOn<T>(
  database: SqliteDatabase,
  work: (database: SqliteDatabase) => T,
): { readonly result: T; readonly isUsed: boolean } {
  const run = { isOver: false, isUsed: false };
  try {
    const result = functions.run(run, () => work(guarded(database)));
    return { result, isUsed: run.isUsed };
  } finally {
    run.isOver = true;
  }
}

function guarded<T extends object>(target: T): T {
  const known = guards.get(target);
  if (known !== undefined) return known as T; // made for this target
  // A proxy may not change properties that better-sqlite3 has frozen.
  const guard: T = new Proxy(Object.create(target) as T, {
    set: (_, name, value) => Reflect.set(target, name, value),
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'constructor') {
        return (typeof value === 'object' && value !== null && guards.get(value)) || value;
      }
      return (...given: unknown[]): unknown => {
        const run = functions.getStore();
        if (run?.isOver === true) throw new Error(OVER);
        if (run !== undefined) run.isUsed = true;
        // better-sqlite3 remembers the connection of a transaction function: the proxy.
        const answer: unknown = Reflect.apply(value, name === 'transaction' ? guard : target, given);
        if (answer === target) return guard;
        return name === 'prepare' ? guarded(answer as object) : answer;
      };
    },
  });
  guards.set(target, guard);
  return guard;
}

const OVER =
  'This call came after the function in ctx.transaction had ended, so nothing was written. The function must be ' +
  'synchronous: await before ctx.transaction, and only write inside the function.';
