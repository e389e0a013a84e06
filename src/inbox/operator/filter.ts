import type { EventKey } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';

/**
 * Which events are meant; all that is given has to fit. An empty list of types, states or reasons fits nothing. A
 * condition that does not exist is refused, since leaving it out would find more than is meant; so are texts of more than
 * 1,000 characters and lists of more than 100 values.
 */
export interface EventFilter {
  readonly endpoint?: string;
  /** the event with exactly this id */
  readonly id?: string;
  /** one of these events; 100 at most */
  readonly events?: readonly EventKey[];
  /** one of these types */
  readonly types?: readonly string[];
  /** in one of these states */
  readonly states?: readonly EventState[];
  /** dead for one of these reasons */
  readonly deadReasons?: readonly DeadReason[];
  /**
   * received then or later; exact, unless the clock of the receiver's machine was wrong by more than an hour for a while
   */
  readonly since?: Date;
  /** received before then */
  readonly until?: Date;
  /**
   * failed for the last time then or later: a dead event when it died, as long as its body is there, and one that is tried again
   * when its last attempt ended; no other
   */
  readonly failedSince?: Date;
  /** failed for the last time before then */
  readonly failedUntil?: Date;
  /**
   * the name of an entity (`order:mer_7:ord_42`), or the id of what it is about (`ord_42`); of an event without an entity
   * the name that `entityOf` would give it, or the `id`, `order_id`, `cart_id` or `product_id` in its data
   */
  readonly entity?: string;
  /** the `merchant_id` in its data */
  readonly merchant?: string;
  /** text in `name: message` of the error of its last attempt that has one, in any case */
  readonly error?: string;
  /** text in its id, its type, the name of its entity or `name: message` of that error, in any case; not in its body */
  readonly text?: string;
  /**
   * the fingerprint of a group of dead letters, in which there are no tombstones; with `retrying: true` of a group of events
   * that are tried again
   */
  readonly fingerprint?: string;
  /** ignored then or later because nobody handled its type; what an operator has discarded is not found */
  readonly ignoredSince?: Date;
  /** `true`: at least one attempt has failed and there is another to come */
  readonly retrying?: boolean;
  /** delivered more than once, or not */
  readonly redelivered?: boolean;
  /** other bytes came under its id, or not */
  readonly conflict?: boolean;
  /** a bulk action has rerun, discarded or retried now it; known for a week after that ended */
  readonly bulk?: number;
  /** values in its body, as long as that is there; 8 at most */
  readonly body?: readonly BodyCondition[];
}

export interface BodyCondition {
  /** names joined by dots, `[n]` for a place in a list, from 0 and from the body's root on: `data.items[0].name` */
  readonly path: string;
  /** what a string says, or how `true`, `false`, `null` or a number reads; `12.5` and `12.50` are the same number */
  readonly value: string;
}

/**
 * In which order a search goes through events: as they were received, the newest or the oldest first; or `failed`, dead events
 * alone and without tombstones, the one that died last first. Each has an index.
 */
export type SearchOrder = 'newest' | 'oldest' | 'failed';

/** Where to begin a page and how long it is. */
export interface PageRequest {
  /** the `next` of the page before; from the newest on unless given */
  readonly before?: number | null;
  /** at most so many; 50 unless given, 500 at most */
  readonly limit?: number;
}
