import type { Instant } from '../events/instant.ts';

/** As long as the id of an event may be: both stand in one index, and Postgres takes a third of a page for an entry. */
export const LONGEST_ENDPOINT = 255;

/** The key of an event: its endpoint and id. The key stays unique even after the event has been pruned. */
export interface EventKey {
  readonly endpoint: string;
  readonly id: string;
}

/** An event that a receiver passes to the inbox. */
export interface IncomingEvent extends EventKey {
  /** The raw bytes that were verified. */
  readonly body: Uint8Array;
  /** `null` if an invalid event has no readable type. */
  readonly type: string | null;
  /** `null` for an invalid event. */
  readonly created: Instant | null;
  /**
   * The entity of the event. The events of one entity are handled in order, one at a time. `null` for an event without
   * an entity.
   */
  readonly entity: string | null;
  /** `true` if the signature of the delivery was verified. */
  readonly verified: boolean;
  /**
   * `true` if the envelope and data of the event fit the schema. Otherwise, the inbox stores the event as
   * `dead(invalid)`.
   */
  readonly valid: boolean;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The trace context of the delivery, as in W3C headers. Absent without tracing. */
  readonly trace?: string;
}

/** How the inbox accepted an event. The inbox returns this result only when the event is durable. */
export interface Acceptance {
  readonly result: 'stored' | 'duplicate';
  /** `true` for a duplicate with a different body. The inbox keeps that body in addition to the stored one. */
  readonly conflict: boolean;
  /** `true` for a duplicate whose body replaced the stored one, because the stored body was invalid or unverified. */
  readonly replaced: boolean;
  /**
   * The lease of an event that the inbox stored in the state `processing`. Absent for all other events, which wait
   * until a processor claims them.
   */
  readonly started?: Started;
}

/** The lease under which an event was stored, for the caller of `accept`. */
export interface Started {
  readonly seq: number;
  readonly fence: number;
  /** `true` if a newer event of its entity was already processed. */
  readonly superseded: boolean;
}

/** An event as the inbox stores it. */
export interface StoredEvent extends EventKey {
  /** The position in the order of arrival, and the cursor of `list`. */
  readonly seq: number;
  readonly type: string | null;
  readonly created: Instant | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  /** Set only if `state` is `dead`. */
  readonly deadReason: DeadReason | null;
  /** `null` for a tombstone: the event was pruned or erased but is still recognised. */
  readonly body: Uint8Array | null;
  readonly receivedAt: Date;
  /** How many times the service sent the event again. */
  readonly redeliveries: Occurrences;
  /**
   * How many times the service sent a different body, and the most recent of these bodies. `null` if the service never
   * sent a different body.
   */
  readonly conflict: (Occurrences & { readonly body: Uint8Array }) | null;
}

/** Whether an import has recorded the id only, because other code had handled the event. Other processed events have a type. */
export function isImportedId({ state, type }: Pick<StoredEvent, 'state' | 'type'>): boolean {
  return state === 'processed' && type === null;
}

/** How many times something happened, and when: the first time, the last time and the twenty latest times. */
export interface Occurrences {
  readonly count: number;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
  /** The twenty latest times, oldest first. */
  readonly recent: readonly Date[];
}

/**
 * The states of an event. Who moves an event in, and who takes it out:
 *
 * - `pending`: `accept` stores every valid event here; a failed attempt with attempts left and a rerun bring it back. A
 *   processor takes it out by claiming it; an operator by discarding it.
 * - `processing`: a processor holds a lease on it. The processor takes it out when the handler has ended; so does
 *   whoever finds that the lease has run out.
 * - `processed`: its handler succeeded. Final, unless an operator forces a rerun; pruning leaves a tombstone.
 * - `dead`: nobody will handle it unless somebody acts. `accept` puts invalid events here; a processor those that
 *   failed for the last time, or do not fit the application's schema. A rerun takes it out, and so does discarding it.
 * - `ignored`: no processor of its endpoint was seen for seven days that has a handler for its type. A processor with
 *   handlers for that endpoint puts it there once it has been due for ten minutes, and says so in the log. A rerun
 *   takes it out, and nothing else.
 * - `discarded`: an operator discarded it, or erased it while it was pending. A rerun takes it out, and nothing else;
 *   what is erased stays.
 */
export const eventStates = ['pending', 'processing', 'processed', 'dead', 'ignored', 'discarded'] as const;

/** The state of an event. */
export type EventState = (typeof eventStates)[number];

/**
 * Why an event is dead.
 *
 * - `failed`: its handler failed for the last time, or said that no retry will help
 * - `crashed`: whatever ran it went away without a word three times
 * - `invalid`: authentic, but its envelope or data does not fit the schema: hookbox's, as it is received, or the
 *   application's, as it is handled
 */
export const deadReasons = ['failed', 'crashed', 'invalid'] as const;

/** Why an event is dead. */
export type DeadReason = (typeof deadReasons)[number];

/** The states of events that were not handled, and that nothing will happen to by itself. */
export const putAwayStates = ['dead', 'ignored', 'discarded'] as const;

export type PutAwayState = (typeof putAwayStates)[number];

/** The states that an event can be pruned in: nothing will happen to it by itself. */
export const prunableStates = ['processed', ...putAwayStates] as const;

export type PrunableState = (typeof prunableStates)[number];
