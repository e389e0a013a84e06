import type { EventState } from '../state.ts';
import type { Act } from './acts.ts';

/** The states of the events that an act applies to. */
export function statesOf(act: Act, force: boolean): readonly EventState[] {
  if (act === 'discard') return ['dead', 'pending'];
  return force ? ['dead', 'ignored', 'processed'] : ['dead', 'ignored'];
}
