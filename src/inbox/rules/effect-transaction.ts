import type { Lease } from '../work.ts';
import { COMMITTED_ALONE } from './committed-alone.ts';
import type { Counting, Endings, RunningEvent } from './engine.ts';
import { settle } from './settle.ts';
import type { Steps } from './steps.ts';

/** What an engine is asked for whose merchants can write in a transaction of its own. */
export interface Effects extends Counting, Pick<Endings, 'raiseHighWater'> {
  /** Takes back, in the transaction that has written it, that an attempt was the last; answers with its event. */
  deadToProcessed(
    lease: Lease,
  ): Steps<Pick<RunningEvent, 'seq' | 'endpoint' | 'entity' | 'type' | 'created' | 'attempt'>>;
  /** The attempt was processed, and has no error. */
  attemptProcessed(seq: number, attempt: number, skipped: string | undefined): Steps<void>;
}

/**
 * What a transaction says of its event until the merchant's function has returned: that it is dead. Should the function
 * commit by itself, that is what is committed with its effect: the effect is not repeated, and somebody is told.
 *
 * @returns `false` when the lease was lost
 */
export function* beforeEffect(engine: Endings, lease: Lease, now: number): Steps<boolean> {
  return (yield* settle(engine, lease, COMMITTED_ALONE, now)) !== false;
}

/**
 * The last step of such a transaction: what it said of the event until here is taken back.
 *
 * @param skipped - why the handler lets its event go by, if it does
 */
export function* afterEffect(engine: Effects, lease: Lease, skipped?: string): Steps<void> {
  const event = yield* engine.deadToProcessed(lease);
  engine.counts.countType('dead', event.type, -1);
  engine.counts.countType('processed', event.type);
  yield* engine.attemptProcessed(event.seq, event.attempt, skipped);
  if (event.entity !== null) yield* engine.raiseHighWater(event);
}
