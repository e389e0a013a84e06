import { setTimeout as delay } from 'node:timers/promises';
import { isInstance, TransactionError } from '../../errors.ts';
import { refuseAsyncFunction, refusePromise } from '../synchronous.ts';
import { COMMITTED_BY_ITSELF } from '../rules/committed-alone.ts';
import { afterEffect, beforeEffect, type Effects } from '../rules/effect-transaction.ts';
import { answer, atOnce, DONE } from '../rules/steps.ts';
import type { Lease, TransactionAttempt } from '../work.ts';
import type { Connection } from './connection.ts';
import { runOn } from './lent-database.ts';
import { isBusy, isFileFault, sqliteCode, type SqliteDatabase } from './opening/database.ts';
import { createdOf } from './sql/records.ts';
import type { Statements } from './statements.ts';
import type { BorrowLock } from './threads/write-lock.ts';

const BUSY_RETRY_MS = 10;

/**
 * The merchant's writes and the mark that their event is processed, in one transaction of their own: merchants' functions
 * never share a commit, because one of them can roll back or spoil the others'.
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

/** Somebody else has the write lock, so nothing of the merchant's has run yet. */
class NotBegun extends Error {}

function attempt<T>(
  connection: Connection,
  lease: Lease,
  work: (database: SqliteDatabase) => T,
  now: number,
  skipped: TransactionAttempt['skipped'],
): T {
  const statements = begin(connection);
  const database = connection.database();
  try {
    if (!atOnce(beforeEffect(statements.engine, lease, now))) {
      throw new TransactionError('LEASE_LOST', 'The lease on this event was lost; nothing was committed.');
    }
    statements.counts.write();
    database.exec('SAVEPOINT hookbox_work');
    const result = runInside(database, work, () => statements.queue.isDead.get(lease) !== undefined);
    atOnce(afterEffect(effects(statements), lease, skipped?.()));
    connection.commit();
    return result;
  } catch (failure) {
    connection.rollback();
    // For nothing else: a merchant may have kept statements of this connection.
    if (isFileFault(failure) || !database.open) connection.failed(failure);
    throw failure;
  }
}

interface ProcessedRow {
  readonly seq: number;
  readonly type: string | null;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly attempts: number;
}

function effects({ engine, moves, queue }: Statements): Effects {
  return {
    counts: engine.counts,
    raiseHighWater: (event) => engine.raiseHighWater(event),
    deadToProcessed({ seq, fence }) {
      const row = moves.deadToProcessed.get({ seq, fence }) as ProcessedRow;
      const { type, endpoint, entity, attempts: attempt } = row;
      return answer({ seq, type, endpoint, entity, created: createdOf(row), attempt });
    },
    attemptProcessed(seq, number, skipped) {
      queue.attemptProcessed.run({ seq, number, skipped: skipped ?? null });
      return DONE;
    },
  };
}

function begin(connection: Connection) {
  try {
    return connection.begin();
  } catch (failure) {
    if (isBusy(failure)) throw new NotBegun();
    connection.failed(failure);
    throw failure;
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
    if (/^SQLITE_(FULL|IOERR|NOMEM|INTERRUPT)/.test(sqliteCode(failure) ?? '')) throw failure;
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
  'The function given to ctx.transaction ended the transaction itself with ROLLBACK, or something in it did, such as ' +
  'INSERT OR ROLLBACK. What it wrote after that is committed on its own, so the event is dead instead of being run ' +
  'again. Leave the transaction to hookbox; throw to roll back.';
