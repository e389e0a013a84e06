import type { ClaimRequest } from '../work.ts';
import type { EntityQueue, Queue, QueuedEvent, TimeSlice } from './engine.ts';
import type { Steps } from './steps.ts';
import { thereSince } from './takers.ts';

/** So many events before the front of an entity are looked at again at once. */
const UNPARK_BATCH = 50;

/** Whether its entity has a live lease, or an older event that somebody handles is still waiting. */
export function* mustWait(
  engine: EntityQueue,
  event: QueuedEvent,
  { now, types, takenSince = thereSince(now) }: ClaimRequest,
): Steps<boolean> {
  if (event.entity === null) return false;
  if (yield* engine.hasLease(event)) return true;
  const front = yield* engine.front(event);
  // This one is among what waits.
  if (front === undefined || front.seq === event.seq) return false;
  if (types === '*' || types.includes(front.type)) return true;
  const taken = yield* engine.takenTypes(event.endpoint, takenSince);
  if (taken === '*' || taken.includes(front.type)) return true;
  const handled = yield* engine.frontOfTypes(event, [...types, ...taken]);
  return handled?.seq !== event.seq;
}

/**
 * An event has left its entity's front: the next one may be looked at again, and with it some before it whose type nobody
 * handles, as they hold nobody back. Of these the rest has its turn with the next announcement (announce.ts).
 */
export function* unparkNext(engine: EntityQueue, queue: Queue, now: number, slice: TimeSlice): Steps<void> {
  if (queue.entity === null) return;
  const front = yield* engine.front(queue);
  if (front === undefined) return;
  const taken = yield* engine.takenTypes(queue.endpoint, thereSince(now));
  if (taken === '*' || taken.includes(front.type)) {
    yield* unpark(engine, front.seq, slice);
    return;
  }
  const first = yield* engine.frontOfTypes(queue, taken);
  if (first !== undefined) yield* unpark(engine, first.seq, slice);
  for (const seq of yield* engine.parkedUpTo(queue, first, UNPARK_BATCH)) {
    if (slice.isOver()) return;
    yield* unpark(engine, seq, slice);
  }
}

/** An event that waited for others may be claimed again. */
export function* unpark(engine: EntityQueue, seq: number, slice: TimeSlice): Steps<void> {
  const bytes = yield* engine.unpark(seq);
  if (bytes !== undefined) slice.add(bytes);
}
