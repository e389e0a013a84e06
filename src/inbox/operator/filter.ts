import type { EventKey } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';

/**
 * Conditions for events. An event must match all of these conditions. An empty list matches no event. hookbox throws
 * for unknown conditions, texts longer than 1,000 characters and lists with more than 100 values.
 */
export interface EventFilter {
  readonly endpoint?: string;
  /** The event with this exact id. */
  readonly id?: string;
  /** One of these events; at most 100. */
  readonly events?: readonly EventKey[];
  /** One of these types. */
  readonly types?: readonly string[];
  /** In one of these states. */
  readonly states?: readonly EventState[];
  /** Dead for one of these reasons. */
  readonly deadReasons?: readonly DeadReason[];
  /** Received at or after this time. The result is exact unless the receiver's clock was wrong by more than an hour. */
  readonly since?: Date;
  /** Received before this time. */
  readonly until?: Date;
  /**
   * Last failed at or after this time. A dead event matches by the time when it became dead, as long as its body is
   * stored. A retrying event matches by the end of its last attempt. Other events do not match.
   */
  readonly failedSince?: Date;
  /** Last failed before this time. */
  readonly failedUntil?: Date;
  /**
   * The name of an entity (`order:mer_7:ord_42`), or the id in that name (`ord_42`). For an event without an entity:
   * the name that `entityOf` returns, or the `id`, `order_id`, `cart_id` or `product_id` in its data.
   */
  readonly entity?: string;
  /** The `merchant_id` in the data of the event. */
  readonly merchant?: string;
  /** Text in the latest error of the event, written as `name: message`, ignoring case. */
  readonly error?: string;
  /** Text in the id, type, entity name or latest error of the event, ignoring case. Bodies are not searched. */
  readonly text?: string;
  /**
   * The fingerprint of a group of dead events or, with `retrying: true`, of a group of retrying events. Tombstones
   * never match.
   */
  readonly fingerprint?: string;
  /** Ignored at or after this time because no processor handled its type. */
  readonly ignoredSince?: Date;
  /** `true`: an attempt failed and another will follow. */
  readonly retrying?: boolean;
  /** Whether the event was delivered more than once. */
  readonly redelivered?: boolean;
  /** Whether a different body was delivered with the id of the event. */
  readonly conflict?: boolean;
  /**
   * The id of a bulk action that acted on the event. hookbox keeps the list of these events for a week after the bulk
   * action ends.
   */
  readonly bulk?: number;
  /** Values in the body of the event, if the body is still stored. At most 8. */
  readonly body?: readonly BodyCondition[];
}

/** A value in the body of an event. */
export interface BodyCondition {
  /** The path from the root: names joined by dots, and `[n]` for an index from 0, as in `data.items[0].name`. */
  readonly path: string;
  /**
   *  The value as text: the text of a string, or `true`, `false`, `null` or a number. `12.5` and `12.50` are the same
   *  number.
   */
  readonly value: string;
}

/**
 * The order of a search. `newest` and `oldest` sort by arrival. `failed` lists only dead events that are not
 * tombstones, most recently dead first. Each order uses an index.
 */
export type SearchOrder = 'newest' | 'oldest' | 'failed';

/** The start and size of a page. */
export interface PageRequest {
  /**
   * The `next` of the previous page.
   *
   * @defaultValue the newest
   */
  readonly before?: number | null;
  /**
   * The maximum number of entries, 500 or less.
   *
   * @defaultValue 50
   */
  readonly limit?: number;
}
