import type { Lease, Settled, Settlement } from '../work.ts';
import { endingOf, type Ending } from './attempt-end.ts';
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
  const event = yield* engine.held(lease);
  const isAlone = settlement === COMMITTED_ALONE;
  if (event === undefined) {
    const outcome = again ? yield* engine.outcomeUnder(lease) : undefined;
    if (outcome === 'committed alone') return isAlone || outcome;
    return outcome !== undefined && outcome === endingOf(settlement, now).outcome;
  }
  yield* engine.noteTime(now);
  if (settlement.outcome !== 'interrupted') engine.counts.countMs('handler-ms', now - event.claimedAt, event.type);
  yield* endAttempt(engine, event, endingOf(settlement, now), now, engine.timeSlice());
  return event.hasEffect !== true || isAlone || 'committed alone';
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
  if (ending.counted !== null) engine.counts.countType(ending.counted, event.type);
  yield* engine.end(event.seq, ending, now);
  if (ending.state === 'processed' && event.entity !== null) yield* engine.raiseHighWater(event);
  yield* engine.addAttempt(event, foundBy === undefined ? ending : { ...ending, foundBy }, now);
  yield* unparkNext(engine, event, now, slice);
  return ending;
}
