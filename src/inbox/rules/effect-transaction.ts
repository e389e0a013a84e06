import type { AttemptError, Lease, Settlement } from '../work.ts';
import type { Counting, Endings, RunningEvent } from './engine.ts';
import { settle } from './settle.ts';
import type { Steps } from './steps.ts';

/** What the error says of an event whose function has committed by itself. */
export const COMMITTED_BY_ITSELF =
  'The function given to ctx.transaction ended the transaction itself with COMMIT. What it wrote until then is ' +
  'committed, so the event is dead instead of being run again. Leave the transaction to hookbox, and look at what was ' +
  'written before you rerun it.';

const ERROR: AttemptError = { name: 'TransactionError', message: COMMITTED_BY_ITSELF, stack: null };
const DEAD: Settlement = { outcome: 'dead', reason: 'failed', error: ERROR };

/** What an engine is asked for whose merchants can write in a transaction of its own. */
export interface Effects extends Counting, Pick<Endings, 'raiseHighWater'> {
  /** Takes back, in the transaction that has written it, that an attempt was the last; answers with its event. */
  deadToProcessed(
    lease: Lease,
  ): Steps<Pick<RunningEvent, 'seq' | 'endpoint' | 'entity' | 'type' | 'created' | 'attempt'>>;
  /** The attempt was processed, and has no error. */
  attemptProcessed(seq: number, attempt: number): Steps<void>;
}

/**
 * What a transaction says of its event until the merchant's function has returned: that it is dead. Should the function
 * commit by itself, that is what is committed with its effect: the effect is not repeated, and somebody is told.
 *
 * @returns `false` when the lease was lost
 */
export function beforeEffect(engine: Endings, lease: Lease, now: number): Steps<boolean> {
  return settle(engine, lease, DEAD, now);
}

/** The last step of such a transaction: what it said of the event until here is taken back. */
export function* afterEffect(engine: Effects, lease: Lease): Steps<void> {
  const event = yield* engine.deadToProcessed(lease);
  engine.counts.countType('dead', event.type, -1);
  engine.counts.countType('processed', event.type);
  yield* engine.attemptProcessed(event.seq, event.attempt);
  if (event.entity !== null) yield* engine.raiseHighWater(event);
}
