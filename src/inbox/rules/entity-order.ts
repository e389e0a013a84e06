import type { Instant } from '../../events/instant.ts';
import type { ClaimRequest } from '../work.ts';
import type { EntityQueue, Front, Queue, QueuedEvent, TimeSlice } from './engine.ts';
import { holdingTypes } from './pauses.ts';
import type { Steps } from './steps.ts';
import { thereSince } from './takers.ts';

/** So many events before the front of an entity are looked at again at once. */
const UNPARK_BATCH = 50;
/**
 * And so many of those that yield: one of them gets the lease, and a claim parks the others again. The rest has its turn when
 * these have ended.
 */
export const YIELDING_BATCH = 5;

/** Where an event stands in the order of its entity. */
type PlacedEvent = Pick<QueuedEvent, 'seq'> & { readonly created: Instant | null };

/** Whether its entity has a live lease, or an older event that somebody handles, or that is paused, is still waiting. */
export function* mustWait(
  engine: EntityQueue,
  event: QueuedEvent & PlacedEvent,
  request: ClaimRequest,
): Steps<boolean> {
  if (event.entity === null) return false;
  if (yield* engine.hasLease(event)) return true;
  return (yield* olderOne(engine, event, request)) !== undefined;
}

/** Who handles what, as whoever asks knows it. */
type Handled = Pick<ClaimRequest, 'types' | 'takenSince' | 'now'>;

/** The first event of its entity that somebody handles, or that is paused, where that is not this one itself: it holds this one back. */
export function* olderOne(
  engine: Pick<EntityQueue, 'front' | 'frontOfTypes' | 'takenTypes' | 'pauses'>,
  event: QueuedEvent & PlacedEvent,
  { now, types, takenSince = thereSince(now) }: Handled,
): Steps<Front | undefined> {
  const front = yield* engine.front(event);
  // This one is among what waits; or it yields, and then it waits for what is older all the same.
  if (front === undefined || !isBefore(front, event)) return undefined;
  if (types === '*' || types.includes(front.type)) return front;
  const taken = yield* holdingTypes(engine, event.endpoint, takenSince, front.type);
  if (taken === '*' || taken.includes(front.type)) return front;
  const handled = yield* engine.frontOfTypes(event, [...types, ...taken]);
  return handled !== undefined && isBefore(handled, event) ? handled : undefined;
}

/** In the order of an entity's events: by the time they say, then as they arrived. */
function isBefore(front: Front, { seq, created }: PlacedEvent): boolean {
  if (created === null) return front.seq !== seq;
  return (front.created.ms - created.ms || front.created.ns - created.ns || front.seq - seq) < 0;
}

/**
 * An event has left its entity's front: the next one may be looked at again, and with it some before it whose type nobody
 * handles, as they hold nobody back. Of these the rest has its turn with the next announcement (announce.ts).
 */
export function* unparkNext(engine: EntityQueue, queue: Queue, now: number, slice: TimeSlice): Steps<void> {
  if (queue.entity === null) return;
  const { front, yielding } = yield* engine.nextOf(queue);
  // What yields is no front, and waits for a lease or for what is older all the same.
  for (const seq of yielding) {
    if (slice.isOver()) break;
    yield* unpark(engine, seq, slice);
  }
  if (front === undefined) return;
  const taken = yield* holdingTypes(engine, queue.endpoint, thereSince(now), front.type);
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
