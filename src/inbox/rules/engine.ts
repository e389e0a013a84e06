import type { Instant } from '../../events/instant.ts';
import type { EventKey, IncomingEvent } from '../event.ts';
import type { Counted } from '../operator/counts.ts';
import type { EndpointType, StoredPause } from '../operator/pauses.ts';
import type { EventState } from '../state.ts';
import type {
  Attempt,
  AttemptError,
  ClaimedEvent,
  ClaimRequest,
  CrashedEvent,
  Lease,
  ProcessorIdentity,
  Scope,
} from '../work.ts';
import type { Ending } from './attempt-end.ts';
import type { FirstState } from './first-state.ts';
import type { KnownEvent } from './known-event.ts';
import type { Times } from './occurrences.ts';
import type { Steps } from './steps.ts';

/**
 * What keeps the events: memory, SQLite. The rules of this folder decide, and ask it for statements by these names; it
 * decides nothing. Each rule runs in one transaction, and an answer stays as it was when it was given.
 */
export interface Engine
  extends Arrivals, Claims, Endings, EntityQueue, Takers, Processors, WaitingTypes, Reruns, Tombstones {}

/** Counts for operators; an engine without operators counts nothing. */
export interface Counting {
  readonly counts: {
    count(what: Counted, detail: string): void;
    countType(what: Counted, type: string | null): void;
    /** How long a handler ran, of all types and of its own. */
    countMs(what: 'handler-ms', ms: number, type: string | null): void;
  };
}

/** Bounds one transaction over many events. */
export interface Slices {
  timeSlice(): TimeSlice;
}

export interface TimeSlice {
  /** Counts a row with the length of its body; `true` when it is time to write what came together, and to ask `isOver`. */
  add(bytes: number): boolean;
  /** Whether to stop and leave the rest to another transaction. */
  isOver(): boolean;
}

/** Remembers the time at which leases and due times are written (set-back.ts). */
export interface LatestTime {
  noteTime(now: number): Steps<void>;
}

/** The queue that an event stands in; `null` for events that stand alone. */
export interface Queue {
  readonly endpoint: string;
  readonly entity: string | null;
}

export interface QueuedEvent extends Queue {
  readonly seq: number;
}

/** The queues of entities: their events in the order of `created`, then of arrival. */
export interface EntityQueue extends Slices, Pick<Takers, 'takenTypes' | 'pauses'> {
  /** Whether a lease holds the entity: of an event in processing, or of a processed one whose handler still runs. */
  hasLease(queue: Queue): Steps<boolean>;
  /** The oldest pending event of those that were looked at and hold others back: none that yields. */
  front(queue: Queue): Steps<Front | undefined>;
  /** The same of some types. */
  frontOfTypes(queue: Queue, types: readonly string[]): Steps<Front | undefined>;
  /** Sets an event aside: no claim finds it until it is unparked. */
  park(seq: number): Steps<void>;
  /** Answers with the length of its body, `undefined` when it was not parked. */
  unpark(seq: number): Steps<number | undefined>;
  /** Which are parked of the first pending events of a queue, up to one of them or all of it. */
  parkedUpTo(queue: Queue, last: Front | undefined, limit: number): Steps<readonly number[]>;
  /** The front, with `YIELDING_BATCH` at most of those that yield and are parked. */
  nextOf(queue: Queue): Steps<Next>;
}

/** What may be looked at again when an event has left its queue. */
export interface Next {
  readonly front: Front | undefined;
  /** some of them, by `seq` */
  readonly yielding: readonly number[];
}

export interface Front {
  readonly seq: number;
  readonly type: string;
  readonly created: Instant;
}

/** Who handles what, as processors announce it. */
export interface Takers {
  /** What is paused, of any endpoint: a few at most, as people have said so. */
  pauses(): Steps<readonly StoredPause[]>;
  noteTaker(scope: Scope, now: number): Steps<void>;
  /** The types of an endpoint that somebody handles who was seen after that. */
  takenTypes(endpoint: string, since: number): Steps<Scope['types']>;
  /** When somebody was last seen who handles it; `null` for never. */
  lastSeen(endpoint: string, type: string): Steps<number | null>;
  /** Whether anybody was seen after that, at any endpoint. */
  isAnybodyThere(since: number): Steps<boolean>;
  /** Whether anybody ever handled anything of an endpoint. */
  wasEverHandled(endpoint: string): Steps<boolean>;
}

/** A processor and what it handles; milliseconds since 1970. */
export interface NotedProcessor extends ProcessorIdentity, Scope {
  readonly seenAt: number;
}

/** The processors that run. */
export interface Processors {
  saveProcessor(processor: NotedProcessor): Steps<void>;
  /** Forgets those that were not seen after that. */
  forgetProcessors(notSeenSince: number): Steps<void>;
  forgetProcessor(name: string): Steps<void>;
  /** Those that were seen after that, in the order of their start. */
  processorsAfter(since: number): Steps<readonly NotedProcessor[]>;
  /** When each endpoint and type was last seen to be handled. */
  everTaken(): Steps<readonly { readonly endpoint: string; readonly type: string; readonly at: number }[]>;
}

/** Deliveries come in. */
export interface Arrivals extends Counting, EntityQueue {
  /** Stores an event; `false` when its key is known. */
  insert(event: IncomingEvent, first: FirstState): Steps<boolean>;
  known(key: EventKey): Steps<KnownEvent & StoredBody & { readonly seq: number; readonly entity: string | null }>;
  markVerified(seq: number): Steps<void>;
  /** Puts an event in the place of the one that has its key. */
  replace(seq: number, event: IncomingEvent, first: FirstState): Steps<void>;
  /** When it was sent again; `null` for never. */
  redeliveries(seq: number): Steps<Times | null>;
  saveRedeliveries(seq: number, times: Times): Steps<void>;
  /** When it was sent with other bytes; `null` for never. */
  conflicts(seq: number): Steps<Times | null>;
  saveConflict(seq: number, times: Times, body: Uint8Array): Steps<void>;
}

/** Deliveries of events that can run as soon as they are stored. */
export interface Starts extends Arrivals, LatestTime {
  /** What may have to run before an event that is not stored yet. */
  ahead(event: IncomingEvent): Steps<Ahead>;
  /** Stores an event under a lease, as if it had been claimed; `null` when its key is known. */
  insertRunning(event: IncomingEvent, claim: FirstClaim): Steps<Lease | null>;
}

/** The events that may have to run before a new one. */
export interface Ahead {
  /** `MANY_FRESH` events or more that no processor has looked at */
  readonly isCrowded: boolean;
  readonly isPaused: boolean;
  /** a lease or a pending event of its entity; of a crowd, not all are looked at */
  readonly isEntityBusy: boolean;
  /** a newer event of its entity was processed */
  readonly isSuperseded: boolean;
  /** the latest time at which a lease was written (set-back.ts) */
  readonly latest: number;
  /** times of pending events are being moved back */
  readonly isMovingBack: boolean;
}

/** The lease of an event that is claimed as it is stored. */
export interface FirstClaim {
  readonly now: number;
  readonly until: number;
  readonly number: number;
}

/** A body, or of a tombstone the hash of it. */
export interface StoredBody {
  readonly body: Uint8Array | null;
  readonly hash: Uint8Array | null;
}

/** Processors take events. */
export interface Claims extends Leases, LatestTime {
  /** Moves back what was written before the clock was set back (set-back.ts); `true` when there is more to move. */
  followClock(request: ClaimRequest, slice: TimeSlice): Steps<boolean>;
  /** The event that was stored last; 0 for none. */
  newestSeq(): Steps<number>;
  /** Makes what has arrived up to an event known to `candidates`; `true` when there is more. */
  lookAtFresh(upTo: { readonly now: number; readonly upTo: number }, slice: TimeSlice): Steps<boolean>;
  /** Whether an event that has crashed before is in processing. */
  isSuspectRunning(): Steps<boolean>;
  /**
   * What is due of a scope and not parked, the longest due first. Without `suspects`, none that has crashed; of no type that is
   * paused (`openLanes`).
   */
  candidates(
    request: CandidatesAsked,
    suspects: boolean,
    limit: number,
    pauses: readonly EndpointType[],
  ): Steps<readonly Candidate[]>;
  eventToRun(key: EventKey): Steps<EventToRun | undefined>;
  /** Whether a newer event of its entity was processed. */
  isSuperseded(event: Candidate): Steps<boolean>;
  /**
   * Gives leases on events that are not in processing; answers in their order.
   *
   * @param number - of the claim
   */
  claim(
    seqs: readonly number[],
    now: number,
    until: number,
    number?: number,
  ): Steps<readonly Omit<ClaimedEvent, 'superseded'>[]>;
}

/** Which types there is room for. */
export interface CandidatesAsked extends ClaimRequest {
  /** types that are left out where `types` takes every one */
  readonly except: readonly string[];
}

/** An event that may be claimed. */
export interface Candidate extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly crashes: number;
  /** the length of its body */
  readonly bytes: number;
}

/** An event that a delivery has brought, as far as it decides whether its handler runs now. */
export interface EventToRun extends Candidate {
  readonly state: EventState;
  readonly isInvalid: boolean;
  readonly isPruned: boolean;
}

/** An event under a lease. */
export interface RunningEvent extends QueuedEvent, Lease {
  readonly type: string | null;
  readonly created: Instant | null;
  /** the number of its attempt */
  readonly attempt: number;
  readonly trigger: Attempt['trigger'];
  readonly claimedAt: number;
  /** its handler's transaction was committed, by the handler itself and without the end of the attempt; no unless set */
  readonly hasEffect?: boolean;
  /** its handler's transaction was committed with the end of the attempt; only the lease is left. No unless set */
  readonly isProcessed?: boolean;
  /** its processor has said that it closes; no unless set */
  readonly isClosing?: boolean;
}

/** An event whose lease has run out. */
export interface RanOutEvent extends RunningEvent {
  readonly id: string;
  readonly crashes: number;
  /** the length of its body */
  readonly bytes: number;
}

export interface Leases extends Endings {
  /** What a claim of this number has found crashed. */
  foundBy(number: number): Steps<readonly CrashedEvent[]>;
  /** The events in processing under a claim of this number. */
  claimedUnder(number: number): Steps<readonly RunningEvent[]>;
  /** Extends a lease whose fence still stands; notes whether its processor closes. */
  renew(lease: Lease, until: number, isClosing: boolean): Steps<boolean>;
  /**
   * The events whose lease ended by then.
   *
   * @param before - only this one and those of its entity
   */
  ranOut(by: number, limit: number, before?: EventKey): Steps<readonly RanOutEvent[]>;
}

/** What is kept of how an attempt has ended. */
export interface AttemptEnded extends Pick<Attempt, 'outcome' | 'error' | 'skipped'> {
  /** the number of the claim that has found it crashed */
  readonly foundBy?: number;
}

/** Attempts end. */
export interface Endings extends Counting, LatestTime, EntityQueue {
  /** The event whose lease has this fence, however late it is. */
  held(lease: Lease): Steps<RunningEvent | undefined>;
  /**
   * How the attempt under this fence has ended, while nobody has claimed its event since, and unless a claim has found it
   * crashed.
   */
  outcomeUnder(lease: Lease): Steps<Attempt['outcome'] | 'committed alone' | undefined>;
  /** Writes where an attempt's end leaves its event, which has no lease any more and whose next attempt is no rerun. */
  end(seq: number, ending: Ending, now: number): Steps<void>;
  /** The event is processed, and keeps its lease. */
  processedUnderLease(seq: number, now: number): Steps<void>;
  /** Ends the lease of an event that is processed. */
  endLease(seq: number): Steps<void>;
  /**
   * Notes on a processed attempt the error that its handler threw later, unless its event was claimed since. Notes nothing
   * if the body is gone, because pruning and erasing also remove the texts of errors.
   */
  noteLateError(lease: Lease, error: AttemptError): Steps<void>;
  addAttempt(event: RunningEvent, ending: AttemptEnded, now: number): Steps<void>;
  /** Remembers the newest event of an entity that was processed. */
  raiseHighWater(event: Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>): Steps<void>;
}

/** What waits, by type. */
export interface WaitingTypes extends Counting, LatestTime, Slices, EntityQueue, Takers, Pick<Claims, 'lookAtFresh'> {
  parkedAfter(seq: number, limit: number): Steps<readonly (QueuedEvent & { readonly type: string })[]>;
  /** The endpoints of a scope at which something pending is not parked, always in the same order. */
  readyEndpoints(endpoints: Scope['endpoints']): Steps<readonly string[]>;
  /** The first type there of what is pending and not parked, from a text on. */
  nextReadyType(endpoint: string, from: string): Steps<string | null>;
  /** What is due since then, pending and not parked. */
  waitingOfType(
    lane: { readonly endpoint: string; readonly type: string },
    dueBy: number,
    limit: number,
  ): Steps<readonly (QueuedEvent & { readonly bytes: number })[]>;
  ignore(seq: number, now: number): Steps<void>;
  /** Everything that is pending, with when the first of it was due; each count ends at some bound. */
  pendingTypes(): Steps<readonly (TypeTotal & { readonly dueAt: number })[]>;
  /** What was put away since then for want of a handler; each count ends at some bound. */
  ignoredTypes(scope: Scope, since: number): Steps<readonly TypeTotal[]>;
}

export interface TypeTotal {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
}

/** An event is rerun. */
export interface Reruns extends Counting, LatestTime {
  eventToRerun(key: EventKey, readFrom: Uint8Array | undefined): Steps<EventToRerun | undefined>;
  toPending(key: EventKey, content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>, now: number): Steps<void>;
}

/** Of an event only a tombstone is kept. */
export interface Tombstones extends Slices {
  /** Events with a body that were processed before. */
  prunable(endpoints: Scope['endpoints'], before: number, limit: number): Steps<readonly number[]>;
  bodyOf(seq: number): Steps<Uint8Array>;
  /** Takes its body away. */
  prune(seq: number, hash: Uint8Array): Steps<void>;
  /** Takes away what the errors of its attempts said, and leaves their names. */
  pruneErrors(seq: number): Steps<void>;
  forgetConflict(seq: number): Steps<void>;
}

export interface EventToRerun {
  readonly state: EventState;
  readonly isPruned: boolean;
  /** its body is still the one that was read */
  readonly isAsRead: boolean;
}
