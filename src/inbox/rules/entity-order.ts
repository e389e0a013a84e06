import type { Instant } from '../../events/instant.ts';
import { Budget } from './budget.ts';
import type { DueEvent, Ending, Front, HeldEvent, NextInQueue } from './store.ts';

/** So many parked events that nobody handles are unparked when the front of their queue leaves. */
export const PASSED_BATCH = 50;
/** So many that yield: one of them gets a lease, and a claim parks the others again. */
export const YIELDING_BATCH = 5;

/** Events of an entity run one at a time, oldest first: whether this one has to wait for another. */
export function mustWait({ entity, hasLease, front, ...event }: DueEvent): boolean {
  return entity !== null && (hasLease || (front !== undefined && isBefore(front, event)));
}

/** Events of an entity are in the order of `created`, then of arrival. */
export function isBefore(
  front: Pick<Front, 'seq' | 'created'>,
  { seq, created }: { readonly seq: number; readonly created: Instant | null },
): boolean {
  if (created === null) return front.seq !== seq;
  return (front.created.ms - created.ms || front.created.ns - created.ns || front.seq - seq) < 0;
}

/**
 * The events that may be claimed now that the front of their queue has left: the next front, those that yield, and those
 * before it that no processor handles. An event that has to wait all the same is parked again by the next claim.
 */
export function eventsToUnpark(queues: readonly NextInQueue[], budget = new Budget()): readonly number[] {
  const seqs = new Set<number>();
  for (const { front, passed, yielding } of queues) {
    for (const event of front === undefined ? [...yielding, ...passed] : [front, ...yielding, ...passed]) {
      if (budget.isSpent) break;
      if (seqs.has(event.seq)) continue;
      seqs.add(event.seq);
      budget.spend(event.bytes);
    }
  }
  return [...seqs];
}

/** The next events in the queue of an event whose attempt has ended: nothing new if the event stays its front. */
export function nextAfter({ next, holdsBack, ...event }: HeldEvent, ending: Ending): NextInQueue {
  const staysInFront =
    ending.state === 'pending' &&
    holdsBack &&
    !(ending.yields ?? event.yields) &&
    (next.front === undefined || !isBefore(next.front, event));
  return staysInFront ? { front: undefined, passed: [], yielding: next.yielding } : next;
}
