import type { Instant } from '../../events/instant.ts';
import type { DeadReason, EventKey, EventState } from '../event.ts';
import type { BreakerReport, NewsOfBreakers, ProbeBegun } from './breakers.ts';
import type { RequestedPause, ClosedLane, EndpointType, StoredPause } from '../rules/pauses.ts';
import type { RatesRequest, StoredRate } from '../rules/rates.ts';
import type {
  Attempt,
  AttemptError,
  ClaimedEvent,
  ClaimRequest,
  CrashedEvent,
  DoneStep,
  Lease,
  LogLine,
  Scope,
} from '../work.ts';

/** SQLite and memory answer immediately, Postgres with a promise. */
export type Mode = 'sync' | 'async';
export type Answer<M extends Mode, T> = M extends 'sync' ? T : Promise<T>;

/**
 * Loads events for claims and settlements, and saves the changes of plans, in one transaction. A claim:
 *
 * 1. `startClaim`: the leases to end, the pauses, and whether a suspect is running
 * 2. `planLeases` ends these leases; `apply` saves that
 * 3. `indexNew`, because SQLite adds an event to the indexes of claims only when a claim looks for it
 * 4. in rounds: `due`, `ClaimPlan.choose`, `apply` for parked events, `lease` for claimed ones
 *
 * `queue-operations.ts` has the operations of SQLite and memory, `postgres/claims.ts` those with `await`. An engine has to
 * pass the suites in test/processing/*.conformance.ts.
 */
export interface Store<M extends Mode> {
  startClaim(request: ClaimStartRequest): Answer<M, ClaimStart>;
  /** `true` if the caller must call again. */
  followClock(request: Pick<ClaimRequest, 'now' | 'leaseMs'>): Answer<M, boolean>;
  newestSeq(): Answer<M, number>;
  /** `true` if some events up to `upTo` are left. */
  indexNew(now: number, upTo: number): Answer<M, boolean>;
  claimState(): Answer<M, ClaimState>;
  /** Of all endpoints with due events for `*`. The caller waits for no other lock while it holds theirs. */
  rates(request: RatesRequest): Answer<M, readonly StoredRate[]>;
  /** Those of these open breakers of which this claim may take a probe. */
  lockProbes(pauses: readonly StoredPause[]): Answer<M, readonly EndpointType[]>;
  /** The longest due first. Leaves out parked events and closed lanes. */
  due(request: DueRequest): Answer<M, DueEvents>;
  /** Returns as many, in their order. The caller holds the slots of the events. */
  bursts(events: readonly DueEvent[], request: DueRequest): Answer<M, readonly (Burst | undefined)[]>;
  nextInQueues(queues: readonly Queue[], handledSince: number): Answer<M, readonly NextInQueue[]>;
  eventToRun(key: EventKey): Answer<M, EventToRun | undefined>;
  /** Returns as many, in their order. */
  lease(events: readonly Candidate[], claim: NewLease): Answer<M, readonly LeasedEvent[]>;
  /**
   * `undefined` if the lease is lost; an expired lease still counts. With `null`, the caller does not need next events
   * of the queues.
   */
  held(leases: readonly Lease[], handledSince: number | null): Answer<M, readonly (HeldEvent | undefined)[]>;
  /** `undefined` if the attempt did not end, if the event was claimed again, or if a claim found it crashed. */
  outcomesUnder(leases: readonly Lease[]): Answer<M, readonly (AttemptOutcome | undefined)[]>;
  /** Keeps a step that already has this name. */
  addStep(event: HeldEvent, step: NewStep, now: number): Answer<M, void>;
  /** Returns the leases that are not lost. */
  renew(leases: readonly Lease[], until: number, isClosing: boolean): Answer<M, readonly Lease[]>;
  noteTime(now: number): Answer<M, void>;
  apply(changes: readonly Change[]): Answer<M, NewsOfBreakers>;
}

/** Pending events of an entity in their order. With `entity: null`, events are independent. */
export interface Queue {
  readonly endpoint: string;
  readonly entity: string | null;
}

export interface QueuedEvent extends Queue {
  readonly seq: number;
}

/**
 * The first pending event of an entity whose type is handled or paused, and that does not yield; it holds back newer
 * ones. An event yields if its attempt failed and newer events need not wait for the next one.
 */
export interface Front {
  readonly seq: number;
  readonly type: string;
  readonly created: Instant;
}

export interface NextInQueue {
  readonly front: (Pick<Front, 'seq' | 'created'> & { readonly bytes: number }) | undefined;
  /** the first parked events before the front: no processor handles their types */
  readonly passed: readonly SizedEvent[];
  readonly yielding: readonly SizedEvent[];
}

/**
 * A claim parks an event that has to wait for another one of its entity; the operation that ends the wait unparks it.
 * The indexes of claims exclude parked events, so a queue of thousands costs a claim nothing. `bytes`: the size of a body,
 * which SQLite writes again with any change of the row.
 */
export interface SizedEvent {
  readonly seq: number;
  readonly bytes: number;
}

export interface ClaimStartRequest {
  readonly now: number;
  readonly claimNumber: number;
  readonly lostClaims: readonly number[];
  readonly expiredBy: number;
  readonly limit: number;
  readonly onlyFor: EventKey | undefined;
  readonly handledSince: number;
}

export interface LeasesToEnd {
  /** events that a lost claim leased; their handlers never ran */
  readonly lost: readonly HeldEvent[];
  readonly crashed: readonly CrashedEvent[];
  readonly expired: readonly ExpiredEvent[];
}

export interface ClaimStart extends LeasesToEnd, ClaimState {
  /** leases or due times from before the clock was set back are not all moved yet */
  readonly isSetBack: boolean;
}

export interface ClaimState {
  readonly pauses: readonly StoredPause[];
  readonly isSuspectRunning: boolean;
}

export interface DueRequest extends Pick<ClaimRequest, 'endpoints' | 'types' | 'now' | 'ordered'> {
  /** `types` may have fewer, because the processor has no room for the others */
  readonly handles: Scope['types'];
  /** types to leave out if `types` is `*` */
  readonly except: readonly string[];
  /** suspects are events that were running when their process crashed */
  readonly includeSuspects: boolean;
  readonly limit: number;
  readonly closed: readonly ClosedLane[];
  readonly handledSince: number;
}

/** An invalid event has no type and no time. */
export interface Candidate extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly crashes: number;
  readonly bytes: number;
}

export interface DueEvents {
  readonly events: readonly DueEvent[];
  /** apart from events that another transaction has locked */
  readonly isAll: boolean;
}

/** The waiting events with the type and entity of a due event. */
export interface Burst {
  readonly newest: DueEvent &
    Pick<WaitingEvent, 'attempts' | 'receivedAt'> & { readonly id: string; readonly dueAt: number };
  /** the others that were not rerun, newest first */
  readonly others: readonly WaitingEvent[];
  /** set if `others` are not all */
  readonly oldest: WaitingEvent | undefined;
  /** without the others, no event would come before the newest */
  readonly isNext: boolean;
}

export interface WaitingEvent extends SizedEvent {
  readonly attempts: number;
  readonly receivedAt: number;
}

export interface DueEvent extends Candidate {
  readonly isProbe?: true;
  /** the handler of an event of this entity may be running */
  readonly hasLease: boolean;
  readonly front: Front | undefined;
  readonly trigger: Attempt['trigger'];
  readonly isSuperseded: boolean;
}

export interface EventToRun extends Omit<DueEvent, 'front' | 'trigger'> {
  readonly state: EventState;
  readonly isInvalid: boolean;
  readonly isPruned: boolean;
}

export interface NewLease {
  readonly now: number;
  readonly until: number;
  /** 0 if the response cannot be lost */
  readonly claimNumber: number;
  readonly ordered: boolean;
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
  readonly yields: boolean;
  /** its handler ran COMMIT itself in `ctx.transaction` */
  readonly hasEffect: boolean;
  /** its handler's transaction is committed; only the lease is left */
  readonly isProcessed: boolean;
  readonly isClosing: boolean;
}

export const NOTHING_NEXT: NextInQueue = Object.freeze({ front: undefined, passed: [], yielding: [] });

export interface HeldEvent extends RunningEvent {
  readonly next: NextInQueue;
  /** its type is handled or paused, so newer events of its entity wait; unknown if none is waiting */
  readonly holdsBack: boolean;
}

export interface ExpiredEvent extends HeldEvent {
  readonly id: string;
  readonly crashes: number;
  readonly bytes: number;
}

/** Engines save all changes of one kind together. */
export type Change =
  | {
      readonly kind: 'attempt ended';
      readonly event: RunningEvent;
      readonly ending: Ending;
      readonly now: number;
      readonly ranMs: number | null;
      /** older events of its entity are superseded from now on */
      readonly supersedes: boolean;
      readonly keepsLease: boolean;
      readonly foundBy?: number;
    }
  | { readonly kind: 'lease ended'; readonly seq: number }
  /** the handler threw after its transaction; changes nothing if the event was claimed again, pruned or erased */
  | {
      readonly kind: 'late error';
      readonly lease: Lease;
      readonly error: AttemptError;
      readonly log?: readonly LogLine[];
    }
  /** a claim renews an expired lease of its processor */
  | { readonly kind: 'lease renewed'; readonly lease: Lease; readonly until: number }
  /** no claim finds a parked event */
  | { readonly kind: 'parked'; readonly seqs: readonly number[] }
  | { readonly kind: 'unparked'; readonly seqs: readonly number[] }
  /** processed without a run */
  | {
      readonly kind: 'superseded';
      readonly seqs: readonly number[];
      readonly by: { readonly id: string; readonly type: string | null };
      readonly now: number;
    }
  | { readonly kind: 'postponed'; readonly events: readonly { readonly seq: number; readonly dueAt: number }[] }
  | { readonly kind: 'type paused'; readonly requested: RequestedPause }
  /** deletes the pauses whose end has passed */
  | { readonly kind: 'pauses ended'; readonly now: number }
  | { readonly kind: 'attempts begun'; readonly rate: StoredRate }
  /** for the breaker of its type */
  | { readonly kind: 'attempt reported'; readonly report: BreakerReport }
  | { readonly kind: 'probe begun'; readonly probe: ProbeBegun };

export type NewStep = Pick<DoneStep, 'name' | 'result'>;

export type Ending = Pick<Attempt, 'outcome' | 'error' | 'skipped' | 'log' | 'limit' | 'processor'> & {
  readonly failed: 0 | 1;
  readonly crashed: 0 | 1;
  /** the count that operators see */
  readonly counted: 'processed' | 'failed' | 'dead' | null;
} & (
    | { readonly state: 'processed' }
    /** `yields` does not change unless set */
    | { readonly state: 'pending'; readonly dueAt: number; readonly yields?: boolean }
    | { readonly state: 'dead'; readonly deadReason: DeadReason; readonly fingerprint: string | null }
  );
