import type { EventKey } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { EventFilter, PageRequest, SearchOrder } from './filter.ts';

/** A stored event without its body, as lists show it. */
export interface EventSummary extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly deadReason: DeadReason | null;
  readonly receivedAt: Date;
  /** When the event was processed, ignored or discarded, or became dead. */
  readonly settledAt: Date | null;
  /** When a pending event is due. */
  readonly dueAt: Date | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** How many attempts have failed since the event was stored or rerun. */
  readonly failures: number;
  /** How many times the service sent the event again. */
  readonly redeliveries: number;
  /** How many times the service sent a different body with the event's id. */
  readonly conflicts: number;
  /**
   * The latest error of the event. For an invalid event, the places in its body that do not fit the current schemas.
   */
  readonly lastError: { readonly name: string; readonly message: string } | null;
  /** The group of dead events that this event belongs to. `null` for a tombstone. */
  readonly fingerprint: string | null;
  /** `true` for a tombstone: its body is gone. */
  readonly pruned: boolean;
}

/** One page of events. */
export interface EventPage {
  /** Newest first, unless `order` is set. */
  readonly events: readonly EventSummary[];
  /** Pass this value as `before` to get the next page. `null` if all events were examined. */
  readonly next: number | null;
  /** In the order `failed`, pass this value as `beforeAt` to get the next page. */
  readonly nextAt?: Date;
  /** How many events hookbox examined for this page. A page may contain few or no events and still have a `next`. */
  readonly examined: number;
}

/** Dead events whose last errors are the same except for ids, numbers and quoted text. Tombstones are in no group. */
export interface DeadGroup {
  readonly fingerprint: string;
  readonly reason: DeadReason;
  /** The error of the newest event. */
  readonly sample: { readonly name: string; readonly message: string } | null;
  readonly count: number;
  /** `true` if there are more events than `count`. */
  readonly more: boolean;
  readonly newest: EventSummary;
  readonly oldest: EventSummary;
}

/** Retrying events whose last errors are the same except for ids, numbers and quoted text. */
export interface RetryGroup extends Omit<DeadGroup, 'reason'> {
  /** When the first of these events is due. */
  readonly nextDueAt: Date | null;
}

/** A request that its caller can abort. */
export interface Abortable {
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of a search. */
export interface SearchRequest extends PageRequest, Abortable {
  /**
   * The order.
   *
   * @defaultValue `'newest'`
   */
  readonly order?: SearchOrder;
  /** In the order `failed`: the `nextAt` of the previous page. */
  readonly beforeAt?: Date;
}

export interface CountRequest extends Abortable {
  /** at most so many events are looked at */
  readonly examined?: number;
}

/** The number of events that match a filter, counted up to a limit. */
export interface EventCount {
  readonly count: number;
  /** `true` if there are more events than `count`. */
  readonly more: boolean;
  /**
   * `true` if the count ended before all events were examined, for a reason other than the limit. There may be more
   * events than `count`.
   */
  readonly cut: boolean;
}

/** A name by which events can be found. */
export interface FoundName {
  readonly what: 'id' | 'entity' | 'merchant';
  readonly name: string;
}

/** Searches of events. */
export interface Search {
  /**
   * Searches events, newest first unless another order is set. For each page, the inbox examines at most a few thousand
   * events.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  search(filter: EventFilter, page: SearchRequest): Promise<EventPage>;
  /**
   * Counts up to 10,000 events. The function examines at most `examined` events, 20,000 by default; with 0, it examines
   * no events and returns the number only if an index provides it.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  countFound(filter: EventFilter, options: CountRequest): Promise<EventCount>;
  /**
   * Returns the names that begin with a text, in alphabetical order. The names are event ids, entity names, ids in
   * entity names, and merchants. The case of the letters A to Z is ignored. `limit` is the maximum number of names of
   * each kind.
   */
  namesLike(text: string, limit: number): Promise<readonly FoundName[]>;
  /** Returns the summary of one event, or `null` if the event is unknown. */
  summary(key: EventKey): Promise<EventSummary | null>;
  /**
   * Returns the groups of dead events, largest first. At most 200.
   *
   * @throws `signal.reason` if the signal is aborted
   */
  deadGroups(request?: Abortable): Promise<readonly DeadGroup[]>;
  /**
   * Adds one batch of new events to the index of entities and merchants. Returns the number of events that are left to
   * index. Deliveries do not wait for this work, and a search also finds events that are not indexed yet.
   *
   * @param upTo - the `seq` of the last event to index; without it, the returned number also counts events that arrive
   * in the meantime, so it may never reach 0
   */
  indexNew(limit: number, upTo?: number): Promise<number>;
}
