import type { Instant } from '../../events/instant.ts';
import { Budget } from './budget.ts';
import type { DueEvent, Ending, Front, HeldEvent, NextInQueue } from './store.ts';

/** How many parked events that no processor handles are unparked when the front leaves. */
export const PASSED_BATCH = 50;
/** One of these gets a lease, and a claim parks the others again. */
export const YIELDING_BATCH = 5;

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
 * The next front, the events that yield, and those before the front that no processor handles. The next claim parks an
 * event again if it has to wait.
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

/** Changes nothing if the event stays the front of its queue. */
export function nextAfter({ next, holdsBack, ...event }: HeldEvent, ending: Ending): NextInQueue {
  const staysInFront =
    ending.state === 'pending' &&
    holdsBack &&
    !(ending.yields ?? event.yields) &&
    (next.front === undefined || !isBefore(next.front, event));
  return staysInFront ? { front: undefined, passed: [], yielding: next.yielding } : next;
}
