import type { EventKey, IncomingEvent } from '../event.ts';
import type { Counted } from '../operator/counts.ts';
import type { StoredPause } from '../operator/pauses.ts';
import type { EventState } from '../state.ts';
import type { Lease, ProcessorIdentity, Scope } from '../work.ts';
import type { FirstState } from './first-state.ts';
import type { KnownEvent } from './known-event.ts';
import type { Times } from './occurrences.ts';
import type { Steps } from './steps.ts';
import type { NextInQueue, ParkedEvent, Queue, QueuedEvent } from './store.ts';

/**
 * What keeps the events: memory, SQLite. The rules of this folder decide, and ask it for statements by these names; it
 * decides nothing. Each rule runs in one transaction, and an answer stays as it was when it was given.
 */
export interface Engine extends Arrivals, EntityQueue, Takers, Processors, WaitingTypes, Reruns, Tombstones {}

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

/** The queues of entities. */
export interface EntityQueue {
  /** What may be claimed next in each of these queues; types that were announced since then count as handled. */
  nextInQueues(queues: readonly Queue[], handledSince: number): Steps<readonly NextInQueue[]>;
  unpark(seqs: readonly number[]): Steps<void>;
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

/** What waits, by type. */
export interface WaitingTypes extends Counting, LatestTime, Slices, EntityQueue, Takers {
  /** Adds new events to the indexes that claims read. */
  indexNew(now: number): Steps<void>;
  parkedAfter(seq: number, limit: number): Steps<readonly (QueuedEvent & ParkedEvent & { readonly type: string })[]>;
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
