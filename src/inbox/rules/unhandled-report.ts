import type { IgnoredType, TypeCount, UnhandledType } from '../work.ts';
import { seenSince, wasSeenAfter } from './handled-types.ts';

/** Counting stops here. */
export const COUNTED = 1_000;

export interface TypeTotal {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  /** when a processor that handles it was last seen; `null` for never */
  readonly lastSeen: number | null;
}

/** The pending events of a type. */
export interface PendingType extends TypeTotal {
  /** when the first of them was due */
  readonly dueAt: number;
  readonly isPaused: boolean;
  /** a processor has handled some type of its endpoint */
  readonly wasEndpointHandled: boolean;
}

/**
 * Types whose events have been due for ten minutes, and that no processor has handled for as long. A type that was never
 * handled is reported only where processors run that do not know its endpoint.
 */
export function unhandledTypes(
  pending: readonly PendingType[],
  { isAnybodyThere, handledSince }: { readonly isAnybodyThere: boolean; readonly handledSince: number },
): UnhandledType[] {
  return pending.flatMap((total) => {
    const { dueAt, isPaused, lastSeen, wasEndpointHandled } = total;
    if (dueAt > handledSince || isPaused || wasSeenAfter(lastSeen, handledSince)) return [];
    if (lastSeen === null && (!isAnybodyThere || wasEndpointHandled)) return [];
    return [{ ...counted(total), since: lastSeen === null ? null : new Date(lastSeen) }];
  });
}

/** Types of ignored events. */
export function ignoredTypes(ignored: readonly TypeTotal[], now: number): IgnoredType[] {
  return ignored.map((total) => ({ ...counted(total), handled: wasSeenAfter(total.lastSeen, seenSince(now)) }));
}

/**
 * How many events wait behind a pause.
 *
 * @param found - of those that were looked at
 * @param unseen - whether more events are set aside than were looked at: some of them may wait here, too
 */
export function waitingBehind(found: number, unseen: boolean): { readonly waiting: number; readonly more: boolean } {
  return { waiting: Math.min(found, COUNTED), more: unseen || found > COUNTED };
}

function counted({ endpoint, type, count }: TypeTotal): TypeCount {
  return { endpoint, type, count: Math.min(count, COUNTED), more: count > COUNTED };
}
