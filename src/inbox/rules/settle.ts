import { isFarAhead } from '../../events/far-ahead.ts';
import type { AttemptError, Lease, Settled, Settlement } from '../work.ts';
import { endingOf, type Ending, type EndOfAttempt } from './attempt-end.ts';
import { COMMITTED_ALONE } from './committed-alone.ts';
import type { Endings, RunningEvent, TimeSlice } from './engine.ts';
import { unparkNext } from './entity-order.ts';
import type { Steps } from './steps.ts';

/**
 * Every move out of processing by the one who holds the lease.
 *
 * @param again - it was asked for before, and nobody knows what became of it: what ended the attempt as it would is that
 */
export function* settle(
  engine: Endings,
  lease: Lease,
  settlement: Settlement,
  now: number,
  again = false,
): Steps<Settled> {
  if (settlement.outcome === 'committed') return yield* endCommitted(engine, lease, settlement.error, now);
  const event = yield* heldInProcessing(engine, lease);
  if (event === undefined) {
    const outcome = again ? yield* engine.outcomeUnder(lease) : undefined;
    return outcome === 'committed alone' ? outcome : outcome !== undefined && outcome === outcomeOf(settlement, now);
  }
  yield* engine.noteTime(now);
  if (settlement.outcome !== 'interrupted') engine.counts.countMs('handler-ms', now - event.claimedAt, event.type);
  yield* endAttempt(engine, event, endingOf(settlement, now), now, engine.timeSlice());
  return event.hasEffect === true ? 'committed alone' : true;
}

function outcomeOf(settlement: EndOfAttempt, now: number): Ending['outcome'] {
  return endingOf(settlement, now).outcome;
}

/** Whether an event is in processing under this lease, however late it is. */
export function* isInProcessing(engine: Pick<Endings, 'held'>, lease: Lease): Steps<boolean> {
  return (yield* heldInProcessing(engine, lease)) !== undefined;
}

function* heldInProcessing(engine: Pick<Endings, 'held'>, lease: Lease): Steps<RunningEvent | undefined> {
  const event = yield* engine.held(lease);
  return event?.isProcessed === true ? undefined : event;
}

/**
 * The last step of a transaction of a handler: its event is processed. The lease stays, as the handler still runs: until it has
 * ended, or its lease has run out, nothing else of the entity is claimed.
 *
 * @returns `false` when the lease was lost
 */
export function* settleInTransaction(
  engine: Endings,
  lease: Lease,
  settlement: Extract<Settlement, { readonly outcome: 'processed' }>,
  now: number,
): Steps<boolean> {
  const event = yield* heldInProcessing(engine, lease);
  if (event === undefined) return false;
  const ending = endingOf(settlement, now);
  engine.counts.countMs('handler-ms', now - event.claimedAt, event.type);
  yield* noteEnding(engine, event, ending, now);
  yield* engine.processedUnderLease(event.seq, now);
  return true;
}

/** The handler has ended whose transaction was committed before. */
function* endCommitted(engine: Endings, lease: Lease, error: AttemptError | undefined, now: number): Steps<boolean> {
  if (error !== undefined) yield* engine.noteLateError(lease, error);
  const event = yield* engine.held(lease);
  if (event?.isProcessed !== true) return false;
  yield* endLease(engine, event, now, engine.timeSlice());
  return true;
}

/** Ends the lease of an event that is processed: the next one of its entity may be claimed. */
export function* endLease(engine: Endings, event: RunningEvent, now: number, slice: TimeSlice): Steps<void> {
  yield* engine.endLease(event.seq);
  yield* unparkNext(engine, event, now, slice);
}

/**
 * What ends with an attempt, however it ended: what its handler has committed by itself must not be repeated.
 *
 * @param foundBy - the number of the claim that has found it crashed
 * @returns how it has ended
 */
export function* endAttempt(
  engine: Endings,
  event: RunningEvent,
  asked: Ending,
  now: number,
  slice: TimeSlice,
  foundBy?: number,
): Steps<Ending> {
  const ending = event.hasEffect === true ? endingOf(COMMITTED_ALONE, now) : asked;
  yield* engine.end(event.seq, ending, now);
  yield* noteEnding(engine, event, foundBy === undefined ? ending : { ...ending, foundBy }, now);
  yield* unparkNext(engine, event, now, slice);
  return ending;
}

/** Whether older events of its entity are superseded by it. */
function raisesMark({ entity, created }: RunningEvent, now: number): boolean {
  return entity !== null && created !== null && !isFarAhead(created, now);
}

function* noteEnding(
  engine: Endings,
  event: RunningEvent,
  ending: Ending & { readonly foundBy?: number },
  now: number,
): Steps<void> {
  if (ending.counted !== null) engine.counts.countType(ending.counted, event.type);
  if (ending.state === 'processed' && raisesMark(event, now)) yield* engine.raiseHighWater(event);
  yield* engine.addAttempt(event, ending, now);
}
