import type { Instant } from '../../events/instant.ts';
import type { DeadReason, EventKey, EventState } from '../event.ts';
import type { StoredPause } from '../rules/pauses.ts';
import type { Attempt, AttemptError, ClaimedEvent, ClaimRequest, CrashedEvent, Lease, Scope } from '../work.ts';

/** How an engine answers: SQLite and memory immediately, Postgres with a promise. */
export type Mode = 'sync' | 'async';
export type Answer<M extends Mode, T> = M extends 'sync' ? T : Promise<T>;

/**
 * Everything that claims and settlements need of an engine. An operation opens a transaction, loads events with these
 * methods, lets a plan decide without a database, and saves the changes of the plan. A claim:
 *
 * 1. `startClaim`: the leases that have to end, the pauses, and whether a suspect is running
 * 2. `planLeases` ends these leases; `apply` saves that
 * 3. `indexNew`, because SQLite adds an event to the indexes of claims only when a claim looks for it
 * 4. in rounds: `due`, `ClaimPlan.choose`, `apply` for parked events, `lease` for claimed ones
 *
 * `queue-operations.ts` has the operations of SQLite and memory, and `postgres/claims.ts` has
 * the same with `await`. An engine has to pass the suites in test/processing/*.conformance.ts.
 */
export interface Store<M extends Mode> {
  startClaim(asked: StartAsked): Answer<M, ClaimStart>;
  /** Follows a clock that was set back (claim.ts); `true` if the caller must call again. */
  followClock(request: Pick<ClaimRequest, 'now' | 'leaseMs'>): Answer<M, boolean>;
  newestSeq(): Answer<M, number>;
  /** Adds events up to `upTo` to the indexes that claims read; `true` if some are left. */
  indexNew(now: number, upTo: number): Answer<M, boolean>;
  claimState(): Answer<M, ClaimState>;
  /** Due events of a scope, the longest due first. Leaves out parked events and paused types. */
  due(asked: DueAsked): Answer<M, DueEvents>;
  eventToRun(key: EventKey): Answer<M, EventToRun | undefined>;
  /** Gives a lease to each of these events, and returns as many, in their order. */
  lease(events: readonly Candidate[], claim: NewLease): Answer<M, readonly LeasedEvent[]>;
  /**
   * The event under each of these leases; `undefined` if the lease is lost. An expired lease still counts. With `null`, the
   * caller does not need what is next in the queues.
   */
  held(leases: readonly Lease[], handledSince: number | null): Answer<M, readonly (HeldEvent | undefined)[]>;
  /**
   * How the attempt under each of these leases ended; `undefined` if it did not, if the event was claimed again, or if a
   * claim found it crashed.
   */
  outcomesUnder(leases: readonly Lease[]): Answer<M, readonly (AttemptOutcome | undefined)[]>;
  /** Extends the leases that are not lost, and returns them; notes whether their processor is closing. */
  renew(leases: readonly Lease[], until: number, isClosing: boolean): Answer<M, readonly Lease[]>;
  noteTime(now: number): Answer<M, void>;
  apply(changes: readonly Change[]): Answer<M, void>;
}

/** The queue of an entity: its pending events in their order. With `entity: null` it is no queue: such events are independent. */
export interface Queue {
  readonly endpoint: string;
  readonly entity: string | null;
}

export interface QueuedEvent extends Queue {
  readonly seq: number;
}

/**
 * The front of a queue holds back newer events of its entity: it is the first pending event whose type is handled or paused,
 * and that does not yield. An event yields if its attempt failed and newer events need not wait for the next one.
 */
export interface Front {
  readonly seq: number;
  readonly type: string;
  readonly created: Instant;
}

export interface NextInQueue {
  readonly front: (Pick<Front, 'seq' | 'created'> & { readonly bytes: number }) | undefined;
  /** the first parked events before it: no processor handles their types */
  readonly passed: readonly SizedEvent[];
  /** the first parked events that yield */
  readonly yielding: readonly SizedEvent[];
}

/**
 * An event with the length of its body. A parked event is pending, but in no index that claims read. A claim parks an event that
 * has to wait for another one of its entity; the operation that ends the wait unparks it. So a queue of thousands costs a claim
 * nothing.
 */
export interface SizedEvent {
  readonly seq: number;
  /** the length of its body: SQLite writes the body again with any change of the row */
  readonly bytes: number;
}

export interface StartAsked {
  readonly now: number;
  readonly claimNumber: number;
  readonly lostClaims: readonly number[];
  readonly expiredBy: number;
  readonly limit: number;
  /** only the leases of this event and of its entity, because this event is to run */
  readonly onlyFor: EventKey | undefined;
  readonly handledSince: number;
}

/** The leases that a claim ends before it gives out new ones. */
export interface LeasesToEnd {
  /** events that a lost claim leased; their handlers never ran */
  readonly lost: readonly HeldEvent[];
  readonly crashed: readonly CrashedEvent[];
  readonly expired: readonly ExpiredEvent[];
}

export interface ClaimStart extends LeasesToEnd, ClaimState {
  /** the clock was set back since leases or due times were written, and not all of them are moved */
  readonly isSetBack: boolean;
}

export interface ClaimState {
  readonly pauses: readonly StoredPause[];
  readonly isSuspectRunning: boolean;
}

export interface DueAsked extends Pick<ClaimRequest, 'endpoints' | 'types' | 'now' | 'ordered'> {
  /** the types that this processor handles; `types` may have fewer, because it has no room for the others */
  readonly handles: Scope['types'];
  /** types that are left out if `types` is `*` */
  readonly except: readonly string[];
  /** suspects are events that were running when their process crashed */
  readonly includeSuspects: boolean;
  readonly limit: number;
  readonly pauses: readonly StoredPause[];
  readonly handledSince: number;
}

/** An event that may be claimed. An invalid event has no type and no time. */
export interface Candidate extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly crashes: number;
  readonly bytes: number;
}

export interface DueEvents {
  readonly events: readonly DueEvent[];
  /** whether no other event is due, apart from events that another transaction has locked */
  readonly isAll: boolean;
}

/** A due event, with the facts that decide whether it may run; its handler learns whether it is superseded. */
export interface DueEvent extends Candidate {
  /** a lease of its entity exists: its handler, or that of another event, may be running */
  readonly hasLease: boolean;
  readonly front: Pick<Front, 'seq' | 'created'> | undefined;
  readonly isSuperseded: boolean;
}

export interface EventToRun extends Omit<DueEvent, 'front'> {
  readonly state: EventState;
  readonly isInvalid: boolean;
  readonly isPruned: boolean;
}

export interface NewLease {
  readonly now: number;
  readonly until: number;
  /** by which a later claim finds these leases if the answer is lost; 0 if it cannot be lost */
  readonly claimNumber: number;
  /** no other event of its entity gets a lease meanwhile */
  readonly ordered: boolean;
  /** no other suspect gets a lease meanwhile */
  readonly exclusive: boolean;
}

export type LeasedEvent = Omit<ClaimedEvent, 'superseded'>;

export type AttemptOutcome = Attempt['outcome'] | 'committed alone';

export interface RunningEvent extends QueuedEvent, Lease {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly attempt: number;
  readonly trigger: Attempt['trigger'];
  readonly claimedAt: number;
  /** newer events of its entity need not wait for its next attempt */
  readonly yields: boolean;
  /** its handler ran COMMIT itself in `ctx.transaction`, without the end of the attempt (attempt.ts) */
  readonly hasEffect: boolean;
  /** its handler's transaction was committed together with the end of the attempt; only the lease is left */
  readonly isProcessed: boolean;
  readonly isClosing: boolean;
}

/** Nothing is waiting in a queue, or the caller does not need to know. */
export const NOTHING_NEXT: NextInQueue = Object.freeze({ front: undefined, passed: [], yielding: [] });

export interface HeldEvent extends RunningEvent {
  readonly next: NextInQueue;
  /** its type is handled or paused: while it is pending, newer events of its entity wait; unknown if none is waiting */
  readonly holdsBack: boolean;
}

export interface ExpiredEvent extends HeldEvent {
  readonly id: string;
  readonly crashes: number;
  readonly bytes: number;
}

/** A change of events. Engines save all changes of one kind together. */
export type Change =
  | {
      readonly kind: 'attempt ended';
      readonly event: RunningEvent;
      readonly ending: Ending;
      readonly now: number;
      /** how long the handler ran; `null` if that does not count */
      readonly ranMs: number | null;
      /** older events of its entity are superseded from now on */
      readonly supersedes: boolean;
      readonly keepsLease: boolean;
      readonly foundBy?: number;
    }
  /** the handler of a processed event has ended */
  | { readonly kind: 'lease ended'; readonly seq: number }
  /** the handler threw after its transaction; nothing changes if the event was claimed again, pruned or erased */
  | { readonly kind: 'late error'; readonly lease: Lease; readonly error: AttemptError }
  /** a claim renews an expired lease of its own processor */
  | { readonly kind: 'lease renewed'; readonly lease: Lease; readonly until: number }
  /** no claim finds a parked event */
  | { readonly kind: 'parked'; readonly seqs: readonly number[] }
  | { readonly kind: 'unparked'; readonly seqs: readonly number[] };

/** What an attempt's end makes of its event, and of the attempt. */
export type Ending = Pick<Attempt, 'outcome' | 'error' | 'skipped'> & {
  readonly failed: 0 | 1;
  readonly crashed: 0 | 1;
  /** what operators see counted; `null` where it does not count */
  readonly counted: 'processed' | 'failed' | 'dead' | null;
} & (
    | { readonly state: 'processed' }
    /** `yields`: whether newer events of its entity may pass; unless set, that stays as it was */
    | { readonly state: 'pending'; readonly dueAt: number; readonly yields?: boolean }
    | { readonly state: 'dead'; readonly deadReason: DeadReason; readonly fingerprint: string | null }
  );
