import { IGNORE_AFTER_MS, TAKER_MS, type Scope } from '../work.ts';

/** Whoever was seen after that is still there: so long its events hold back newer ones, and so long nobody is told. */
export function thereSince(now: number): number {
  return now - TAKER_MS;
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
