import { InboxOpenError, InboxUnavailableError } from '../../errors.ts';
import { GroupCommit, unavailable, type CommitOutcome } from '../group-commit.ts';
import type { Statements } from './engine/sqlite-store.ts';
import type { Transactions } from './jobs.ts';
import { isBusy, isRowFault } from './opening/database.ts';
import type { BorrowLock } from './threads/write-lock.ts';

/**
 * A change by operators. It awaits only the database, whose results are ready at once. It may run again after a
 * rollback.
 *
 * @param isOver - whether its transaction has ended; the change must then write nothing more
 */
export type Change = (statements: Statements, isOver: () => boolean) => Promise<unknown>;

/**
 * Runs each change in its own transaction. `GroupCommit` begins it in a callback of `setImmediate`, and a borrowed
 * lock arrives in a message: no other code has microtasks then. The transaction ends before the microtasks do, so
 * nothing else uses the connection in between.
 */
export function changeQueue(transactions: Transactions, borrow: BorrowLock): GroupCommit<Change> {
  const one = { maxWaiting: Infinity, maxWaitingBytes: Infinity, mostUnderWay: 1, maxGroup: 1 };
  return new GroupCommit<Change>(async (changes) => {
    const giveBack = await borrow();
    try {
      return await Promise.all(changes.map((change) => commitChange(transactions, change)));
    } finally {
      giveBack();
    }
  }, one);
}

async function commitChange(transactions: Transactions, change: Change): Promise<CommitOutcome> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return { result: await inTransaction(transactions, change) };
    } catch (failure) {
      if (isBusy(failure)) return 'busy';
      const isUnusable = failure instanceof InboxOpenError || failure instanceof InboxUnavailableError;
      if (!isAgain && !isUnusable) continue;
      if (!isRowFault(failure)) transactions.failed(failure);
      return { failure: unavailable(failure) };
    }
  }
}

/** The function from when hookbox was loaded, because a test may replace it. */
const nextTick = process.nextTick.bind(process);

async function inTransaction(transactions: Transactions, change: Change): Promise<unknown> {
  const statements = transactions.begin();
  let isOver = false;
  const rollback = (): void => {
    if (!isOver) transactions.rollback();
    isOver = true;
  };
  const late = new Promise<never>((_, reject) => {
    const lookAfterMicrotasks = (): void => {
      if (isOver) return;
      rollback();
      reject(new InboxUnavailableError('FAILED', LATE));
    };
    // `nextTick` in a microtask runs after all microtasks, and before any timer or socket.
    queueMicrotask(() => nextTick(lookAfterMicrotasks));
  });
  try {
    const result = await Promise.race([change(statements, () => isOver), late]);
    transactions.commit();
    isOver = true;
    return result;
  } catch (failure) {
    rollback();
    throw failure;
  }
}

const LATE =
  'A change of operators awaited something other than the database, so it was rolled back. Please report this.';
