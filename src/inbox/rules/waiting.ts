import type { Instant } from '../../events/instant.ts';
import type { EventKey, EventState } from '../event.ts';
import type { EventSummary } from '../operator/search.ts';
import { isSuspect } from './claim.ts';
import type { Gauge } from './counted.ts';
import { isBefore } from './entity-order.ts';
import { isPaused, type StoredPause } from './pauses.ts';
import { seenSince, wasSeenAfter } from './processors.ts';
import type { ClaimState, Front, Queue, QueuedEvent } from './store.ts';

/** Why an event has not been processed, according to the rules that processors follow. */
export type Wait =
  /** The handler of the event is running. */
  | { readonly reason: 'running'; readonly since: Date; readonly waiting: Gauge }
  /** The type of the event is paused until an operator resumes it. */
  | { readonly reason: 'paused'; readonly pause: StoredPause }
  /** No running processor handles the type of the event. `lastSeen` is `null` if no processor ever did. */
  | { readonly reason: 'no processor'; readonly lastSeen: Date | null }
  /** Another event of its entity comes first. */
  | { readonly reason: 'behind'; readonly blocker: Blocker }
  /** The event is not due yet. */
  | { readonly reason: 'later'; readonly dueAt: Date; readonly waiting: Gauge }
  /**
   * The event was being handled when a process died, and another such event is being handled now. Such events are
   * handled one at a time.
   */
  | { readonly reason: 'suspect'; readonly waiting: Gauge }
  /** A processor will claim the event next. `lastSeen`: when a processor that handles its type was last seen. */
  | { readonly reason: 'next'; readonly lastSeen: Date; readonly waiting: Gauge }
  /** An operator discarded the event. */
  | { readonly reason: 'discarded' }
  /**
   * The event was ignored because no processor handled its type. `lastSeen`: when such a processor was last seen;
   * `null` if never.
   */
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
   * Explains why each event has not been processed yet. `null` for an event that is processed, dead or unknown. The
   * work for each event is limited, no matter how many events are waiting.
   *
   * @param now - milliseconds since 1970
   */
  waits(keys: readonly EventKey[], now: number): Promise<readonly (Wait | null)[]>;
}

/** At most so many events behind another one are counted. */
const COUNTED = 1_000;
/** One more tells whether there are others. */
export const COUNTED_BEHIND = COUNTED + 1;

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

/** The columns of a waiting event. */
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

/** The facts that an engine still has to load to explain the waits. */
interface WaitPlan {
  /** places to count events behind, each once */
  readonly places: readonly PlaceInQueue[];
  /** events to summarise, each once */
  readonly blockers: readonly number[];
  /**
   * The wait of each event; `null` for an event that is processed, dead or unknown, and for one whose blocker is gone by now.
   *
   * @param counts - one for each place
   */
  waits(
    counts: readonly CountBehind[],
    blockers: readonly EventSummary[],
    at?: (ms: number) => Date,
  ): readonly (Wait | null)[];
}

/** Explains a wait with the facts that were loaded. */
type Draft = (loaded: {
  readonly at: (ms: number) => Date;
  /** of the place with this number; nothing waits behind `null` */
  readonly waiting: (place: number | null) => Gauge;
  readonly blocker: (seq: number) => EventSummary | undefined;
}) => Wait | null;

export function planWaits(
  events: readonly (WaitingEvent | undefined)[],
  { pauses, isSuspectRunning }: ClaimState,
  now: number,
): WaitPlan {
  const places: PlaceInQueue[] = [];
  const numbers = new Map<string, number>();
  const blockers = new Set<number>();
  const drafts = events.map((event): Draft => (event === undefined ? () => null : draftOf(event)));
  return {
    places,
    blockers: [...blockers],
    waits(counts, summaries, at = (ms) => new Date(ms)) {
      const bySeq = new Map(summaries.map((event) => [event.seq, event]));
      const waiting = (place: number | null): Gauge => gaugeOf(place === null ? undefined : counts[place]);
      return drafts.map((draft) => draft({ at, waiting, blocker: (seq) => bySeq.get(seq) }));
    },
  };

  function draftOf(event: WaitingEvent): Draft {
    switch (event.state) {
      case 'processed':
      case 'dead':
        return () => null;
      case 'discarded':
        return () => ({ reason: 'discarded' });
      case 'ignored':
        return ({ at }) => ({ reason: 'not handled', lastSeen: event.lastSeen === null ? null : at(event.lastSeen) });
      case 'processing': {
        const place = placeIn(event, null);
        return ({ at, waiting }) => ({ reason: 'running', since: at(event.claimedAt ?? now), waiting: waiting(place) });
      }
      case 'pending':
        return whyPending(event);
    }
  }

  function whyPending(event: WaitingEvent): Draft {
    const { endpoint, lastSeen, running, front, dueAt } = event;
    const pause = pauses.find((each) => isPaused([each], event));
    if (pause !== undefined) {
      return ({ at }) => ({ reason: 'paused', pause: { ...pause, since: at(pause.since.getTime()) } });
    }
    // A processor that comes back finds the events in front of this one. Until then the missing processor is the reason.
    if (lastSeen === null || !wasSeenAfter(lastSeen, seenSince(now))) {
      return ({ at }) => ({ reason: 'no processor', lastSeen: lastSeen === null ? null : at(lastSeen) });
    }
    if (event.entity !== null && running !== undefined) return behind(event, running, null, false);
    if (event.entity !== null && front !== undefined && isBefore(front, event)) {
      const waiting = { seq: front.seq, claimedAt: null };
      return behind(event, waiting, front, isPaused(pauses, { endpoint, type: front.type }));
    }
    const place = event.yields ? null : placeIn(event, event);
    if (dueAt > now) return ({ at, waiting }) => ({ reason: 'later', dueAt: at(dueAt), waiting: waiting(place) });
    if (isSuspect(event) && isSuspectRunning) return ({ waiting }) => ({ reason: 'suspect', waiting: waiting(place) });
    return ({ at, waiting }) => ({ reason: 'next', lastSeen: at(lastSeen), waiting: waiting(place) });
  }

  function behind(
    queue: Queue,
    { seq, claimedAt }: { readonly seq: number; readonly claimedAt: number | null },
    after: Front | null,
    paused: boolean,
  ): Draft {
    const place = placeIn(queue, after);
    blockers.add(seq);
    return ({ at, waiting, blocker }) => {
      const event = blocker(seq);
      if (event === undefined) return null;
      const runningSince = claimedAt === null ? null : at(claimedAt);
      return {
        reason: 'behind',
        blocker: { event, runningSince, ...(paused && { paused }), waiting: waiting(place) },
      };
    };
  }

  /** The number of a place; `null` for an event without an entity. */
  function placeIn(
    { endpoint, entity }: Queue,
    after: { readonly seq: number; readonly created: Instant | null } | null,
  ): number | null {
    if (entity === null) return null;
    const known = after === null || after.created === null ? null : { seq: after.seq, created: after.created };
    const key = JSON.stringify([endpoint, entity, known?.seq]);
    const number = numbers.get(key) ?? places.push({ endpoint, entity, after: known }) - 1;
    numbers.set(key, number);
    return number;
  }
}

function gaugeOf({ all, handled }: CountBehind = { all: 0, handled: 0 }): Gauge {
  return { count: Math.min(handled, COUNTED), more: all > COUNTED };
}
