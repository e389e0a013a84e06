import type { EntityOf } from '../../events/entity.ts';
import type { EventKey } from '../event.ts';
import type { OutcomePart } from './bulk-outcome.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { EventFilter, PageRequest } from './filter.ts';

/** Who does something to stored events, and why: it stands in the audit. */
export interface By {
  /** a name that tells people apart, such as `ada` or `ada@shop-1` */
  readonly actor: string;
  /** through what: `code` unless given */
  readonly via?: 'code' | 'cli' | 'page';
  readonly reason?: string;
  /** milliseconds since 1970; now unless given */
  readonly now?: number;
}

/** The actions on chosen or found events. */
export const acts = [
  /** runs the handler again: of dead events, of ignored ones if the filter names that state, of processed ones if forced */
  'rerun',
  /** takes dead and pending events out of handling */
  'discard',
  /** makes an event that waits for its next attempt due at once; nothing else of it changes */
  'retry-now',
] as const;

export type Act = (typeof acts)[number];

/** What became of one event under an act. */
export type ActResult =
  /** it was rerun, discarded or retried now */
  | 'done'
  /** there is no event of this key */
  | 'unknown'
  /**
   * its state is none that the act applies to: it is there already, or in processing, or processed and not forced. One that
   * is retried now has to be pending, and due later than now
   */
  | 'not needed'
  /** its state is not one of the act's states, for example because another operator has discarded it meanwhile */
  | 'changed'
  /**
   * its body does not fit today's schemas either: it cannot be rerun. A dead(invalid) one cannot be discarded, because an
   * ignored event has a type and a time. It stays dead; once pruned or erased it is a tombstone, which is counted no more
   */
  | 'still invalid'
  /** its body is gone: it cannot be rerun, nor an invalid one discarded */
  | 'pruned';

export type ActCounts = Readonly<Partial<Record<ActResult, number>>>;

export interface ActReport {
  /** in the order of the keys given */
  readonly results: readonly { readonly key: EventKey; readonly result: ActResult }[];
  readonly counts: ActCounts;
  /** its line in the audit */
  readonly audit: number;
}

export interface ActOptions {
  /** only events in one of these states, such as the one that was shown; others are `changed`, and left as they are */
  readonly states?: readonly EventState[];
  /** rerun: processed events too, whose handlers then run once more */
  readonly force?: boolean;
  /** how invalid events get their entity: the receiver's option of that name, where it has one */
  readonly entity?: EntityOf;
}

/** An act on all events that a filter has found at one moment; what arrives or changes later is not among them. */
export interface Bulk {
  readonly id: number;
  readonly act: Act;
  /** `previewed` waits for somebody to run it; `running` may be resumed by anybody when whoever ran it has gone */
  readonly state: 'previewed' | 'running' | 'done' | 'cancelled';
  readonly filter: EventFilter;
  readonly force: boolean;
  /** who took the preview; from the beginning of the run on, who ran it */
  readonly actor: string;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** how many events the snapshot has */
  readonly total: number;
  /** what they were at the preview */
  readonly breakdown: {
    readonly states: Readonly<Partial<Record<EventState, number>>>;
    /** `invalid` for those whose type cannot be read; `other` for the rest after a hundred types */
    readonly types: Readonly<Record<string, number>>;
    readonly deadReasons: Readonly<Partial<Record<DeadReason, number>>>;
    /** by endpoint; `other` for the rest after a hundred */
    readonly endpoints: Readonly<Record<string, number>>;
  };
  /** how many have a result */
  readonly worked: number;
  readonly counts: ActCounts;
  /** its line in the audit, whose counts grow with it; `null` while it is only previewed */
  readonly audit: number | null;
  /**
   * Why a running one has no process: `told` if that process reported that it stops, `silent` if it ended without a report.
   * `null` for all others.
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

/** Acts on stored events, each written into the audit in the transaction that does it. */
export interface Acts {
  /**
   * All keys in one transaction; 500 at most, whose bodies have 512 KiB together at most, or one.
   */
  act(act: Act, keys: readonly EventKey[], by: By, options: ActOptions): Promise<ActReport>;
  /** Begins a snapshot; `addToBulk` fills it, `sealBulk` makes it ready to run. */
  createBulk(act: Act, filter: EventFilter, by: By, force: boolean): Promise<number>;
  /** 1,000 at most. Takes those that the act applies to, as they are at this moment, and each once. */
  addToBulk(id: number, seqs: readonly number[]): Promise<void>;
  sealBulk(id: number): Promise<StoredBulk>;
  bulk(id: number): Promise<StoredBulk | null>;
  /** newest first */
  bulks(page: PageRequest): Promise<readonly StoredBulk[]>;
  /**
   * Acts on up to `limit` (1,000 at most) of the events that have no result yet, the oldest first, in one transaction that
   * also notes their results; on fewer when it takes long. One that has ended stays as it is.
   */
  advanceBulk(id: number, limit: number, by: By, options: Pick<ActOptions, 'entity'>): Promise<StoredBulk>;
  /** Whoever runs it lives, or says that it stops. */
  reportBulk(id: number, stops: boolean): Promise<void>;
  /**
   * What became of the events that it was done to, as they stand now: a part of them, after one of them; 1,000 at most. `null`
   * where there is no such bulk.
   */
  outcomePart(id: number, after: number, limit: number): Promise<OutcomePart | null>;
  /** What has no result yet will get none. One that has ended stays as it is. */
  cancelBulk(id: number, by: By): Promise<StoredBulk>;
}
