import type { Pause } from '../operator/pauses.ts';
import type { IgnoredType, Scope, TypeCount, UnhandledType } from '../work.ts';
import type { Takers, TypeTotal, WaitingTypes } from './engine.ts';
import { isPaused } from './pauses.ts';
import type { Steps } from './steps.ts';
import { seenSince, wasSeenAfter } from './takers.ts';

/** Counting stops here. */
export const COUNTED = 1_000;

/** What has waited for ten minutes, of types that nobody was seen to handle for as long. */
export function* unhandledTypes(
  engine: Takers & Pick<WaitingTypes, 'pendingTypes'>,
  now: number,
  handledSince = seenSince(now),
): Steps<UnhandledType[]> {
  const unhandled: UnhandledType[] = [];
  const pauses = yield* engine.pauses();
  for (const total of yield* engine.pendingTypes()) {
    if (total.dueAt > handledSince || isPaused(pauses, total)) continue;
    const seen = yield* engine.lastSeen(total.endpoint, total.type);
    if (wasSeenAfter(seen, handledSince)) continue;
    // What was never handled is only told where processors run that do not know of its endpoint.
    if (seen === null && !(yield* isForgotten(engine, total.endpoint, handledSince))) continue;
    unhandled.push({ ...counted(total), since: seen === null ? null : new Date(seen) });
  }
  return unhandled;
}

/** Processors run on this inbox, but none of them has ever handled this endpoint: somebody may not know that one must. */
function* isForgotten(engine: Takers, endpoint: string, since: number): Steps<boolean> {
  return (yield* engine.isAnybodyThere(since)) && !(yield* engine.wasEverHandled(endpoint));
}

/** What was put away for want of a handler, as far as it is in a scope. */
export function* ignoredTypes(
  engine: Takers & Pick<WaitingTypes, 'ignoredTypes'>,
  scope: Scope,
  since: number,
  now: number,
): Steps<IgnoredType[]> {
  const ignored: IgnoredType[] = [];
  for (const total of yield* engine.ignoredTypes(scope, since)) {
    const seen = yield* engine.lastSeen(total.endpoint, total.type);
    ignored.push({ ...counted(total), handled: wasSeenAfter(seen, seenSince(now)) });
  }
  return ignored;
}

/**
 * How many events wait behind a pause.
 *
 * @param found - of those that were looked at
 * @param unseen - whether more events are set aside than were looked at: some of them may wait here, too
 */
export function waitingBehind(found: number, unseen: boolean): Pick<Pause, 'waiting' | 'more'> {
  return { waiting: Math.min(found, COUNTED), more: unseen || found > COUNTED };
}

function counted({ endpoint, type, count }: TypeTotal): TypeCount {
  return { endpoint, type, count: Math.min(count, COUNTED), more: count > COUNTED };
}
