import { InboxOpenError, InboxUnavailableError } from '../../errors.ts';
import { wallTime } from '../../host/real-timers.ts';
import type { EventKey, IncomingEvent, StoredEvent } from '../event.ts';
import {
  accept,
  announce,
  claimDue,
  claimOne,
  processors,
  prune,
  renewLeases,
  rerun,
  settle,
  unhandled,
  type ClaimProgress,
} from '../queue-operations.ts';
import { type Sweep, seenSince, ignoredTypes } from '../rules/processors.ts';
import type { NumberedClaim, NumberedStart } from '../rules/claim.ts';
import type { CrashedEvent, Lease, ProcessorIdentity, Scope, Settlement, ClaimRequest, StartRequest } from '../work.ts';
import { unavailable, type CommitOutcome } from '../group-commit.ts';
import { attemptsOf, nextDue, type Statements } from './engine/sqlite-store.ts';
import { isBusy, isRowFault } from './opening/database.ts';
import { storedEvent } from './sql/rows.ts';

/**
 * What is asked of a file, by name, and made of data, so that it can be asked of another thread. Each of these runs in a
 * transaction that it shares with others. `askedAt` is when it was asked for, on the clock of `wallTime()`.
 */
const moves = {
  accept: ({ store }: Statements, event: IncomingEvent, start?: NumberedStart, askedAt = 0) =>
    accept(store, event, start && startedLater(start, waitedSince(askedAt))),

  claim(
    { store }: Statements,
    request: NumberedClaim,
    limit: number,
    newestSeq: ClaimProgress['newestSeq'],
    askedAt: number,
  ) {
    const progress: ClaimProgress = { newestSeq, crashed: [] };
    const step = claimDue(store, claimedLater(request, waitedSince(askedAt)), limit, progress);
    return { step, ...progress };
  },

  claimOne({ store }: Statements, key: EventKey, request: NumberedClaim, askedAt: number) {
    const crashed: CrashedEvent[] = [];
    return { step: claimOne(store, key, claimedLater(request, waitedSince(askedAt)), { crashed }), crashed };
  },

  renew: (
    { store }: Statements,
    leases: readonly Lease[],
    now: number,
    leaseMs: number,
    isClosing: boolean,
    askedAt: number,
  ) => renewLeases(store, leases, now + waitedSince(askedAt), leaseMs, isClosing),

  settle({ store }: Statements, lease: Lease, settlement: Settlement, now: number, again: boolean, askedAt: number) {
    const ms = waitedSince(askedAt);
    return settle(store, lease, settledLater(settlement, ms), now + ms, again);
  },

  announce(
    { store }: Statements,
    scope: Scope,
    now: number,
    ignoreBefore: number | null,
    from: Sweep,
    processor: ProcessorIdentity | undefined,
    askedAt: number,
  ) {
    const ms = waitedSince(askedAt);
    // Later than it was said to, nothing more is put away.
    const before = ignoreBefore === null ? null : ignoreBefore + Math.min(0, ms);
    return announce(store, scope, now + ms, before, from, processor);
  },

  leave: ({ store }: Statements, processor: string) => store.forgetProcessor(processor),

  rerun: (
    { store }: Statements,
    key: EventKey,
    content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    readFrom: Uint8Array | undefined,
    askedAt: number,
  ) => rerun(store, key, content, now + waitedSince(askedAt), readFrom),

  prune: ({ store }: Statements, endpoints: Scope['endpoints'], processedBefore: number, limit: number) =>
    prune(store, endpoints, processedBefore, limit),
};

/** And these read, outside of a transaction. */
const reads = {
  get(statements: Statements, { id, endpoint }: EventKey): StoredEvent | null {
    const row = statements.getEvent.get({ id, endpoint });
    return row === undefined ? null : storedEvent(row, statements);
  },
  list: (statements: Statements, after: number, limit: number): readonly StoredEvent[] =>
    statements.listEvents.all(after, limit).map((row) => storedEvent(row, statements)),
  nextDue,
  unhandled: ({ store }: Statements, now: number, handledSince = seenSince(now)) => unhandled(store, handledSince),
  ignoredSince: ({ store }: Statements, scope: Scope, since: number, now: number) =>
    ignoredTypes(store.ignoredTypes(scope, since), now),
  processors: ({ store }: Statements, now: number) => processors(store, now),
  attempts: attemptsOf,
};

type Table = Readonly<Record<string, (statements: Statements, ...given: never[]) => unknown>>;
type Given<Of extends Table, Name extends keyof Of> = Of[Name] extends (
  statements: Statements,
  ...given: infer Arguments
) => unknown
  ? Arguments
  : never;

export type MoveName = keyof typeof moves;
export type MoveGiven<Name extends MoveName> = Given<typeof moves, Name>;
export type MoveResult<Name extends MoveName> = ReturnType<(typeof moves)[Name]>;
export type ReadName = keyof typeof reads;
export type ReadGiven<Name extends ReadName> = Given<typeof reads, Name>;
export type ReadResult<Name extends ReadName> = ReturnType<(typeof reads)[Name]>;

/** A move as data. */
export interface Move {
  readonly name: MoveName;
  readonly given: readonly unknown[];
}

export function runMove(statements: Statements, { name, given }: Move): unknown {
  // `given` belongs to `name`: both were put together where their types are known.
  return (moves[name] as (statements: Statements, ...given: readonly unknown[]) => unknown)(statements, ...given);
}

export function runRead(statements: Statements, name: ReadName, given: readonly unknown[]): unknown {
  return (reads[name] as (statements: Statements, ...given: readonly unknown[]) => unknown)(statements, ...given);
}

/** Less does not count. */
const MOMENT_MS = 250;

/**
 * By how much the clock has moved while a move waited for the database, be it set back meanwhile; less than a moment does
 * not count. Whatever remembers the time is given that of when it is written: a time from before the clock was set back
 * would have that made good twice.
 *
 * @param askedAt - of `wallTime()`, which all threads share
 */
export function waitedSince(askedAt: number): number {
  const waited = wallTime() - askedAt;
  return Math.abs(waited) < MOMENT_MS ? 0 : waited;
}

/**
 * A claim is made when it is written, not when it was asked for: a lock may lie in between, while others could not renew
 * their leases either, or the machine has slept, or its clock was set.
 */
function claimedLater<Request extends ClaimRequest>(request: Request, waitedMs: number): Request {
  const { now, expiredBy = now } = request;
  return { ...request, now: now + waitedMs, expiredBy };
}

/** A lease begins when it is written. */
function startedLater<Request extends StartRequest>(request: Request, waitedMs: number): Request {
  return { ...request, now: request.now + waitedMs };
}

/** A backoff begins when it is written. */
function settledLater(settlement: Settlement, waitedMs: number): Settlement {
  const hasBackoff = 'dueAt' in settlement && settlement.dueAt !== undefined;
  return hasBackoff ? { ...settlement, dueAt: settlement.dueAt + waitedMs } : settlement;
}

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
