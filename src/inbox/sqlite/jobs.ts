import { InboxOpenError, InboxUnavailableError } from '../../errors.ts';
import { wallTime } from '../../host/real-timers.ts';
import type { EventKey, IncomingEvent, StoredEvent } from '../event.ts';
import { unavailable, type CommitOutcome } from '../group-commit.ts';
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
  type SyncStore,
} from '../queue-operations.ts';
import { type Sweep, seenSince, ignoredTypes } from '../rules/processors.ts';
import type { NumberedClaim, NumberedStart } from '../rules/claim.ts';
import type { Attempt, CrashedEvent, Lease, ProcessorIdentity, Scope, Settlement } from '../work.ts';
import { nextDue, type Statements } from './engine/sqlite-store.ts';
import { isBusy, isRowFault } from './opening/database.ts';
import { attemptOf, storedEvent, type EventRow } from './sql/rows.ts';

/**
 * Moves as data that can be sent to another thread. A move may wait while a lock is held or the machine sleeps: `ms` is
 * by how much the clock has moved. Leases and backoffs begin when they are written.
 */
const moves = {
  accept: (store: SyncStore, ms: number, event: IncomingEvent, start?: NumberedStart) =>
    accept(store, event, start && { ...start, now: start.now + ms }),

  claim(store: SyncStore, ms: number, request: NumberedClaim, limit: number, newestSeq: ClaimProgress['newestSeq']) {
    const progress: ClaimProgress = { newestSeq, crashed: [] };
    const step = claimDue(store, claimedLater(request, ms), limit, progress);
    return { step, ...progress };
  },

  claimOne(store: SyncStore, ms: number, key: EventKey, request: NumberedClaim) {
    const crashed: CrashedEvent[] = [];
    return { step: claimOne(store, key, claimedLater(request, ms), { crashed }), crashed };
  },

  renew: (store: SyncStore, ms: number, leases: readonly Lease[], now: number, leaseMs: number, isClosing: boolean) =>
    renewLeases(store, leases, now + ms, leaseMs, isClosing),

  settle(store: SyncStore, ms: number, lease: Lease, settlement: Settlement, now: number, again: boolean) {
    const hasBackoff = 'dueAt' in settlement && settlement.dueAt !== undefined;
    const settled = hasBackoff ? { ...settlement, dueAt: settlement.dueAt + ms } : settlement;
    return settle(store, lease, settled, now + ms, again);
  },

  announce(
    store: SyncStore,
    ms: number,
    scope: Scope,
    now: number,
    ignoreBefore: number | null,
    from: Sweep,
    processor: ProcessorIdentity | undefined,
  ) {
    const before = ignoreBefore === null ? null : ignoreBefore + Math.min(0, ms);
    return announce(store, scope, now + ms, before, from, processor);
  },

  leave: (store: SyncStore, _: number, processor: string) => store.forgetProcessor(processor),

  rerun: (
    store: SyncStore,
    ms: number,
    key: EventKey,
    content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    readFrom: Uint8Array | undefined,
  ) => rerun(store, key, content, now + ms, readFrom),

  prune: (store: SyncStore, _: number, endpoints: Scope['endpoints'], processedBefore: number, limit: number) =>
    prune(store, endpoints, processedBefore, limit),
};

/** Holders could not renew while the claim waited, so leases that expired meanwhile do not count. */
function claimedLater({ now, expiredBy = now, ...request }: NumberedClaim, ms: number): NumberedClaim {
  return { ...request, now: now + ms, expiredBy };
}

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
  attempts: ({ queue }: Statements, { id, endpoint }: EventKey): Attempt[] =>
    queue.attemptsOf.all({ id, endpoint }).map(attemptOf),
};

function stored({ queue }: Statements, row: EventRow): StoredEvent {
  return storedEvent(row, queue.redeliveries.get(row.seq), queue.conflict.get(row.seq));
}

export type MoveName = keyof typeof moves;
export type MoveGiven<Name extends MoveName> = (typeof moves)[Name] extends (
  store: SyncStore,
  ms: number,
  ...given: infer Given
) => unknown
  ? Given
  : never;
export type MoveResult<Name extends MoveName> = ReturnType<(typeof moves)[Name]>;
export type ReadName = keyof typeof reads;
export type ReadGiven<Name extends ReadName> = (typeof reads)[Name] extends (
  statements: Statements,
  ...given: infer Given
) => unknown
  ? Given
  : never;
export type ReadResult<Name extends ReadName> = ReturnType<(typeof reads)[Name]>;

export interface Move {
  readonly name: MoveName;
  readonly given: readonly unknown[];
  /** by `wallTime()`, which all threads share */
  readonly askedAt: number;
}

export function runMove({ store }: Statements, { name, given, askedAt }: Move): unknown {
  const move = moves[name] as (store: SyncStore, ms: number, ...given: readonly unknown[]) => unknown;
  return move(store, waitedSince(askedAt), ...given);
}

export function runRead(statements: Statements, name: ReadName, given: readonly unknown[]): unknown {
  return (reads[name] as (statements: Statements, ...given: readonly unknown[]) => unknown)(statements, ...given);
}

const MOMENT_MS = 250;

/** By how much the clock has moved since then; negative if it was set back. */
export function waitedSince(askedAt: number): number {
  const waited = wallTime() - askedAt;
  return Math.abs(waited) < MOMENT_MS ? 0 : waited;
}

export interface Transactions {
  /** Throws busy if another connection has the lock. */
  begin(): Statements;
  commit(): void;
  /** If it throws, only its own changes are undone. */
  apart<T>(work: () => T): T;
  /** Also after SQLite has rolled back by itself. */
  rollback(): void;
  /** A failure that is not one row's; the next `begin` may open the file again. */
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
  // Most likely one row failed: one transaction again, with a savepoint for each job.
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

/** In a full file, a small row may still find room. */
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
