import type { EventKey, IncomingEvent } from '../event.ts';
import type { Counted } from '../operator/counts.ts';
import type { StoredPause } from '../operator/pauses.ts';
import type { ProcessorIdentity, Scope } from '../work.ts';
import type { Times } from './occurrences.ts';
import type { Steps } from './steps.ts';
import type { NextInQueue, SizedEvent, Queue, QueuedEvent, RunningEvent } from './store.ts';

/**
 * What keeps the events: memory, SQLite. The rules of this folder decide, and ask it for statements by these names; it
 * decides nothing. Each rule runs in one transaction, and an answer stays as it was when it was given.
 */
export interface Engine extends Counting, Marks, EntityQueue, Takers, Processors, WaitingTypes, Reruns, Tombstones {}

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

/** The newest processed event of each entity. */
export interface Marks {
  raiseHighWater(event: Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>): Steps<void>;
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

/** What an import saves of deliveries. */
export interface Arrivals {
  saveRedeliveries(seq: number, times: Times): Steps<void>;
  saveConflict(seq: number, times: Times, body: Uint8Array): Steps<void>;
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
  parkedAfter(seq: number, limit: number): Steps<readonly (QueuedEvent & SizedEvent & { readonly type: string })[]>;
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
  toPending(key: EventKey, content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>, now: number): Steps<void>;
}

/** Of an event only a tombstone is kept. */
export interface Tombstones {
  bodyOf(seq: number): Steps<Uint8Array>;
  /** Takes its body away. */
  prune(seq: number, hash: Uint8Array): Steps<void>;
  /** Takes away what the errors of its attempts said, and leaves their names. */
  pruneErrors(seq: number): Steps<void>;
  forgetConflict(seq: number): Steps<void>;
}
