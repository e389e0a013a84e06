import type { EventKey, IncomingEvent } from '../event.ts';
import type { Counted } from '../operator/counts.ts';
import type { StoredPause } from '../operator/pauses.ts';
import type { Scope } from '../work.ts';
import type { Times } from './occurrences.ts';
import type { Steps } from './steps.ts';
import type { NextInQueue, Queue } from './store.ts';

/**
 * What keeps the events: memory, SQLite. The rules of this folder decide, and ask it for statements by these names; it
 * decides nothing. Each rule runs in one transaction, and an answer stays as it was when it was given.
 */
export interface Engine extends Counting, EntityQueue, Takers, Reruns, Tombstones {}

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
  /** The types of an endpoint that somebody handles who was seen after that. */
  takenTypes(endpoint: string, since: number): Steps<Scope['types']>;
  /** When somebody was last seen who handles it; `null` for never. */
  lastSeen(endpoint: string, type: string): Steps<number | null>;
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
