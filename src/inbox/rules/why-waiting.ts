import type { Instant } from '../../events/instant.ts';
import type { Gauge } from '../operator/counts.ts';
import type { StoredPause } from '../operator/pauses.ts';
import type { EventSummary } from '../operator/search.ts';
import type { Wait } from '../operator/waits.ts';
import type { EventState } from '../state.ts';
import { isSuspect } from './claim.ts';
import { isBefore } from './entity-order.ts';
import { isPaused } from './pauses.ts';
import type { ClaimState, Front, Queue, QueuedEvent } from './store.ts';
import { seenSince, wasSeenAfter } from './takers.ts';

/** At most so many events behind another one are counted. */
const COUNTED = 1_000;
/** One more tells whether there are others. */
export const COUNTED_BEHIND = COUNTED + 1;
const NONE: Gauge = { count: 0, more: false };

/** An event with everything that may keep it waiting; times in milliseconds since 1970. */
export interface WaitingEvent extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly state: EventState;
  readonly crashes: number;
  readonly dueAt: number;
  /** in processing, when its handler started */
  readonly claimedAt: number | null;
  /** it has failed and lets newer events of its entity pass */
  readonly yields: boolean;
  /** when a processor that handles its type was last seen; `null` for never */
  readonly lastSeen: number | null;
  /** the event of its entity whose handler is running */
  readonly running: { readonly seq: number; readonly claimedAt: number } | undefined;
  /** the first pending event of its entity that holds back others, itself included */
  readonly front: Front | undefined;
}

/** A place in the queue of an entity; `null` is before all events. */
export interface PlaceInQueue extends Queue {
  readonly after: Pick<Front, 'seq' | 'created'> | null;
}

/** How many events come after a place, counted up to `COUNTED_BEHIND`. */
export interface CountBehind {
  readonly all: number;
  /** those whose type a processor handles; the others wait for a processor */
  readonly handled: number;
}

/** A `Wait` without counts and summaries. `waiting` is the number of the place behind which others wait. */
type Reason =
  | { readonly reason: 'running'; readonly since: number; readonly waiting: number | null }
  | { readonly reason: 'no processor' | 'not handled'; readonly lastSeen: number | null }
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  | {
      readonly reason: 'behind';
      readonly seq: number;
      readonly runningSince: number | null;
      readonly paused: boolean;
      readonly waiting: number | null;
    }
  | { readonly reason: 'later'; readonly dueAt: number; readonly waiting: number | null }
  | { readonly reason: 'suspect'; readonly waiting: number | null }
  | { readonly reason: 'next'; readonly lastSeen: number; readonly waiting: number | null }
  | { readonly reason: 'discarded' };

/** Why events wait, and what else an engine has to load to say so. */
export interface WaitPlan {
  /** one for each event; `null` for an event that is processed, dead or unknown */
  readonly reasons: readonly (Reason | null)[];
  /** places to count events behind, each once */
  readonly places: readonly PlaceInQueue[];
  /** events to summarise, each once */
  readonly blockers: readonly number[];
}

export function planWaits(
  events: readonly (WaitingEvent | undefined)[],
  { pauses, isSuspectRunning }: ClaimState,
  now: number,
): WaitPlan {
  const places = new Map<string, { readonly number: number; readonly place: PlaceInQueue }>();
  const reasons = events.map((event) => (event === undefined ? null : reasonOf(event)));
  const blockers = reasons.flatMap((found) => (found?.reason === 'behind' ? found.seq : []));
  return { reasons, places: Array.from(places.values(), ({ place }) => place), blockers: [...new Set(blockers)] };

  function reasonOf(event: WaitingEvent): Reason | null {
    switch (event.state) {
      case 'processed':
      case 'dead':
        return null;
      case 'discarded':
        return { reason: 'discarded' };
      case 'ignored':
        return { reason: 'not handled', lastSeen: event.lastSeen };
      case 'processing':
        return { reason: 'running', since: event.claimedAt ?? now, waiting: behind(event, null) };
      case 'pending':
        return whyPending(event);
    }
  }

  function whyPending(event: WaitingEvent): Reason {
    const { endpoint, lastSeen, running, front, dueAt } = event;
    const pause = pauses.find((each) => isPaused([each], event));
    if (pause !== undefined) return { reason: 'paused', pause };
    // A processor that comes back finds the events in front of this one. Until then the missing processor is the reason.
    if (lastSeen === null || !wasSeenAfter(lastSeen, seenSince(now))) return { reason: 'no processor', lastSeen };
    if (event.entity !== null && running !== undefined) {
      const { seq, claimedAt: runningSince } = running;
      return { reason: 'behind', seq, runningSince, paused: false, waiting: behind(event, null) };
    }
    if (event.entity !== null && front !== undefined && isBefore(front, event)) {
      const paused = isPaused(pauses, { endpoint, type: front.type });
      return { reason: 'behind', seq: front.seq, runningSince: null, paused, waiting: behind(event, front) };
    }
    const waiting = event.yields ? null : behind(event, event);
    if (dueAt > now) return { reason: 'later', dueAt, waiting };
    if (isSuspect(event) && isSuspectRunning) return { reason: 'suspect', waiting };
    return { reason: 'next', lastSeen, waiting };
  }

  /** The number of a place in the queue of an event. */
  function behind(
    { endpoint, entity }: Queue,
    after: { readonly seq: number; readonly created: Instant | null } | null,
  ): number | null {
    if (entity === null) return null;
    const known = after === null || after.created === null ? null : { seq: after.seq, created: after.created };
    const place = { endpoint, entity, after: known };
    const key = JSON.stringify([endpoint, entity, known?.seq]);
    const { number } = places.get(key) ?? { number: places.size };
    places.set(key, { number, place });
    return number;
  }
}

/**
 * The waits of a plan; `null` also for an event whose blocker is gone by now.
 *
 * @param counts - one for each place
 */
export function waitsOf(
  { reasons }: WaitPlan,
  counts: readonly CountBehind[],
  blockers: readonly EventSummary[],
  at = (ms: number): Date => new Date(ms),
): readonly (Wait | null)[] {
  const summaries = new Map(blockers.map((event) => [event.seq, event]));
  return reasons.map((why): Wait | null => {
    switch (why?.reason) {
      case undefined:
        return null;
      case 'running':
        return { reason: 'running', since: at(why.since), waiting: gauge(why.waiting) };
      case 'no processor':
      case 'not handled':
        return { ...why, lastSeen: why.lastSeen === null ? null : at(why.lastSeen) };
      case 'paused':
        return { ...why, pause: { ...why.pause, since: at(why.pause.since.getTime()) } };
      case 'behind': {
        const event = summaries.get(why.seq);
        if (event === undefined) return null;
        const runningSince = why.runningSince === null ? null : at(why.runningSince);
        const paused = why.paused && { paused: true };
        return { reason: 'behind', blocker: { event, runningSince, ...paused, waiting: gauge(why.waiting) } };
      }
      case 'later':
        return { reason: 'later', dueAt: at(why.dueAt), waiting: gauge(why.waiting) };
      case 'suspect':
        return { reason: 'suspect', waiting: gauge(why.waiting) };
      case 'next':
        return { reason: 'next', lastSeen: at(why.lastSeen), waiting: gauge(why.waiting) };
      case 'discarded':
        return why;
    }
  });

  function gauge(place: number | null): Gauge {
    const counted = place === null ? undefined : counts[place];
    if (counted === undefined) return NONE;
    return { count: Math.min(counted.handled, COUNTED), more: counted.all > COUNTED };
  }
}
