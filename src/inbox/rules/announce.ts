import type { Announced } from '../work.ts';
import { withinBudget, type Budget } from './budget.ts';
import type { Queue, QueuedEvent, SizedEvent } from './store.ts';
import { goneSince, wasSeenAfter } from './handled-types.ts';

/** One announcement looks at so many parked events. */
export const PARKED_BATCH = 250;
/** It ignores at most so many events. */
export const IGNORE_BATCH = 200;
/** It looks for them among so many types: senders can invent types. */
export const TYPES_BATCH = 100;

/** Where the next announcement of a scope goes on; `null` at the end. Only a commit makes it true, so the caller keeps it. */
export interface Sweep {
  /** the parked event that was looked at last */
  readonly parked: number | null;
  readonly ignoring: TypePosition | null;
}

/** The first type of an endpoint that is not before `from`. */
export interface TypePosition {
  readonly endpoint: string | null;
  readonly from: string;
}

export const WHOLE_SWEEP: Sweep = { parked: 0, ignoring: { endpoint: null, from: '' } };

export function announced(
  ignored: Announced['ignored'],
  { parked, ignoring }: Sweep,
): Announced & { readonly sweep: Sweep } {
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

export interface ParkedEvent extends QueuedEvent, SizedEvent {
  /** its type is handled or paused */
  readonly isHandled: boolean;
}

export interface ParkedPlan {
  readonly unpark: readonly number[];
  /** the queues of the events: their next events may be claimed too */
  readonly queues: readonly Queue[];
  readonly parked: Sweep['parked'];
}

/**
 * The processor that handled the events which a parked event waits for may be gone. Unparks the events that no processor
 * handles. Of the others the front of each queue may be claimed, however many wait behind it.
 */
export function planParked(found: readonly ParkedEvent[], budget: Budget): ParkedPlan {
  const seen = withinBudget(
    found.map((event) => ({ ...event, bytes: event.isHandled ? 0 : event.bytes })),
    budget,
  );
  const isEnd = seen.length === found.length && found.length < PARKED_BATCH;
  return {
    unpark: seen.filter(({ isHandled }) => !isHandled).map(({ seq }) => seq),
    queues: queuesOf(seen),
    parked: isEnd ? null : (seen.at(-1)?.seq ?? null),
  };
}

/** A type of which an event may be claimed. */
export interface ReadyType {
  readonly endpoint: string;
  readonly type: string;
  readonly isPaused: boolean;
  /** when a processor that handles it was last seen; `null` for never */
  readonly lastSeen: number | null;
}

/** The types whose events no processor handles. Events of a paused type wait for its end, however long that takes. */
export function typesToIgnore(ready: readonly ReadyType[], now: number, ignoreBefore: number): readonly ReadyType[] {
  const gone = goneSince(now, ignoreBefore);
  return ready.filter(({ isPaused, lastSeen }) => !isPaused && !wasSeenAfter(lastSeen, gone));
}

export interface WaitingEvent extends QueuedEvent, SizedEvent {
  readonly type: string;
}

/** Events of types that no processor handles. */
export interface WaitingEvents {
  readonly events: readonly WaitingEvent[];
  /** the type at which a limit ended the look; `null` if all were found */
  readonly endedAt: Pick<ReadyType, 'endpoint' | 'type'> | null;
}

export interface IgnorePlan {
  readonly events: readonly WaitingEvent[];
  readonly ignored: Announced['ignored'];
  /** the queues that they leave */
  readonly left: readonly Queue[];
  readonly ignoring: Sweep['ignoring'];
}

/** @param ready - the types that were looked at */
export function planIgnore(
  ready: readonly ReadyType[],
  { events, endedAt }: WaitingEvents,
  budget: Budget,
): IgnorePlan {
  const taken = withinBudget(events, budget);
  const totals = new Map<string, { endpoint: string; type: string; count: number }>();
  for (const { endpoint, type } of taken) {
    const name = JSON.stringify([endpoint, type]);
    totals.set(name, { endpoint, type, count: (totals.get(name)?.count ?? 0) + 1 });
  }
  return { events: taken, ignored: [...totals.values()], left: queuesOf(taken), ignoring: nextPosition() };

  function nextPosition(): TypePosition | null {
    const first = events[taken.length];
    if (first !== undefined) return { endpoint: first.endpoint, from: first.type };
    if (endedAt !== null) {
      const { endpoint, type } = endedAt;
      // Of this type there may be more. If other transactions hold all that were found, the next sweep finds them.
      const isTaken = totals.has(JSON.stringify([endpoint, type]));
      return isTaken ? { endpoint, from: type } : after(endedAt);
    }
    const last = ready.at(-1);
    return last === undefined || ready.length < TYPES_BATCH ? null : after(last);
  }
}

function after({ endpoint, type }: Pick<ReadyType, 'endpoint' | 'type'>): TypePosition {
  // The next text there is.
  return { endpoint, from: `${type}\0` };
}

/** Each queue once: thousands of events of one entity may wait. */
function queuesOf(events: readonly QueuedEvent[]): readonly Queue[] {
  const queues = events.map(
    ({ endpoint, entity }) => [JSON.stringify([endpoint, entity]), { endpoint, entity }] as const,
  );
  return [...new Map(queues).values()];
}
