import type { Instant } from '../../events/instant.ts';
import type { EventKey } from '../event.ts';
import type { Gauge } from '../operator/counts.ts';
import type { StoredPause } from '../operator/pauses.ts';
import type { EventSummary } from '../operator/search.ts';
import type { Wait } from '../operator/waits.ts';
import type { EventState } from '../state.ts';
import type { Scope } from '../work.ts';
import type { Takers } from './engine.ts';
import { isSuspect } from './claim.ts';
import { isBefore } from './entity-order.ts';
import { isPaused } from './pauses.ts';
import type { Steps } from './steps.ts';
import type { Front, Queue, QueuedEvent } from './store.ts';
import { isAmong, seenSince } from './takers.ts';

/** Counting what waits behind an event stops here. */
const COUNTED = 1_000;
const NONE: Gauge = { count: 0, more: false };

/** An event as it stands; times in milliseconds since 1970. */
export interface StandingEvent extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly state: EventState;
  readonly crashes: number;
  readonly dueAt: number;
  /** since when its handler runs, in processing */
  readonly claimedAt: number | null;
  /** it has failed and lets newer events of its entity pass; no unless set */
  readonly yields?: boolean;
}

/** What an engine is asked to explain why an event is waiting. */
export interface Standing extends Pick<Takers, 'takenTypes' | 'pauses' | 'lastSeen'> {
  isSuspectRunning(): Steps<boolean>;
  /** The first pending event of a queue that holds back others; types that were announced since then count as handled. */
  front(queue: Queue, handledSince: number): Steps<Front | undefined>;
  /** An event, and nothing of it is locked. */
  standing(key: EventKey): Steps<StandingEvent | undefined>;
  /** The event of an entity that is in processing. */
  running(queue: Queue): Steps<{ readonly seq: number; readonly claimedAt: number } | undefined>;
  /** The types of the first pending events of a queue that come after one of them, or of all of it. */
  typesBehind(queue: Queue, after: Pick<Front, 'seq' | 'created'> | undefined, limit: number): Steps<readonly string[]>;
}

/** A `Wait` before its blocker is looked up and its times are those of the caller. */
export type Why =
  | { readonly reason: 'running'; readonly since: number; readonly waiting: Gauge }
  | { readonly reason: 'no processor' | 'not handled'; readonly lastSeen: number | null }
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  | {
      readonly reason: 'behind';
      readonly seq: number;
      readonly runningSince: number | null;
      readonly paused?: boolean;
      readonly waiting: Gauge;
    }
  | { readonly reason: 'later'; readonly dueAt: number; readonly waiting: Gauge }
  | { readonly reason: 'suspect'; readonly waiting: Gauge }
  | { readonly reason: 'next'; readonly lastSeen: number; readonly waiting: Gauge }
  | { readonly reason: 'discarded' };

/** Why an event waits; `null` where it is processed, dead or not there. */
export function* whyWaiting(engine: Standing, key: EventKey, now: number): Steps<Why | null> {
  const event = yield* engine.standing(key);
  if (event === undefined) return null;
  switch (event.state) {
    case 'processed':
    case 'dead':
      return null;
    case 'discarded':
      return { reason: 'discarded' };
    case 'ignored':
      return { reason: 'not handled', lastSeen: yield* lastSeen(engine, event) };
    case 'processing':
      return {
        reason: 'running',
        since: event.claimedAt ?? now,
        waiting: yield* behind(engine, event, undefined, now),
      };
    case 'pending':
      return yield* whyPending(engine, event, now);
  }
}

function* whyPending(engine: Standing, event: StandingEvent, now: number): Steps<Why> {
  const pauses = yield* engine.pauses();
  const pause = pauses.find((each) => isPaused([each], event));
  if (pause !== undefined) return { reason: 'paused', pause };
  const seen = yield* lastSeen(engine, event);
  const taken = yield* engine.takenTypes(event.endpoint, seenSince(now));
  // Whoever comes back finds out what is in front of it: until then that nobody is there is what holds it up.
  if (seen === null || !isAmong(taken, event.type)) return { reason: 'no processor', lastSeen: seen };
  if (event.entity !== null) {
    const running = yield* engine.running(event);
    if (running !== undefined) {
      const waiting = yield* behind(engine, event, undefined, now);
      return { reason: 'behind', seq: running.seq, runningSince: running.claimedAt, waiting };
    }
    const older = yield* engine.front(event, seenSince(now));
    if (older !== undefined && isBefore(older, event)) {
      return {
        reason: 'behind',
        seq: older.seq,
        runningSince: null,
        ...(isPaused(pauses, { endpoint: event.endpoint, type: older.type }) && { paused: true }),
        waiting: yield* behind(engine, event, older, now),
      };
    }
  }
  const waiting = event.yields === true ? NONE : yield* behind(engine, event, event, now);
  if (event.dueAt > now) return { reason: 'later', dueAt: event.dueAt, waiting };
  if (isSuspect(event) && (yield* engine.isSuspectRunning())) return { reason: 'suspect', waiting };
  return { reason: 'next', lastSeen: seen, waiting };
}

function* lastSeen(engine: Standing, { endpoint, type }: StandingEvent): Steps<number | null> {
  return type === null ? null : yield* engine.lastSeen(endpoint, type);
}

/** How many wait behind an event of a queue: those that somebody handles, as the others wait for a handler. */
function* behind(
  engine: Standing,
  queue: Queue,
  after: Pick<StandingEvent, 'seq' | 'created'> | undefined,
  now: number,
): Steps<Gauge> {
  if (queue.entity === null) return NONE;
  const types = yield* engine.typesBehind(queue, placeOf(after), COUNTED + 1);
  const taken: Scope['types'] = yield* engine.takenTypes(queue.endpoint, seenSince(now));
  const count = types.slice(0, COUNTED).filter((type) => isAmong(taken, type)).length;
  return { count, more: types.length > COUNTED };
}

function placeOf(
  event: Pick<StandingEvent, 'seq' | 'created'> | undefined,
): Pick<Front, 'seq' | 'created'> | undefined {
  return event === undefined || event.created === null ? undefined : { seq: event.seq, created: event.created };
}

/** As whoever asked is told it; `null` where what it waits behind is gone by now. */
export function toldWait(
  why: Why,
  { at, summary }: { readonly at: (ms: number) => Date; readonly summary: (seq: number) => EventSummary | undefined },
): Wait | null {
  switch (why.reason) {
    case 'running':
      return { ...why, since: at(why.since) };
    case 'no processor':
    case 'not handled':
      return { ...why, lastSeen: why.lastSeen === null ? null : at(why.lastSeen) };
    case 'behind': {
      const event = summary(why.seq);
      if (event === undefined) return null;
      const runningSince = why.runningSince === null ? null : at(why.runningSince);
      const paused = why.paused === true && { paused: true };
      return { reason: 'behind', blocker: { event, runningSince, ...paused, waiting: why.waiting } };
    }
    case 'paused':
      return { ...why, pause: { ...why.pause, since: at(why.pause.since.getTime()) } };
    case 'later':
      return { ...why, dueAt: at(why.dueAt) };
    case 'next':
      return { ...why, lastSeen: at(why.lastSeen) };
    case 'suspect':
    case 'discarded':
      return why;
  }
}
