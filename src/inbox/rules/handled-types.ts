import type { ProcessorIdentity, ProcessorsSeen, Scope } from '../work.ts';

/**
 * A processor counts as there this long after it was last seen: so long its events hold back newer ones of their entity.
 * It is also how long an event waits before anybody is told that nobody handles it.
 */
export const PRESENT_MS = 10 * 60_000;
/** The events of a type are put away when no processor of their endpoint has handled it for so long. */
export const IGNORE_AFTER_MS = 7 * 24 * 60 * 60_000;
/** So long after events were put away it is offered to rerun them. */
const RERUN_OFFERED_MS = 7 * 24 * 60 * 60_000;

/** Whoever was seen after that is still there: so long its events hold back newer ones, and so long nobody is told. */
export function seenSince(now: number): number {
  return now - PRESENT_MS;
}

/** What was put away since then is offered to be rerun. */
export function rerunOfferedSince(now: number): number {
  return now - RERUN_OFFERED_MS;
}

/**
 * What nobody was seen to handle after that may be put away: not for seven days, nor since whoever puts it away has looked
 * for long enough.
 */
export function goneSince(now: number, ignoreBefore: number): number {
  return Math.min(now - IGNORE_AFTER_MS, ignoreBefore);
}

/** Whether somebody who was last seen then, or never, was seen after a time. */
export function wasSeenAfter(lastSeen: number | null, since: number): boolean {
  return lastSeen !== null && lastSeen > since;
}

/** Whether a type is among those of a handler. */
export function isAmong(types: Scope['types'], type: string | null): boolean {
  return types === '*' || (type !== null && types.includes(type));
}

/** Whether an event is one of a scope. */
export function isInScope(
  { endpoints, types }: Scope,
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
): boolean {
  return (endpoints === '*' || endpoints.includes(endpoint)) && isAmong(types, type);
}

/** A processor and what it handles; milliseconds since 1970. */
export interface NotedProcessor extends ProcessorIdentity, Scope {
  readonly seenAt: number;
}

/** When a processor that handles a type was last seen. */
export interface HandledType {
  readonly endpoint: string;
  readonly type: string;
  readonly at: number;
}

/** @param date - of a time as it is stored */
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
