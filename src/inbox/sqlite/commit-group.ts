import { InboxOpenError, InboxUnavailableError, messageOf } from '../../errors.ts';
import { isBusy, isRowFault } from './opening/database.ts';

/** What became of one job: it is on disk, or has failed; `busy` when somebody else has the lock and it is to be done again. */
export type CommitOutcome = { readonly result: unknown } | { readonly failure: InboxUnavailableError } | 'busy';

/**
 * Commits jobs together; their outcomes, in the same order, at once or later.
 *
 * @param isAgain - whoever asks has heard of those that were `busy`: none of what was asked for later may come before these
 */
export type CommitGroup<Job> = (
  jobs: readonly Job[],
  isAgain: boolean,
) => readonly CommitOutcome[] | Promise<readonly CommitOutcome[]>;

/** What a group commit needs of its connection. */
export interface Transactions<Store> {
  /** Takes the write lock without waiting; throws busy when somebody else has it. */
  begin(): Store;
  /** Returns when everything since `begin` is on disk. */
  commit(): void;
  /** Runs work that, if it throws, leaves what came before it in this transaction as it was. */
  apart<T>(work: () => T): T;
  /** Undoes everything since `begin`, also where SQLite has done so already. */
  rollback(): void;
  /** Told of a failure that is not one row's, so that the next `begin` may start afresh. */
  failed(failure: unknown): void;
}

/** Synchronous; it may run again after a rollback. */
export type Work<Store> = (store: Store) => unknown;

/** Runs all of them in one transaction. One that fails takes only itself down. */
export function commitGroup<Store>(
  transactions: Transactions<Store>,
  group: readonly Work<Store>[],
): readonly CommitOutcome[] {
  try {
    return together(transactions, group);
  } catch (failure) {
    if (isBusy(failure)) return group.map(() => 'busy');
    if (failure instanceof InboxOpenError || failure instanceof InboxUnavailableError) {
      // The file itself cannot be had, so no row need try alone.
      transactions.failed(failure);
      return group.map(() => failed(failure));
    }
  }
  // One row, most likely: each is tried apart from the others, in one transaction still.
  try {
    return apart(transactions, group);
  } catch (failure) {
    if (isBusy(failure)) return group.map(() => 'busy');
  }
  return oneByOne(transactions, group);
}

function together<Store>(transactions: Transactions<Store>, group: readonly Work<Store>[]): CommitOutcome[] {
  const store = transactions.begin();
  try {
    const outcomes = group.map((work) => ({ result: work(store) }));
    transactions.commit();
    return outcomes;
  } catch (failure) {
    transactions.rollback();
    throw failure;
  }
}

function apart<Store>(transactions: Transactions<Store>, group: readonly Work<Store>[]): CommitOutcome[] {
  const store = transactions.begin();
  try {
    const outcomes = group.map((work): CommitOutcome => {
      try {
        return { result: transactions.apart(() => work(store)) };
      } catch (failure) {
        if (!isRowFault(failure)) throw failure;
        return failed(failure);
      }
    });
    transactions.commit();
    return outcomes;
  } catch (failure) {
    transactions.rollback();
    throw failure;
  }
}

/** A file that is full: alone, a small row may still find room. */
function oneByOne<Store>(transactions: Transactions<Store>, group: readonly Work<Store>[]): CommitOutcome[] {
  const outcomes: CommitOutcome[] = [];
  const rest = (outcome: CommitOutcome): CommitOutcome[] => [
    ...outcomes,
    ...Array.from({ length: group.length - outcomes.length }, () => outcome),
  ];
  for (const work of group) {
    try {
      outcomes.push(...together(transactions, [work]));
    } catch (failure) {
      if (isBusy(failure)) return rest('busy');
      if (!isRowFault(failure)) {
        transactions.failed(failure);
        return rest(failed(failure));
      }
      outcomes.push(failed(failure));
    }
  }
  return outcomes;
}

function failed(failure: unknown): CommitOutcome {
  return { failure: unavailable(failure) };
}

/** A failure as whoever has asked hears of it. */
export function unavailable(failure: unknown): InboxUnavailableError {
  return new InboxUnavailableError('FAILED', messageOf(failure), { cause: failure });
}
