import { InboxOpenError, InboxUnavailableError } from '../../errors.ts';
import type { EventKey, StoredEvent } from '../event.ts';
import { unavailable, type CommitOutcome } from '../group-commit.ts';
import { processors, unhandled } from '../queue-operations.ts';
import { seenSince, ignoredTypes } from '../rules/processors.ts';
import type { Attempt, DoneStep, Scope } from '../work.ts';
import { nextDue, type Statements } from './engine/sqlite-store.ts';
import { isBusy, isRowFault } from './opening/database.ts';
import { attemptOf, storedEvent, type EventRow } from './sql/rows.ts';

const reads = {
  get(statements: Statements, { id, endpoint }: EventKey): StoredEvent | null {
    const row = statements.queue.event.get({ id, endpoint });
    return row === undefined ? null : stored(statements, row);
  },
  list: (statements: Statements, after: number, limit: number): readonly StoredEvent[] =>
    statements.queue.eventsAfter.all(after, limit).map((row) => stored(statements, row)),
  nextDue,
  unhandled: ({ store }: Statements, now: number, handledSince = seenSince(now)) => unhandled(store, handledSince),
  ignoredSince: ({ store }: Statements, scope: Scope, since: number, now: number) =>
    ignoredTypes(store.ignoredTypes(scope, since), now),
  processors: ({ store }: Statements, now: number) => processors(store, now),
  steps: ({ queue }: Statements, { id, endpoint }: EventKey): DoneStep[] =>
    queue.stepsOf.all({ id, endpoint }).map(({ at_ms: at, ...step }) => ({ ...step, at: new Date(at) })),
  attempts: ({ queue }: Statements, { id, endpoint }: EventKey): Attempt[] =>
    queue.attemptsOf.all({ id, endpoint }).map(attemptOf),
};

function stored({ queue }: Statements, row: EventRow): StoredEvent {
  return storedEvent(row, queue.redeliveries.get(row.seq), queue.conflict.get(row.seq));
}

export type ReadName = keyof typeof reads;
export type ReadGiven<Name extends ReadName> = (typeof reads)[Name] extends (
  statements: Statements,
  ...given: infer Given
) => unknown
  ? Given
  : never;
export type ReadResult<Name extends ReadName> = ReturnType<(typeof reads)[Name]>;

export function runRead(statements: Statements, name: ReadName, given: readonly unknown[]): unknown {
  return (reads[name] as (statements: Statements, ...given: readonly unknown[]) => unknown)(statements, ...given);
}

export interface Transactions {
  /** Throws busy if another connection has the lock, or another transaction of this connection has not ended. */
  begin(): Statements;
  commit(): void;
  /** If it throws, only its own changes are undone. */
  apart<T>(work: () => T): T;
  /** Also after SQLite itself has rolled back. */
  rollback(): void;
  /** A failure that concerns all rows; the next `begin` may open the file again. */
  failed(failure: unknown): void;
}

/** Synchronous; it may run again after a rollback. */
export type Work = (statements: Statements) => unknown;

export function commitGroup(transactions: Transactions, group: readonly Work[]): readonly CommitOutcome[] {
  try {
    return inOne(transactions, group, (work) => ({ result: work() }));
  } catch (failure) {
    if (isBusy(failure)) return group.map(() => 'busy');
    if (failure instanceof InboxOpenError || failure instanceof InboxUnavailableError) {
      // The file itself is unusable, so no job is tried alone.
      transactions.failed(failure);
      return group.map(() => failed(failure));
    }
  }
  // Probably one row failed: run one transaction again, with a savepoint for each job.
  try {
    return inOne(transactions, group, (work) => {
      try {
        return { result: transactions.apart(work) };
      } catch (failure) {
        if (!isRowFault(failure)) throw failure;
        return failed(failure);
      }
    });
  } catch (failure) {
    if (isBusy(failure)) return group.map(() => 'busy');
  }
  return oneByOne(transactions, group);
}

function inOne(
  transactions: Transactions,
  group: readonly Work[],
  run: (work: () => unknown) => CommitOutcome,
): readonly CommitOutcome[] {
  const statements = transactions.begin();
  try {
    const outcomes = group.map((work) => run(() => work(statements)));
    transactions.commit();
    return outcomes;
  } catch (failure) {
    transactions.rollback();
    throw failure;
  }
}

/** A full file may still have room for a small row. */
function oneByOne(transactions: Transactions, group: readonly Work[]): readonly CommitOutcome[] {
  const outcomes: CommitOutcome[] = [];
  for (const work of group) {
    try {
      outcomes.push(...inOne(transactions, [work], (run) => ({ result: run() })));
    } catch (failure) {
      const outcome = isBusy(failure) ? 'busy' : failed(failure);
      outcomes.push(outcome);
      if (outcome !== 'busy' && isRowFault(failure)) continue;
      if (outcome !== 'busy') transactions.failed(failure);
      return group.map((_, at) => outcomes[at] ?? outcome);
    }
  }
  return outcomes;
}

function failed(failure: unknown): CommitOutcome {
  return { failure: unavailable(failure) };
}
