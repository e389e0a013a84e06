import type { Instant } from '../../events/instant.ts';
import type { EventKey, EventState } from '../event.ts';
import type { EventSummary } from '../operator/search.ts';
import type { Rate } from '../work.ts';
import { isSuspect } from './claim.ts';
import type { Gauge } from './counted.ts';
import { isBefore } from './entity-order.ts';
import { isPaused, lastingPauses, type StoredPause } from './pauses.ts';
import { freeAt, type StoredRate } from './rates.ts';
import { seenSince, wasSeenAfter } from './processors.ts';
import type { ClaimState, Front, Queue, QueuedEvent } from './store.ts';

/** Why an event has not been processed. */
export type Wait =
  /** The handler of the event is running. */
  | { readonly reason: 'running'; readonly since: Date; readonly waiting: Gauge }
  /** The type of the event is paused, until an operator resumes it or the pause ends by itself. */
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  /** No running processor handles the type of the event. `lastSeen` is `null` if no processor ever did. */
  | { readonly reason: 'no processor'; readonly lastSeen: Date | null }
  /** Another event of its entity comes first. */
  | { readonly reason: 'behind'; readonly blocker: Blocker }
  /** The event is not due yet. */
  | { readonly reason: 'later'; readonly dueAt: Date; readonly waiting: Gauge }
  /** A process crashed while it handled the event. Such events are handled one at a time, and another one is running. */
  | { readonly reason: 'suspect'; readonly waiting: Gauge }
  /** Attempts of its type may begin only at a rate, and the next one may begin at `freeAt`. */
  | { readonly reason: 'rate'; readonly rate: Rate; readonly freeAt: Date; readonly waiting: Gauge }
  /** A processor will claim the event next. `lastSeen`: when such a processor was last seen. */
  | { readonly reason: 'next'; readonly lastSeen: Date; readonly waiting: Gauge }
  /** An operator discarded the event. */
  | { readonly reason: 'discarded' }
  /** No processor handled the type of the event, so it was ignored. `lastSeen` is `null` if no processor ever did. */
  | { readonly reason: 'not handled'; readonly lastSeen: Date | null };

/** The event that other events of its entity wait for. */
export interface Blocker {
  readonly event: EventSummary;
  /** When the handler of this event started. `null` if this event is waiting too. */
  readonly runningSince: Date | null;
  /** `true` if the type of this event is paused. */
  readonly paused?: boolean;
  /** How many events of the same entity wait behind this event. */
  readonly waiting: Gauge;
}

export interface Waits {
  /**
   * Explains why each event has not been processed yet. `null` for an event that is processed, dead or unknown.
   *
   * @param now - milliseconds since 1970
   */
  waits(keys: readonly EventKey[], now: number): Promise<readonly (Wait | null)[]>;
}

const COUNTED = 1_000;
export const COUNTED_BEHIND = COUNTED + 1;

export interface WaitingEvent extends QueuedEvent {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly state: EventState;
  readonly crashes: number;
  readonly dueAt: number;
  readonly claimedAt: number | null;
  readonly yields: boolean;
  readonly lastSeen: number | null;
  readonly running: { readonly seq: number; readonly claimedAt: number } | undefined;
  /** the first pending event of its entity that holds back others, itself included */
  readonly front: Front | undefined;
}

export interface WaitingRow extends Pick<WaitingEvent, 'seq' | 'endpoint' | 'type' | 'entity' | 'state' | 'crashes'> {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly due_ms: number;
  readonly claimed_ms: number | null;
  readonly yields: unknown;
}

export function waitingEvent(
  { created_ms: ms, created_ns: ns, due_ms: dueAt, claimed_ms: claimedAt, yields, ...row }: WaitingRow,
  others: Pick<WaitingEvent, 'lastSeen' | 'running' | 'front'>,
): WaitingEvent {
  const created = ms === null ? null : { ms, ns: ns ?? 0 };
  const { seq, endpoint, type, entity, state, crashes } = row;
  return { seq, endpoint, type, entity, created, state, crashes, dueAt, claimedAt, yields: Boolean(yields), ...others };
}

export interface PlaceInQueue extends Queue {
  readonly after: Pick<Front, 'seq' | 'created'> | null;
}

export interface CountBehind {
  readonly all: number;
  /** those whose type a processor handles */
  readonly handled: number;
}

interface WaitPlan {
  readonly places: readonly PlaceInQueue[];
  readonly blockers: readonly number[];
  /**
   * `null` also for an event whose blocker is gone now.
   *
   * @param counts - one for each place
   */
  waits(
    counts: readonly CountBehind[],
    blockers: readonly EventSummary[],
    at?: (ms: number) => Date,
  ): readonly (Wait | null)[];
}

interface Loader {
  readonly at: (ms: number) => Date;
  /** None behind an event without an entity. */
  readonly waiting: (queue: Queue, after: { readonly seq: number; readonly created: Instant | null } | null) => Gauge;
  readonly blocker: (seq: number) => EventSummary | undefined;
}

export interface WaitState extends ClaimState {
  readonly rates: readonly StoredRate[];
}

export function planWaits(events: readonly (WaitingEvent | undefined)[], state: WaitState, now: number): WaitPlan {
  const places = new Map<string, PlaceInQueue>();
  const blockers = new Set<number>();
  const explain = (loader: Loader) => events.map((event) => event && whyWaiting(event, state, now, loader));
  const at = (ms: number): Date => new Date(ms);
  // The first pass finds out what to load.
  explain({
    at,
    waiting(queue, after) {
      const place = placeIn(queue, after);
      if (place !== null) places.set(keyOf(place), place);
      return gaugeOf();
    },
    blocker(seq) {
      blockers.add(seq);
      return undefined;
    },
  });
  return {
    places: [...places.values()],
    blockers: [...blockers],
    waits(counts, summaries, toDate = at) {
      const bySeq = new Map(summaries.map((event) => [event.seq, event]));
      const byPlace = new Map([...places.keys()].map((key, n) => [key, counts[n]]));
      const explained = explain({
        at: toDate,
        waiting(queue, after) {
          const place = placeIn(queue, after);
          return gaugeOf(place === null ? undefined : byPlace.get(keyOf(place)));
        },
        blocker: (seq) => bySeq.get(seq),
      });
      return explained.map((wait) => wait ?? null);
    },
  };
}

function placeIn(
  { endpoint, entity }: Queue,
  after: { readonly seq: number; readonly created: Instant | null } | null,
): PlaceInQueue | null {
  if (entity === null) return null;
  const known = after === null || after.created === null ? null : { seq: after.seq, created: after.created };
  return { endpoint, entity, after: known };
}

function keyOf({ endpoint, entity, after }: PlaceInQueue): string {
  return JSON.stringify([endpoint, entity, after?.seq]);
}

function gaugeOf({ all, handled }: CountBehind = { all: 0, handled: 0 }): Gauge {
  return { count: Math.min(handled, COUNTED), more: all > COUNTED };
}

function whyWaiting(event: WaitingEvent, state: WaitState, now: number, loader: Loader): Wait | null {
  const { at, waiting } = loader;
  switch (event.state) {
    case 'processed':
    case 'dead':
      return null;
    case 'discarded':
      return { reason: 'discarded' };
    case 'ignored':
      return { reason: 'not handled', lastSeen: event.lastSeen === null ? null : at(event.lastSeen) };
    case 'processing':
      return { reason: 'running', since: at(event.claimedAt ?? now), waiting: waiting(event, null) };
    case 'pending':
      return whyPending(event, state, now, loader);
  }
}

function whyPending(
  event: WaitingEvent,
  { pauses: all, isSuspectRunning, rates }: WaitState,
  now: number,
  { at, waiting, blocker }: Loader,
): Wait | null {
  const { endpoint, lastSeen, running, front, dueAt } = event;
  const pauses = lastingPauses(all, now);
  const pause = pauses.find((each) => isPaused([each], event));
  if (pause !== undefined) {
    const { since, until } = pause;
    const end = until !== undefined && { until: at(until.getTime()) };
    return { reason: 'paused', pause: { ...pause, since: at(since.getTime()), ...end } };
  }
  // Events in front of this one matter only once a processor runs that handles it.
  if (lastSeen === null || !wasSeenAfter(lastSeen, seenSince(now))) {
    return { reason: 'no processor', lastSeen: lastSeen === null ? null : at(lastSeen) };
  }
  if (event.entity !== null && running !== undefined) {
    return behind(running.seq, { runningSince: at(running.claimedAt), waiting: waiting(event, null) });
  }
  if (event.entity !== null && front !== undefined && isBefore(front, event)) {
    const paused = isPaused(pauses, { endpoint, type: front.type });
    return behind(front.seq, { runningSince: null, ...(paused && { paused }), waiting: waiting(event, front) });
  }
  const here = event.yields ? gaugeOf() : waiting(event, event);
  if (dueAt > now) return { reason: 'later', dueAt: at(dueAt), waiting: here };
  if (isSuspect(event) && isSuspectRunning) return { reason: 'suspect', waiting: here };
  const full = rates.find((rate) => isPaused([rate], event) && freeAt(rate, now) > now);
  if (full !== undefined) {
    const { count, perMs } = full;
    return { reason: 'rate', rate: { count, perMs }, freeAt: at(freeAt(full, now)), waiting: here };
  }
  return { reason: 'next', lastSeen: at(lastSeen), waiting: here };

  function behind(seq: number, rest: Omit<Blocker, 'event'>): Wait | null {
    const event = blocker(seq);
    return event === undefined ? null : { reason: 'behind', blocker: { event, ...rest } };
  }
}
