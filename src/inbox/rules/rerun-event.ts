import type { IncomingEvent } from '../event.ts';
import type { EventState } from '../state.ts';
import { askedByKey, mayBeDone } from './operator-acts.ts';

export interface EventToRerun {
  readonly entity: string | null;
  readonly state: EventState;
  readonly isPruned: boolean;
  /** its body is still the one that was read */
  readonly isAsRead: boolean;
}

/** What today's schemas make of a body. */
export type Content = Pick<IncomingEvent, 'type' | 'created' | 'entity'>;

/** Whether an event may become pending again, by the rule of operators (operator-acts.ts). */
export function mayRerun<Event extends Omit<EventToRerun, 'entity'>>(event: Event | undefined): event is Event {
  if (event === undefined || !event.isAsRead) return false;
  return mayBeDone(askedByKey('rerun', false), { state: event.state, deadReason: null, pruned: event.isPruned });
}
