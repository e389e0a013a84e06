import type { EventKey, IncomingEvent } from '../event.ts';
import type { EventToRerun, Reruns } from './engine.ts';
import { askedByKey, mayBeDone } from './operator-acts.ts';
import type { Steps } from './steps.ts';

/** Brings an event back to pending, with what today's schemas make of its body. */
export function* rerunEvent(
  engine: Reruns,
  key: EventKey,
  content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
  now: number,
  readFrom?: Uint8Array,
): Steps<boolean> {
  const event = yield* engine.eventToRerun(key, readFrom);
  if (event === undefined || !mayRerun(event)) return false;
  yield* backToPending(engine, key, content, now);
  return true;
}

/** What a rerun leaves behind, whoever asked for it. */
export function* backToPending(
  engine: Pick<Reruns, 'toPending' | 'noteTime' | 'counts'>,
  key: EventKey,
  content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
  now: number,
): Steps<void> {
  yield* engine.toPending(key, content, now);
  yield* engine.noteTime(now);
  engine.counts.countType('rerun', content.type);
}

/** An operator's rule (operator-acts.ts), and the body is still the one that was read. */
export function mayRerun({ state, isPruned, isAsRead }: EventToRerun): boolean {
  return isAsRead && mayBeDone(askedByKey('rerun', false), { state, deadReason: null, pruned: isPruned });
}
