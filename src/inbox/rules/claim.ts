import type { EventKey } from '../event.ts';
import type { ClaimedEvent, Scope } from '../work.ts';
import type { Candidate, Claims, EventToRun } from './engine.ts';
import { mustWait } from './entity-order.ts';
import { giveBackUnheard, releaseRanOut, type NumberedClaim } from './leases.ts';
import type { Steps } from './steps.ts';
import { isInScope } from './takers.ts';

const PARK_BATCH = 200;

/** How far a claim that takes several calls has come. */
export interface ClaimProgress {
  /** the event that was stored last when it began: what arrives meanwhile must not keep it from ending */
  freshUpTo: number | null;
}

/**
 * Claims in rounds, because what has to wait for an older event of its entity is only found out one by one. `more` when it
 * has to be called again, in another transaction, before it can claim anything.
 */
export function* claim(
  engine: Claims,
  request: NumberedClaim,
  limit: number,
  progress: ClaimProgress,
): Steps<readonly ClaimedEvent[] | 'more'> {
  const { now } = request;
  const slice = engine.timeSlice();
  if (yield* engine.followClock(request, slice)) return 'more';
  yield* giveBackUnheard(engine, request, slice);
  if (yield* releaseRanOut(engine, request, slice)) return 'more';
  // All of them, before anything is claimed: the oldest event of an entity may be the one that arrived last. A backlog
  // takes several calls, so that none of them holds the event loop for long.
  progress.freshUpTo ??= yield* engine.newestSeq();
  if (yield* engine.lookAtFresh({ now, upTo: progress.freshUpTo }, slice)) return 'more';
  const claimed: ClaimedEvent[] = [];
  let parked = 0;
  let suspects = !(yield* engine.isSuspectRunning());
  for (let found = true; found && claimed.length < limit;) {
    // A long queue of one entity is set aside in several calls too.
    if (parked >= PARK_BATCH) return claimed.length > 0 ? claimed : 'more';
    found = false;
    for (const event of yield* engine.candidates(request, suspects, Math.max(limit - claimed.length, parked))) {
      if (claimed.length === limit) break;
      if (isSuspect(event) && !suspects) continue;
      found = true;
      if (request.ordered && (yield* mustWait(engine, event, request))) {
        yield* engine.park(event.seq);
        parked += 1;
        slice.add(event.bytes);
        if (slice.isOver()) return claimed.length > 0 ? claimed : 'more';
        continue;
      }
      claimed.push(yield* take(engine, event, request));
      // Suspects run one at a time, so that a crash has one culprit.
      if (isSuspect(event)) suspects = false;
    }
  }
  return claimed;
}

/** Inline mode: no backoff, no budget, and an older event does not hold this one back. */
export function* claimOne(
  engine: Claims,
  key: EventKey,
  request: NumberedClaim,
): Steps<ClaimedEvent | 'busy' | 'settled' | 'more'> {
  // Of leases at once; a processor does the rest.
  const slice = engine.timeSlice();
  yield* engine.followClock(request, slice);
  yield* giveBackUnheard(engine, request, slice);
  if (yield* releaseRanOut(engine, request, slice, key)) return 'more';
  const event = yield* engine.eventToRun(key);
  const answer = answerOne(event, request);
  if (event === undefined || answer !== 'run') return answer === 'busy' ? 'busy' : 'settled';
  if (request.ordered && event.entity !== null && (yield* engine.hasLease(event))) return 'busy';
  return yield* take(engine, event, request);
}

/** Whether the handler of one event may run: `settled` when there is nothing to run, `busy` when it runs already. */
export function answerOne(event: EventToRun | undefined, scope: Scope): 'run' | 'busy' | 'settled' {
  if (event === undefined || event.isPruned || event.isInvalid || event.isDiscarded) return 'settled';
  if (event.state === 'processed' || !isInScope(scope, event)) return 'settled';
  return event.state === 'processing' ? 'busy' : 'run';
}

/** It was running when its process went away, maybe along with others. */
export function isSuspect({ crashes }: Pick<Candidate, 'crashes'>): boolean {
  return crashes > 0;
}

function* take(engine: Claims, event: Candidate, { now, leaseMs, number }: NumberedClaim): Steps<ClaimedEvent> {
  const superseded = event.entity !== null && (yield* engine.isSuperseded(event));
  const claimed = yield* engine.claim(event.seq, now, now + leaseMs, number);
  return { ...claimed, superseded };
}
