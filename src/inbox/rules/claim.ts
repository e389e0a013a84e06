import type { EventKey } from '../event.ts';
import type { ClaimedEvent, CrashedEvent, Scope } from '../work.ts';
import type { Candidate, Claims, EventToRun } from './engine.ts';
import { mustWait } from './entity-order.ts';
import { Room } from './room.ts';
import { giveBackUnheard, releaseRanOut, type NumberedClaim } from './leases.ts';
import { isPaused } from './pauses.ts';
import type { Steps } from './steps.ts';
import { isInScope } from './takers.ts';

const PARK_BATCH = 200;

/** How far a claim that takes several calls has come. */
export interface ClaimProgress {
  /** the event that was stored last when it began: what arrives meanwhile must not keep it from ending */
  freshUpTo: number | null;
  /** what it has freed of others is added to these; it is told of once that is durable */
  readonly crashed?: CrashedEvent[];
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
  yield* giveBackUnheard(engine, request, slice, progress.crashed);
  if (yield* releaseRanOut(engine, request, slice, undefined, progress.crashed)) return 'more';
  // All of them, before anything is claimed: the oldest event of an entity may be the one that arrived last. A backlog
  // takes several calls, so that none of them holds the event loop for long.
  progress.freshUpTo ??= yield* engine.newestSeq();
  if (yield* engine.lookAtFresh({ now, upTo: progress.freshUpTo }, slice)) return 'more';
  const pauses = yield* engine.pauses();
  const claimed: ClaimedEvent[] = [];
  let parked = 0;
  let suspects = !(yield* engine.isSuspectRunning());
  const room = new Room(request);
  for (let [found, over] = [true, false]; found && claimed.length < limit;) {
    // A long queue of one entity is set aside in several calls too.
    if (over || parked >= PARK_BATCH) return claimed.length > 0 ? claimed : 'more';
    found = false;
    const asked = { ...request, ...room.looked() };
    const free: Candidate[] = [];
    const taken = new Set<string>();
    for (const event of yield* engine.candidates(asked, suspects, Math.max(limit - claimed.length, parked), pauses)) {
      if (claimed.length + free.length === limit) break;
      if (isSuspect(event) && !suspects) continue;
      // The next look leaves its type out.
      if (!room.isFor(event.type)) continue;
      found = true;
      if (request.ordered && (taken.has(queueOf(event)) || (yield* mustWait(engine, event, request)))) {
        yield* engine.park(event.seq);
        parked += 1;
        slice.add(event.bytes);
        over = slice.isOver();
        if (over) break;
        continue;
      }
      free.push(event);
      room.take(event.type);
      if (event.entity !== null) taken.add(queueOf(event));
      // Suspects run one at a time, so that a crash has one culprit.
      if (isSuspect(event)) suspects = false;
    }
    claimed.push(...(yield* take(engine, free, request)));
  }
  return claimed;
}

/**
 * Inline mode: no backoff, no budget, and an older event does not hold this one back.
 *
 * @param crashed - as of `ClaimProgress`
 */
export function* claimOne(
  engine: Claims,
  key: EventKey,
  request: NumberedClaim,
  crashed?: CrashedEvent[],
): Steps<ClaimedEvent | 'busy' | 'settled' | 'more'> {
  // Of leases at once; a processor does the rest.
  const slice = engine.timeSlice();
  yield* engine.followClock(request, slice);
  yield* giveBackUnheard(engine, request, slice, crashed);
  if (yield* releaseRanOut(engine, request, slice, key, crashed)) return 'more';
  const event = yield* engine.eventToRun(key);
  const answer = answerOne(event, request);
  if (event === undefined || answer !== 'run') return answer === 'busy' ? 'busy' : 'settled';
  // Stored, and handled once it is resumed.
  if (isPaused(yield* engine.pauses(), event)) return 'settled';
  if (request.ordered && event.entity !== null && (yield* engine.hasLease(event))) return 'busy';
  const [claimed] = yield* take(engine, [event], request);
  return claimed ?? 'settled';
}

/** Whether the handler of one event may run: `settled` when there is nothing to run, `busy` when it runs already. */
export function answerOne(event: EventToRun | undefined, scope: Scope): 'run' | 'busy' | 'settled' {
  if (event === undefined || event.isPruned || event.isInvalid) return 'settled';
  if (event.state === 'processed' || event.state === 'discarded' || !isInScope(scope, event)) return 'settled';
  return event.state === 'processing' ? 'busy' : 'run';
}

/** It was running when its process went away, maybe along with others. */
export function isSuspect({ crashes }: Pick<Candidate, 'crashes'>): boolean {
  return crashes > 0;
}

/** A name for the queue of an event's entity. */
function queueOf({ endpoint, entity }: Candidate): string {
  return `${endpoint.length}:${endpoint}${entity ?? ''}`;
}

function* take(
  engine: Claims,
  events: readonly Candidate[],
  { now, leaseMs, number }: NumberedClaim,
): Steps<readonly ClaimedEvent[]> {
  if (events.length === 0) return [];
  const superseded: boolean[] = [];
  for (const event of events) superseded.push(event.entity !== null && (yield* engine.isSuperseded(event)));
  const seqs = events.map(({ seq }) => seq);
  const claimed = yield* engine.claim(seqs, now, now + leaseMs, number);
  return claimed.map((event, at) => ({ ...event, superseded: superseded[at] === true }));
}
