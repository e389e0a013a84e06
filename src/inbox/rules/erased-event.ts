import type { EventState } from '../state.ts';

/**
 * In which state erasing leaves an event; `null` where it has to wait: a handler that runs needs the body until it has
 * ended. One that is pending has nothing left to be handled with.
 */
export function erasedState(state: EventState): EventState | null {
  if (state === 'processing') return null;
  return state === 'pending' ? 'discarded' : state;
}
