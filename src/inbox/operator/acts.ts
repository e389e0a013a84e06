import type { EntityOf } from '../../events/entity.ts';
import type { EventKey } from '../event.ts';
import type { OutcomePart } from './bulk-outcome.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { EventFilter, PageRequest } from './filter.ts';

/** The operator of an act, for the audit. */
export interface By {
  /** A name that identifies the person, such as `ada` or `ada@shop-1`. */
  readonly actor: string;
  /**
   * The tool.
   *
   * @defaultValue `'code'`
   */
  readonly via?: 'code' | 'cli' | 'page';
  /** Why. */
  readonly reason?: string;
  /**
   * Milliseconds since 1970.
   *
   * @defaultValue now
   */
  readonly now?: number;
}

/** The operators' acts on events. */
export type Act =
  /** Run the handler again: for dead events; for ignored and discarded ones if asked for; for processed ones with `force`. */
  | 'rerun'
  /** Discard dead and pending events, so that no handler runs. */
  | 'discard'
  /** Make a retrying event due now. Nothing else changes. */
  | 'retry-now';

/** The result of an act on one event. */
export type ActResult =
  /** The act was done. */
  | 'done'
  /** No event has this key. */
  | 'unknown'
  /**
   * The act does not apply to the state of the event. It already has the result, or it is in processing, or it is
   * processed and not forced. A retry now applies only to a pending event that is due later.
   */
  | 'not needed'
  /** The event is not in one of `states`, for example because another operator discarded it. */
  | 'changed'
  /**
   * The body does not fit the current schemas either, so the event cannot be rerun. A `dead(invalid)` event cannot be
   * discarded, because a discarded event has a type and a time. It stays dead. After it is pruned or erased it is a
   * tombstone and does not count.
   */
  | 'still invalid'
  /** The body is gone, so the event cannot be rerun. An invalid event cannot be discarded either. */
  | 'pruned';

/** How many events had each result. */
export type ActCounts = Readonly<Partial<Record<ActResult, number>>>;

/** The results of an act. */
export interface ActReport {
  /** In the order of the given keys. */
  readonly results: readonly { readonly key: EventKey; readonly result: ActResult }[];
  readonly counts: ActCounts;
  /** The `seq` of its audit line. */
  readonly audit: number;
}

/** The options of an act. */
export interface ActOptions {
  /** Act only on events in these states, such as the state that was shown. Other events stay unchanged and are reported as `changed`. */
  readonly states?: readonly EventState[];
  /**
   * `true` lets a rerun include processed events. Their handlers run once more.
   *
   * @defaultValue `false`
   */
  readonly force?: boolean;
  /** The `entity` option of your receiver, if it has one. It names the entities of invalid events. */
  readonly entity?: EntityOf;
}

/** A bulk action: an act on all events that matched a filter at one moment. Later events are not part of it. */
export interface Bulk {
  readonly id: number;
  readonly act: Act;
  /** `previewed` waits for a run. If the process of a `running` bulk action is gone, any process can resume it. */
  readonly state: 'previewed' | 'running' | 'done' | 'cancelled';
  readonly filter: EventFilter;
  readonly force: boolean;
  /** The operator who previewed it or, after the start, the operator who runs it. */
  readonly actor: string;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** The number of events. */
  readonly total: number;
  /** The events at the preview, by kind. */
  readonly breakdown: {
    readonly states: Readonly<Partial<Record<EventState, number>>>;
    /** By type. `invalid` for events without a readable type; `other` for types after the first hundred. */
    readonly types: Readonly<Record<string, number>>;
    readonly deadReasons: Readonly<Partial<Record<DeadReason, number>>>;
    /** By endpoint. `other` for endpoints after the first hundred. */
    readonly endpoints: Readonly<Record<string, number>>;
  };
  /** How many events have a result. */
  readonly worked: number;
  readonly counts: ActCounts;
  /** The `seq` of its audit line. `null` while it is only previewed. */
  readonly audit: number | null;
  /**
   * For a running bulk action that no process runs: `told` if its process reported the stop, `silent` if its process
   * died. `null` while it runs.
   */
  readonly stopped: 'told' | 'silent' | null;
}

/** A bulk as it is stored. */
export interface StoredBulk extends Omit<Bulk, 'stopped'> {
  /** the last one of its process, by the clock of the inbox; `null` before the first */
  readonly heartbeat: {
    /** milliseconds since 1970; tells one heartbeat from another */
    readonly ms: number;
    /** how long ago */
    readonly silentMs: number;
    /** the process reported that it stops */
    readonly stopped: boolean;
  } | null;
}

/** Acts on stored events. The transaction of an act also writes its audit line. */
export interface Acts {
  /** Acts on at most 500 events whose bodies have at most 512 KiB together, or on one event, in one transaction. */
  act(act: Act, keys: readonly EventKey[], by: By, options: ActOptions): Promise<ActReport>;
  /** Begins a bulk action. `addToBulk` fills it, and `sealBulk` makes it ready to run. */
  createBulk(act: Act, filter: EventFilter, by: By, force: boolean): Promise<number>;
  /** Adds at most 1,000 events. It takes each event once, and only events that the act applies to now. */
  addToBulk(id: number, seqs: readonly number[]): Promise<void>;
  sealBulk(id: number): Promise<StoredBulk>;
  bulk(id: number): Promise<StoredBulk | null>;
  /** Lists bulk actions, newest first. */
  bulks(page: PageRequest): Promise<readonly StoredBulk[]>;
  /**
   * Acts on up to `limit` (at most 1,000) events without a result, oldest first, and stores the results in the same
   * transaction. It takes fewer events if they take long. A bulk action that has ended stays unchanged.
   */
  advanceBulk(id: number, limit: number, by: By, options: Pick<ActOptions, 'entity'>): Promise<StoredBulk>;
  /** Records that the process which runs a bulk action is alive, or that it stops. */
  reportBulk(id: number, stops: boolean): Promise<void>;
  /**
   * Returns the current states of up to 1,000 events of a bulk action, after a position. `null` if the bulk action does
   * not exist.
   */
  outcomePart(id: number, after: number, limit: number): Promise<OutcomePart | null>;
  /** Cancels a bulk action. Events that it has not acted on yet do not change. A bulk action that has ended stays unchanged. */
  cancelBulk(id: number, by: By): Promise<StoredBulk>;
}
