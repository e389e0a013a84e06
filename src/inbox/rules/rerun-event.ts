import type { EventKey, IncomingEvent } from '../event.ts';
import type { EventState } from '../state.ts';
import type { Reruns } from './engine.ts';
import { askedByKey, mayBeDone } from './operator-acts.ts';
import type { Steps } from './steps.ts';

export interface EventToRerun {
  readonly state: EventState;
  readonly isPruned: boolean;
  /** its body is still the one that was read */
  readonly isAsRead: boolean;
}

/** What today's schemas make of a body. */
export type Content = Pick<IncomingEvent, 'type' | 'created' | 'entity'>;

/** Whether an event may become pending again, by the rule of operators (operator-acts.ts). */
export function mayRerun(event: EventToRerun | undefined): boolean {
  if (event === undefined || !event.isAsRead) return false;
  return mayBeDone(askedByKey('rerun', false), { state: event.state, deadReason: null, pruned: event.isPruned });
}

/** What a rerun leaves behind, whoever asked for it. */
export function* backToPending(engine: Reruns, key: EventKey, content: Content, now: number): Steps<void> {
  yield* engine.toPending(key, content, now);
  yield* engine.noteTime(now);
  engine.counts.countType('rerun', content.type);
}
