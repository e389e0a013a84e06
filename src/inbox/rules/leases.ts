import type { EventKey } from '../event.ts';
import type { ClaimRequest, CrashedEvent, Lease, StartRequest } from '../work.ts';
import { crashEnding, endingOf, type Ending } from './attempt-end.ts';
import type { LatestTime, Leases, RanOutEvent, TimeSlice } from './engine.ts';
import { endAttempt, endLease } from './settle.ts';
import type { Steps } from './steps.ts';

/** The number of a claim whose answer is never lost. */
const NOBODY = 0;
/** So many leases that ran out are freed at once. */
const RAN_OUT_BATCH = 100;

/** A claim whose answer may be lost, as the thread that makes it can die, or the connection that it is made on. */
export interface NumberedClaim extends ClaimRequest {
  /** its own number, less than 2 ** 32, by which an engine finds what it has claimed */
  readonly number?: number;
  /** those of earlier claims of the same process whose answers were lost; none unless given */
  readonly unheard?: readonly number[];
}

/** An event that is stored as running, with the number of its claim. */
export interface NumberedStart extends StartRequest {
  readonly number?: number;
}

/** Extends leases as long as nobody has taken their events over, however late it is; resolves with those. */
export function* renewLeases(
  engine: LatestTime & Pick<Leases, 'renew'>,
  leases: readonly Lease[],
  now: number,
  leaseMs: number,
  isClosing = false,
): Steps<readonly Lease[]> {
  yield* engine.noteTime(now);
  const held: Lease[] = [];
  for (const lease of leases) if (yield* engine.renew(lease, now + leaseMs, isClosing)) held.push(lease);
  return held;
}

/**
 * What was claimed, and nobody was told: its handler has never begun. What was found crashed then is told now.
 *
 * @param crashed - as of `releaseRanOut`
 */
export function* giveBackUnheard(
  engine: Leases,
  { now, unheard = [] }: Pick<NumberedClaim, 'now' | 'unheard'>,
  slice: TimeSlice,
  crashed?: CrashedEvent[],
): Steps<void> {
  for (const number of unheard) {
    crashed?.push(...(yield* engine.foundBy(number)));
    for (const event of yield* engine.claimedUnder(number)) {
      yield* endAttempt(engine, event, endingOf({ outcome: 'interrupted' }, now), now, slice);
    }
  }
}

/**
 * A lease that ran out unannounced is a crash, unless its event is processed. The next processor that looks puts the event back,
 * or declares it dead. It renews its own leases instead: it is alive, but could not renew, as when the disk was full. It takes
 * a limited number at a time, so that they do not hold up the event loop.
 *
 * @param before - only what stands before this event: its own lease, and those of its entity
 * @param crashed - what it has freed is added to these
 * @returns whether there may be more
 */
export function* releaseRanOut(
  engine: Leases,
  { now, leaseMs, holds = [], ranOutBy = now, number = NOBODY }: NumberedClaim,
  slice: TimeSlice,
  before?: EventKey,
  crashed?: CrashedEvent[],
): Steps<boolean> {
  const ranOut = yield* engine.ranOut(Math.min(now, ranOutBy), RAN_OUT_BATCH, before);
  for (const event of ranOut) {
    if (slice.isOver() && event !== ranOut[0]) return true;
    slice.add(event.bytes);
    if (holds.some(({ seq, fence }) => seq === event.seq && fence === event.fence)) {
      yield* engine.renew(event, now + leaseMs, false);
    } else if (event.isProcessed === true) {
      yield* endLease(engine, event, now, slice);
    } else {
      // A process that had begun to close was killed before it was done: that says nothing about the handler.
      const asked =
        event.isClosing === true ? endingOf({ outcome: 'interrupted' }, now) : crashEnding(event.crashes, now);
      const ending = yield* endAttempt(engine, event, asked, now, slice, number);
      crashed?.push(crashedEvent(event, ending));
    }
  }
  return ranOut.length === RAN_OUT_BATCH;
}

function crashedEvent({ endpoint, id, type, attempt }: RanOutEvent, ending: Ending): CrashedEvent {
  return {
    endpoint,
    id,
    type,
    attempt,
    deadReason: ending.state === 'dead' ? ending.deadReason : null,
    dueAt: ending.state === 'pending' ? ending.dueAt : null,
    error: ending.error,
    ...(ending.outcome === 'interrupted' && { wasClosing: true }),
  };
}
