import type { EventKey } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { EventFilter, PageRequest, SearchOrder } from './filter.ts';

/** A stored event as lists show it: everything but its bytes. */
export interface EventSummary extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly deadReason: DeadReason | null;
  readonly receivedAt: Date;
  /** when it was processed, declared dead or ignored */
  readonly settledAt: Date | null;
  /** when a pending event may be claimed */
  readonly dueAt: Date | null;
  /** how many runs of a handler have begun */
  readonly attempts: number;
  /** how many have failed since it was stored or rerun */
  readonly failures: number;
  /** how often the service sent it again */
  readonly redeliveries: number;
  /** how often it was sent with other bytes */
  readonly conflicts: number;
  /** of its last attempt that has one; of an invalid event, what today's schemas find wrong with it */
  readonly lastError: { readonly name: string; readonly message: string } | null;
  /** the group of dead letters that it belongs to; `null` for a tombstone */
  readonly fingerprint: string | null;
  /** a tombstone: its body is gone */
  readonly pruned: boolean;
}

export interface EventPage {
  /** newest first, unless another order was asked for */
  readonly events: readonly EventSummary[];
  /** where the next page begins: give it as `before`; `null` when everything was looked at */
  readonly next: number | null;
  /** of the order `failed`, wherever there is a next page: give it as `beforeAt`, as it is */
  readonly nextAt?: Date;
  /** how many stored events were looked at for this page. A page may have few events, or none, and still have a next one. */
  readonly examined: number;
}

/** Dead events whose last errors say the same, but for ids, numbers and quoted text; tombstones are in no group. */
export interface DeadGroup {
  readonly fingerprint: string;
  readonly reason: DeadReason;
  /** the error of the newest one */
  readonly sample: { readonly name: string; readonly message: string } | null;
  readonly count: number;
  /** there are more than `count` */
  readonly more: boolean;
  readonly newest: EventSummary;
  readonly oldest: EventSummary;
}

/** Events that are tried again and whose last errors say the same, but for ids, numbers and quoted text. */
export interface RetryGroup extends Omit<DeadGroup, 'reason'> {
  /** when the first of them is tried again, or was to be */
  readonly nextDueAt: Date | null;
}

/** A request that its caller may abort. */
export interface Abortable {
  /** ends the request when its caller no longer waits */
  readonly signal?: AbortSignal | undefined;
}

/** A page of a search. */
export interface SearchRequest extends PageRequest, Abortable {
  /** the newest first unless given */
  readonly order?: SearchOrder;
  /** in the order `failed`: the `nextAt` of the page before */
  readonly beforeAt?: Date;
}

export interface CountRequest extends Abortable {
  /** at most so many events are looked at */
  readonly examined?: number;
}

/** How many events a filter finds, counted up to a bound. */
export interface EventCount {
  readonly count: number;
  /** there are more than `count` */
  readonly more: boolean;
  /** counting ended before it had looked at all events, and not because there are so many: there may be more than `count` */
  readonly cut: boolean;
}

/** A name that events are found by. */
export interface FoundName {
  readonly what: 'id' | 'entity' | 'merchant';
  readonly name: string;
}

/** Finding events without reading all of them. */
export interface Search {
  /**
   * Newest first, unless another order is asked for. Looks at no more than a few thousand events for one page, and says where to go on.
   *
   * @throws the signal's reason when it was aborted
   */
  search(filter: EventFilter, page: SearchRequest): Promise<EventPage>;
  /**
   * Counts up to 10,000 events, and looks at no more than `examined` for that, 20,000 unless given; with 0 only what an index knows
   * is counted.
   *
   * @throws the signal's reason when it was aborted
   */
  countFound(filter: EventFilter, options: CountRequest): Promise<EventCount>;
  /**
   * Ids of events, names or ids of what they are about, and merchants that begin with a text in any case (of A to Z), in the
   * order of their letters; at most so many of each.
   */
  namesLike(text: string, limit: number): Promise<readonly FoundName[]>;
  /** The summary of one event, or `null`. */
  summary(key: EventKey): Promise<EventSummary | null>;
  /**
   * The groups of dead events, the largest first; 200 at most.
   *
   * @throws the signal's reason when it was aborted
   */
  deadGroups(request?: Abortable): Promise<readonly DeadGroup[]>;
  /**
   * Makes newly stored events known to the index of entities and merchants, a batch at a time; resolves with how many are
   * left. Deliveries do not wait for this, and a search finds events that are not in it yet.
   *
   * @param upTo - the `seq` of the last event that matters; without it, what comes in meanwhile may be left again
   */
  indexNew(limit: number, upTo?: number): Promise<number>;
}
