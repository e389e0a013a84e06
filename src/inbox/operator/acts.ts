import { ConfigurationError } from '../../errors.ts';
import type { EntityOf } from '../../events/entity.ts';
import type { EventKey, DeadReason, EventState } from '../event.ts';
import type { EventFilter, EventSummary, PageRequest } from './search.ts';

/** The operator of an action, for the audit. */
export interface By {
  /** A name that identifies the person, such as `ada` or `ada@shop-1`. */
  readonly actor: string;
  /**
   * The tool that the operator used.
   *
   * @defaultValue `'code'`
   */
  readonly via?: 'code' | 'cli' | 'page';
  /** The reason for the action. */
  readonly reason?: string;
  /**
   * Milliseconds since 1970.
   *
   * @defaultValue now
   */
  readonly now?: number;
}

/** The operators' actions on events. */
export type Act =
  /**
   * Run the handler again, for dead events. Ignored and discarded events must be requested; processed events need
   * `force`.
   */
  | 'rerun'
  /** Discard dead and pending events, so that no handler runs. */
  | 'discard'
  /** Make a retrying event due now. Nothing else changes. */
  | 'retry-now';

/** The result of an action on one event. */
export type ActResult =
  /** The action was done. */
  | 'done'
  /** No event has this key. */
  | 'unknown'
  /**
   * The action does not apply to the event's state; for example, the event is being processed. Retry now needs a
   * pending event that is due later.
   */
  | 'not needed'
  /** The event is not in one of `states`, or has other `attempts`, for example because another operator reran it. */
  | 'changed'
  /**
   * The body does not fit the current schemas, so the event cannot be rerun. An invalid event cannot be discarded
   * either, because a discarded event has a type and a time. The event stays dead until it is pruned or erased.
   */
  | 'still invalid'
  /** The body is gone, so the event cannot be rerun, and an invalid event cannot be discarded. */
  | 'pruned';

/** How many events had each result. */
export type ActCounts = Readonly<Partial<Record<ActResult, number>>>;

/** The results of an action. */
export interface ActReport {
  /** One result for each key, in the order of the keys. */
  readonly results: readonly { readonly key: EventKey; readonly result: ActResult }[];
  readonly counts: ActCounts;
  /** The `seq` of the audit line. */
  readonly audit: number;
}

/** The options of an action. */
export interface ActOptions {
  /** Act only on events in these states. Other events are reported as `changed`. */
  readonly states?: readonly EventState[];
  /** Act only on events with this number of attempts. Other events are reported as `changed`. */
  readonly attempts?: number;
  /**
   * `true` lets a rerun include processed events, whose handlers then run once more.
   *
   * @defaultValue `false`
   */
  readonly force?: boolean;
  /** The `entity` option of your receiver, if it has one. That function names the entities of invalid events. */
  readonly entity?: EntityOf;
}

/** One action on all events that matched a filter at one moment, without later events. */
export interface Bulk {
  readonly id: number;
  readonly act: Act;
  /**
   * A `previewed` or `paused` bulk action waits for `runBulk`. If the process of a running one is gone, any process can
   * resume it.
   */
  readonly state: 'previewed' | 'running' | 'paused' | 'done' | 'cancelled';
  readonly filter: EventFilter;
  readonly force: boolean;
  /** The operator who previewed the bulk action or, after its start, the operator who runs it. */
  readonly actor: string;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** The number of events. */
  readonly total: number;
  /** The numbers of events at the time of the preview. */
  readonly breakdown: {
    readonly states: Readonly<Partial<Record<EventState, number>>>;
    /** By type; `invalid` has no readable type, and `other` counts types after the first hundred. */
    readonly types: Readonly<Record<string, number>>;
    readonly deadReasons: Readonly<Partial<Record<DeadReason, number>>>;
    /** By endpoint; `other` counts endpoints after the first hundred. */
    readonly endpoints: Readonly<Record<string, number>>;
    /** How many of the dead events had been rerun before, and died again. */
    readonly again?: number;
  };
  /** How many events have a result. */
  readonly worked: number;
  readonly counts: ActCounts;
  /** The maximum number of events per second of its latest run. `null` before the first run. */
  readonly ratePerSecond: number | null;
  /** How long it has run, without pauses, in milliseconds. */
  readonly ranMs: number;
  /** The `seq` of the audit line. `null` before the first run. */
  readonly audit: number | null;
  /** Why a `running` bulk action stopped: `reported` by its process, or `silent` because its process died. */
  readonly stopped: 'reported' | 'silent' | null;
}

export interface StoredBulk extends Omit<Bulk, 'stopped'> {
  /** by the clock of the inbox */
  readonly heartbeat: {
    readonly ms: number;
    readonly silentMs: number;
    readonly stopped: boolean;
  } | null;
}

/** An event of a bulk action. `result` is `null` until the bulk action reaches the event. */
export interface BulkEvent {
  readonly event: EventSummary;
  readonly result: ActResult | null;
}

/** One page of the events of a bulk action. */
export interface BulkEvents {
  /** Newest first. */
  readonly events: readonly BulkEvent[];
  /** Pass this value as `before` to get the next page; `null` on the last page. */
  readonly next: number | null;
}

/** The options of `bulkEvents`. */
export interface BulkEventsOptions extends PageRequest {
  /**
   * `true` lists only the events that the bulk action left unchanged.
   *
   * @defaultValue `false`
   */
  readonly skipped?: boolean;
}

/** Acts on stored events. The transaction of an action also writes its audit line. */
export interface Acts {
  /** At most 500 events whose bodies total 512 KiB, or one event of any size, in one transaction. */
  act(act: Act, keys: readonly EventKey[], by: By, options: ActOptions): Promise<ActReport>;
  /** Begins a bulk action. `addToBulk` adds events to the bulk action, and `sealBulk` makes it ready to run. */
  createBulk(act: Act, filter: EventFilter, by: By, force: boolean): Promise<number>;
  /** Adds at most 1,000 events. Each event is added once, if the action applies to it now. */
  addToBulk(id: number, seqs: readonly number[]): Promise<void>;
  sealBulk(id: number): Promise<StoredBulk>;
  bulk(id: number): Promise<StoredBulk | null>;
  /** Lists bulk actions, newest first. */
  bulks(page: PageRequest): Promise<readonly StoredBulk[]>;
  /**
   * Acts on up to `limit` (at most 1,000) events without a result, oldest first, and stores the results in the same
   * transaction. Slow work ends it early. Stores the rate, if there is one, as that of the latest run.
   */
  advanceBulk(
    id: number,
    limit: number,
    by: By,
    options: Pick<ActOptions, 'entity'> & { readonly ratePerSecond?: number },
  ): Promise<StoredBulk>;
  /** A running bulk action acts on no more events until it is resumed. Otherwise, it stays unchanged. */
  pauseBulk(id: number, by: By): Promise<StoredBulk>;
  /** A paused or stopped bulk action is running again, with an audit line. Otherwise, it stays unchanged. */
  resumeBulk(id: number, by: By): Promise<StoredBulk>;
  bulkEvents(id: number, request: BulkEventsOptions): Promise<BulkEvents>;
  /** Records that the process that runs a bulk action is alive, or is stopping. */
  reportBulk(id: number, stops: boolean): Promise<void>;
  /** The current states of up to 1,000 events after a position. `null` if the bulk action does not exist. */
  outcomePart(id: number, after: number, limit: number): Promise<OutcomePart | null>;
  /**
   * The remaining events do not change. A bulk action that has ended stays unchanged.
   *
   * @param shown - the state that an operator saw; a bulk action in another state stays unchanged, too
   */
  cancelBulk(id: number, by: By, shown?: Bulk['state']): Promise<StoredBulk>;
}

export interface Author {
  readonly actor: string;
  readonly via: NonNullable<By['via']>;
  readonly reason: string | null;
  readonly now: number;
}

const ACTOR_CHARACTERS = 200;
const REASON_CHARACTERS = 1_000;

/**
 * Call it before the transaction: an error inside also takes back deliveries that share it.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function authorOf({ actor, via = 'code', reason, now = Date.now() }: By): Author {
  const name = typeof actor === 'string' ? nameOf(actor) : '';
  if (name === '') {
    throw new ConfigurationError('INVALID_OPTION', 'actor must be a name, such as ada; the audit records it.');
  }
  if (via !== 'code' && via !== 'cli' && via !== 'page') {
    throw new ConfigurationError('INVALID_OPTION', `via must be 'code', 'cli' or 'page', not ${String(via)}.`);
  }
  const why = typeof reason === 'string' ? cut(reason, REASON_CHARACTERS) : '';
  return { actor: name, via, reason: why === '' ? null : why, now: Math.trunc(now) };
}

export function nameOf(actor: string): string {
  return cut(actor, ACTOR_CHARACTERS);
}

function cut(text: string, characters: number): string {
  return text.trim().slice(0, characters).trimEnd();
}

export const bulkFates = [
  'processed',
  'processing',
  /** pending: it waits for a processor, an older event of its entity, or the end of a pause */
  'waiting',
  /** pending, and has failed since it was rerun; one that was retried now had failed before */
  'retrying',
  'dead',
  'ignored',
  'discarded',
  /** no longer known */
  'erased',
] as const;

/** The current state of an event that a bulk action acted on. */
export type BulkFate = (typeof bulkFates)[number];

export interface OutcomePart {
  readonly counts: Readonly<Partial<Record<BulkFate, number>>>;
  /** how many of these events a later action has changed */
  readonly again: number;
  /** `null` at the end */
  readonly next: number | null;
}
