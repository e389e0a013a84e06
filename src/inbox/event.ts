import type { Instant } from '../events/instant.ts';

/** The ids of events have the same limit: one index holds both, and a Postgres index entry takes a third of a page. */
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
  /** `true` for a duplicate whose body replaced the stored one, which was invalid or unverified. */
  readonly replaced: boolean;
  /** The lease of an event that the inbox stored in the state `processing`. */
  readonly started?: Started;
}

/** The lease under which an event was stored. */
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
  /** How many times the service sent a different body, and the most recent of these bodies. `null` if never. */
  readonly conflict: (Occurrences & { readonly body: Uint8Array }) | null;
}

/** Whether an import recorded only the id. Other processed events have a type. */
export function isImportedId({ state, type }: Pick<StoredEvent, 'state' | 'type'>): boolean {
  return state === 'processed' && type === null;
}

/** How many times something happened, and when. */
export interface Occurrences {
  readonly count: number;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
  /** The twenty latest times, oldest first. */
  readonly recent: readonly Date[];
}

/**
 * The states of an event, and how an event enters and leaves each:
 *
 * - `pending`: new valid events, failed attempts with attempts left, and reruns. Leaves by a claim, or if an operator
 *   discards it.
 * - `processing`: a processor holds a lease. Leaves when the handler ends, or when another processor finds the lease
 *   expired.
 * - `processed`: the handler succeeded. Final, unless an operator forces a rerun; pruning leaves a tombstone.
 * - `dead`: invalid events, and events whose last attempt failed. Leaves by a rerun or a discard.
 * - `ignored`: no processor of its endpoint has handled its type for seven days. Leaves by a rerun.
 * - `discarded`: an operator discarded it, or erased it while it was pending. Leaves by a rerun, unless it was erased.
 */
export const eventStates = ['pending', 'processing', 'processed', 'dead', 'ignored', 'discarded'] as const;

/** The state of an event. */
export type EventState = (typeof eventStates)[number];

/**
 * Why an event is dead.
 *
 * - `failed`: its last attempt failed, or the handler said that no retry will help
 * - `crashed`: three processes ended while they handled it
 * - `invalid`: its signature is right, but its body does not fit hookbox's schema or the application's
 */
export const deadReasons = ['failed', 'crashed', 'invalid'] as const;

/** Why an event is dead. */
export type DeadReason = (typeof deadReasons)[number];

export const putAwayStates = ['dead', 'ignored', 'discarded'] as const;

export type PutAwayState = (typeof putAwayStates)[number];

export const prunableStates = ['processed', ...putAwayStates] as const;

export type PrunableState = (typeof prunableStates)[number];
