import type { Instant } from '../events/instant.ts';
import type { DeadReason, EventState } from './state.ts';

/** As long as the id of an event may be: both stand in one index, and Postgres takes a third of a page for an entry. */
export const LONGEST_ENDPOINT = 255;

/** An event is known by its id within an endpoint, for ever. */
export interface EventKey {
  readonly endpoint: string;
  readonly id: string;
}

/** A verified delivery's event on its way into the inbox. */
export interface IncomingEvent extends EventKey {
  /** the raw bytes that were verified */
  readonly body: Uint8Array;
  /** `null` where an invalid event has no readable type */
  readonly type: string | null;
  /** `null` for invalid events */
  readonly created: Instant | null;
  /** events of one entity are handled in order, one at a time; `null` stands alone */
  readonly entity: string | null;
  /** its signature was checked */
  readonly verified: boolean;
  /** its envelope and data fit the schema; invalid events are stored as `dead(invalid)` */
  readonly valid: boolean;
  /** milliseconds since 1970 */
  readonly receivedAt: number;
  /** the trace context of the delivery, as W3C headers write it; absent where nobody traces */
  readonly trace?: string;
}

/** What became of an event that the inbox took. Returned only when it is durable. */
export interface Acceptance {
  readonly result: 'stored' | 'duplicate';
  /** a duplicate whose bytes differ from the stored ones; the other body is kept beside the event */
  readonly conflict: boolean;
  /** a duplicate whose body took the place of an invalid or an unverified one */
  readonly replaced: boolean;
}

/** What the inbox keeps of an event. */
export interface StoredEvent extends EventKey {
  /** position in the order of arrival; also the cursor of `list` */
  readonly seq: number;
  readonly type: string | null;
  readonly created: Instant | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  /** set exactly when `state` is `dead` */
  readonly deadReason: DeadReason | null;
  /** `null` for a tombstone: pruned, but still known */
  readonly body: Uint8Array | null;
  readonly receivedAt: Date;
  /** how often the service sent it again */
  readonly redeliveries: Occurrences;
  /** how often it was sent with other bytes, and the newest of those; `null` for none */
  readonly conflict: (Occurrences & { readonly body: Uint8Array }) | null;
}

/** Whether an import has recorded the id only, because other code had handled the event. Other processed events have a type. */
export function isImportedId({ state, type }: Pick<StoredEvent, 'state' | 'type'>): boolean {
  return state === 'processed' && type === null;
}

/** How often something happened, with the first, the last and the last twenty times. */
export interface Occurrences {
  readonly count: number;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
  /** oldest first */
  readonly recent: readonly Date[];
}
