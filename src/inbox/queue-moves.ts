import { wallTime } from '../host/real-timers.ts';
import type { Inbox } from './contract.ts';
import type { Acceptance, EventKey, IncomingEvent } from './event.ts';
import { mayBeDue } from './pending-events.ts';
import {
  accept,
  announce,
  claimDue,
  claimOne,
  keepStep,
  prune,
  renewLeases,
  rerun,
  settle,
  type SyncStore,
} from './queue-operations.ts';
import type { NumberedClaim, NumberedStart } from './rules/claim.ts';
import type { Content } from './rules/decide-act.ts';
import { continuedSweeps, type Sweep } from './rules/processors.ts';
import type { NewStep } from './rules/store.ts';
import { UnconfirmedClaims, UnconfirmedSettlements } from './unconfirmed-claims.ts';
import type { Lease, ProcessorIdentity, Scope, Settlement } from './work.ts';

/**
 * Moves as data that can be sent to another thread. A move may wait while a lock is held or the machine sleeps: `ms` is
 * the time that passed in this wait. Leases and backoffs begin when they are written.
 */
const moves = {
  accept: (store: SyncStore, ms: number, event: IncomingEvent, start?: NumberedStart) =>
    accept(store, event, start && { ...start, now: start.now + ms }),

  claim: (store: SyncStore, ms: number, request: NumberedClaim, limit: number, newestSeq: number | null) =>
    claimDue(store, claimedLater(request, ms), limit, newestSeq),

  claimOne: (store: SyncStore, ms: number, key: EventKey, request: NumberedClaim) =>
    claimOne(store, key, claimedLater(request, ms)),

  renew: (store: SyncStore, ms: number, leases: readonly Lease[], now: number, leaseMs: number, isClosing: boolean) =>
    renewLeases(store, leases, now + ms, leaseMs, isClosing),

  settle(store: SyncStore, ms: number, lease: Lease, settlement: Settlement, now: number, again: boolean) {
    const hasBackoff = 'dueAt' in settlement && settlement.dueAt !== undefined;
    const settled = hasBackoff ? { ...settlement, dueAt: settlement.dueAt + ms } : settlement;
    return settle(store, lease, settled, now + ms, again);
  },

  keepStep: (store: SyncStore, ms: number, lease: Lease, step: NewStep, now: number) =>
    keepStep(store, lease, step, now + ms),

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
    content: Content,
    now: number,
    readFrom: Uint8Array | undefined,
  ) => rerun(store, key, content, now + ms, readFrom),

  prune: (store: SyncStore, _: number, endpoints: Scope['endpoints'], processedBefore: number, limit: number) =>
    prune(store, endpoints, processedBefore, limit),
};

/** Holders could not renew while the claim waited, so leases that expired in that time do not count. */
function claimedLater({ now, expiredBy = now, ...request }: NumberedClaim, ms: number): NumberedClaim {
  return { ...request, now: now + ms, expiredBy };
}

export type MoveName = keyof typeof moves;
export type MoveGiven<Name extends MoveName> = (typeof moves)[Name] extends (
  store: SyncStore,
  ms: number,
  ...given: infer Given
) => unknown
  ? Given
  : never;
type MoveResult<Name extends MoveName> = ReturnType<(typeof moves)[Name]>;

/** A move as data. */
export interface Move {
  readonly name: MoveName;
  /** those of `name` */
  readonly given: readonly unknown[];
  /** by `wallTime()`, which all threads share */
  readonly requestedAt: number;
}

export function runMove(store: SyncStore, { name, given, requestedAt }: Move): unknown {
  const move = moves[name] as (store: SyncStore, ms: number, ...given: readonly unknown[]) => unknown;
  return move(store, waitedSince(requestedAt), ...given);
}

const MOMENT_MS = 250;

/** The change of the clock since then; negative if it was set back. */
export function waitedSince(requestedAt: number): number {
  const waited = wallTime() - requestedAt;
  return Math.abs(waited) < MOMENT_MS ? 0 : waited;
}

const OVERHEAD_BYTES = 512;

/**
 * The calls of an inbox that make moves.
 *
 * @param engine - `submit` may reject a delivery, and `run` runs any other move
 */
export function callsByMoves({
  submit,
  run,
  notify,
}: {
  readonly submit: (move: Move, bytes: number, deadline: number) => Promise<unknown>;
  readonly run: (move: Move) => Promise<unknown>;
  readonly notify: () => void;
}) {
  const claims = new UnconfirmedClaims({ bits: 32 });
  const settlements = new UnconfirmedSettlements();
  const sweepOn = continuedSweeps();
  const moveSince = <Name extends MoveName>(requestedAt: number, name: Name, ...given: MoveGiven<Name>) =>
    run({ name, given, requestedAt }) as Promise<MoveResult<Name>>; // the result of the move with this name
  const move = <Name extends MoveName>(name: Name, ...given: MoveGiven<Name>) => moveSince(wallTime(), name, ...given);

  return {
    async accept(event, deadline, start) {
      const bytes = event.body.byteLength + OVERHEAD_BYTES;
      const accepted = (...given: MoveGiven<'accept'>) =>
        submit({ name: 'accept', given, requestedAt: wallTime() }, bytes, deadline) as Promise<Acceptance>;
      const acceptance = await (start === undefined
        ? accepted(event)
        : claims.start(start, (numbered) => accepted(event, numbered)));
      if (mayBeDue(acceptance)) notify();
      return acceptance;
    },
    async claim(request, limit, tell = () => {}, tellFull = () => {}, tellSuperseded = () => {}) {
      const requestedAt = wallTime();
      let newest: number | null = null;
      for (;;) {
        const {
          step,
          crashed,
          newestSeq,
          freeAt,
          superseded = [],
        } = await claims.claim(request, (numbered) => moveSince(requestedAt, 'claim', numbered, limit, newest));
        tell(crashed);
        if (superseded.length > 0) tellSuperseded(superseded);
        if (step === 'more') {
          newest = newestSeq;
          continue;
        }
        if (typeof freeAt === 'number') tellFull(freeAt);
        return step;
      }
    },
    async claimOne(key, request, tell = () => {}) {
      const requestedAt = wallTime();
      for (;;) {
        const { step, crashed } = await claims.claim(request, (numbered) =>
          moveSince(requestedAt, 'claimOne', key, numbered),
        );
        tell(crashed);
        if (step !== 'more') return step;
      }
    },
    async renew(leases, now, leaseMs, isClosing = false) {
      const held = await move('renew', leases, now, leaseMs, isClosing);
      // A thread answers with copies, and the caller compares its leases by identity.
      return leases.filter((lease) => held.some(({ seq, fence }) => seq === lease.seq && fence === lease.fence));
    },
    settle: (lease, settlement, now) =>
      settlements.settle(lease, (again) => move('settle', lease, settlement, now, again)),
    keepStep: (lease, step, now) => move('keepStep', lease, step, now),
    announce: (scope, now, ignoreBefore, processor) =>
      sweepOn(scope, (from) => move('announce', scope, now, ignoreBefore, from, processor)),
    leave: (processor) => move('leave', processor),
    async rerun(key, content, now, readFrom) {
      const moved = await move('rerun', key, content, now, readFrom);
      if (moved) notify();
      return moved;
    },
    prune: (endpoints, processedBefore, limit) => move('prune', endpoints, processedBefore, limit),
  } satisfies Partial<Inbox>;
}
