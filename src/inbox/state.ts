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
