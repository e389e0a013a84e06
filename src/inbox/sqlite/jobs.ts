import type { EventKey, IncomingEvent, StoredEvent } from '../event.ts';
import { type Sweep, seenSince, ignoredTypes } from '../rules/processors.ts';
import type { NumberedClaim, NumberedStart } from '../rules/claim.ts';
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
import type { CrashedEvent, Lease, ProcessorIdentity, Scope, Settlement } from '../work.ts';
import { attemptsOf } from './engine/attempts.ts';
import { nextDue } from './engine/next-due.ts';
import { storedEvent } from './sql/records.ts';
import type { Statements } from './statements.ts';
import { claimedLater, settledLater, startedLater, waitedSince } from './waited-time.ts';

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
