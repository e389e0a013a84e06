import type { DeadReason, EventState } from '../state.ts';
import type { Act } from '../operator/acts.ts';
import type { EventFilter } from '../operator/filter.ts';

/** The states of the events that an act applies to when it is told which ones. */
export function statesOf(act: Act, force: boolean): readonly EventState[] {
  if (act === 'discard') return ['dead', 'pending'];
  return force ? ['dead', 'ignored', 'processed'] : ['dead', 'ignored'];
}

/** Whether a bulk act takes an event: one of these states, and a rerun needs its body, as does discarding an invalid one. */
export function isTaken(
  act: Act,
  states: readonly EventState[],
  {
    state,
    deadReason,
    pruned,
  }: { readonly state: EventState; readonly deadReason: DeadReason | null; readonly pruned: boolean },
): boolean {
  return states.includes(state) && (!pruned || (act === 'discard' && deadReason !== 'invalid'));
}

/**
 * The states of the events that an act takes of those that a filter finds. What nobody has a handler for is ignored, and so
 * is what an operator has put away: a rerun takes these only where the filter asks for them, or when it is forced.
 */
export function bulkStatesOf(act: Act, force: boolean, filter: EventFilter): readonly EventState[] {
  const states = filter.states ?? (filter.ignoredSince === undefined ? undefined : ['ignored']);
  return statesOf(act, force).filter((state) => states?.includes(state) ?? (force || state !== 'ignored'));
}
