import type {
  Announced,
  IgnoredType,
  ProcessorIdentity,
  ProcessorsSeen,
  Scope,
  TypeCount,
  UnhandledType,
} from '../work.ts';
import { withinBudget, type Budget } from './budget.ts';
import { gaugeOf } from './counted.ts';
import type { Queue, QueuedEvent, SizedEvent } from './store.ts';

/**
 * How long a processor counts as running after it was last seen, so that its events hold back newer ones. Also how long
 * an event waits before its type is reported as unhandled.
 */
export const PRESENT_MS = 10 * 60_000;
/** Events become ignored when no processor of their endpoint has handled their type for this long. */
export const IGNORE_AFTER_MS = 7 * 24 * 60 * 60_000;
/** How long the log and the page offer to rerun ignored events. */
const RERUN_OFFERED_MS = 7 * 24 * 60 * 60_000;

export function seenSince(now: number): number {
  return now - PRESENT_MS;
}

export function rerunOfferedSince(now: number): number {
  return now - RERUN_OFFERED_MS;
}

/** No processor for seven days, or since the caller began to check, whichever is longer. */
export function goneSince(now: number, ignoreBefore: number): number {
  return Math.min(now - IGNORE_AFTER_MS, ignoreBefore);
}

export function wasSeenAfter(lastSeen: number | null, since: number): boolean {
  return lastSeen !== null && lastSeen > since;
}

export function isAmong(types: Scope['types'], type: string | null): boolean {
  return types === '*' || (type !== null && types.includes(type));
}

export function isInScope(
  { endpoints, types }: Scope,
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
): boolean {
  return (endpoints === '*' || endpoints.includes(endpoint)) && isAmong(types, type);
}

export interface NotedProcessor extends ProcessorIdentity, Scope {
  readonly seenAt: number;
}

export interface HandledType {
  readonly endpoint: string;
  readonly type: string;
  readonly at: number;
}

export function processorsSeen(
  running: readonly NotedProcessor[],
  handled: readonly HandledType[],
  date = (at: number) => new Date(at),
): ProcessorsSeen {
  return {
    processors: running.map(({ startedAt, seenAt, ...processor }) => ({
      ...processor,
      startedAt: date(startedAt),
      seenAt: date(seenAt),
    })),
    handled: handled.map(({ endpoint, type, at }) => ({ endpoint, type, seenAt: date(at) })),
  };
}

export const PARKED_BATCH = 250;
export const IGNORE_BATCH = 200;
/** The number of types is limited, because senders can invent types. */
export const TYPES_BATCH = 100;

/** Where the next announcement continues; `null` at the end. The caller stores it after the commit. */
export interface Sweep {
  readonly parked: number | null;
  readonly ignoring: TypePosition | null;
}

export interface TypePosition {
  readonly endpoint: string | null;
  readonly from: string;
}

export const WHOLE_SWEEP: Sweep = { parked: 0, ignoring: { endpoint: null, from: '' } };

/** Each announcement of a scope continues the last one. */
export function continuedSweeps() {
  const sweeps = new Map<string, Sweep>();
  return async (
    scope: Scope,
    announce: (from: Sweep) => Promise<Announced & { readonly sweep: Sweep }>,
  ): Promise<Announced> => {
    const key = JSON.stringify(scope);
    const { sweep, ...announced } = await announce(sweeps.get(key) ?? WHOLE_SWEEP);
    // Only a commit makes it true.
    sweeps.set(key, sweep);
    return announced;
  };
}

export function announced(
  ignored: Announced['ignored'],
  { parked, ignoring }: Sweep,
): Announced & { readonly sweep: Sweep } {
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

export interface ParkedEvent extends QueuedEvent, SizedEvent {
  readonly isHandled: boolean;
}

/**
 * The processor that handled the events which a parked event waits for may be gone. Unparks events that no processor
 * handles, and the front of each other queue.
 */
export function planParked(
  found: readonly ParkedEvent[],
  budget: Budget,
): { readonly unpark: readonly number[]; readonly queues: readonly Queue[]; readonly parked: Sweep['parked'] } {
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

export interface ReadyType {
  readonly endpoint: string;
  readonly type: string;
  readonly isPaused: boolean;
  readonly lastSeen: number | null;
}

/** Events of a paused type wait for its end. */
export function typesToIgnore(ready: readonly ReadyType[], now: number, ignoreBefore: number): readonly ReadyType[] {
  const gone = goneSince(now, ignoreBefore);
  return ready.filter(({ isPaused, lastSeen }) => !isPaused && !wasSeenAfter(lastSeen, gone));
}

export interface WaitingEvent extends QueuedEvent, SizedEvent {
  readonly type: string;
}

export interface WaitingEvents {
  readonly events: readonly WaitingEvent[];
  /** the type at which a limit ended the search */
  readonly endedAt: Pick<ReadyType, 'endpoint' | 'type'> | null;
}

interface IgnorePlan {
  readonly events: readonly WaitingEvent[];
  readonly ignored: Announced['ignored'];
  readonly left: readonly Queue[];
  readonly ignoring: Sweep['ignoring'];
}

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
      // More of this type may exist. If other transactions hold all that were found, the next sweep finds them.
      const isTaken = totals.has(JSON.stringify([endpoint, type]));
      return isTaken ? { endpoint, from: type } : after(endedAt);
    }
    const last = ready.at(-1);
    return last === undefined || ready.length < TYPES_BATCH ? null : after(last);
  }
}

function after({ endpoint, type }: Pick<ReadyType, 'endpoint' | 'type'>): TypePosition {
  return { endpoint, from: `${type}\0` };
}

/** Each queue once: thousands of events of one entity may wait. */
function queuesOf(events: readonly QueuedEvent[]): readonly Queue[] {
  const queues = events.map(
    ({ endpoint, entity }) => [JSON.stringify([endpoint, entity]), { endpoint, entity }] as const,
  );
  return [...new Map(queues).values()];
}

export const COUNTED = 1_000;

export interface TypeTotal {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  readonly lastSeen: number | null;
}

export interface PendingType extends TypeTotal {
  readonly dueAt: number;
  readonly isPaused: boolean;
  readonly wasEndpointHandled: boolean;
}

/**
 * Types whose events have been due for ten minutes, and that no processor has handled for as long. A type that was
 * never handled is reported only if running processors do not handle its endpoint.
 */
export function unhandledTypes(
  pending: readonly PendingType[],
  { isAnybodyThere, handledSince }: { readonly isAnybodyThere: boolean; readonly handledSince: number },
): UnhandledType[] {
  return pending.flatMap((total) => {
    const { dueAt, isPaused, lastSeen, wasEndpointHandled } = total;
    if (dueAt > handledSince || isPaused || wasSeenAfter(lastSeen, handledSince)) return [];
    if (lastSeen === null && (!isAnybodyThere || wasEndpointHandled)) return [];
    return [{ ...typeCount(total), since: lastSeen === null ? null : new Date(lastSeen) }];
  });
}

export function ignoredTypes(ignored: readonly TypeTotal[], now: number): IgnoredType[] {
  return ignored.map((total) => ({ ...typeCount(total), handled: wasSeenAfter(total.lastSeen, seenSince(now)) }));
}

function typeCount({ endpoint, type, count }: TypeTotal): TypeCount {
  return { endpoint, type, ...gaugeOf(count, COUNTED) };
}
