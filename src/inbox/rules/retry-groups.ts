import type { EventFilter } from '../operator/filter.ts';
import type { EventSummary, RetryGroup } from '../operator/search.ts';
import { fingerprintOf } from './fingerprint.ts';
import { largestOf } from './dead-groups.ts';

/** What an event that is tried again is grouped by: what it would be grouped by if it was dead. */
export function retryPrintOf(error: EventSummary['lastError']): string {
  return error === null ? 'failed' : fingerprintOf(error);
}

/** The group of retries that a filter asks for, or `null`. Their fingerprints stand in no column: each is tried again soon. */
export function retryGroupOf({ retrying, fingerprint }: EventFilter): string | null {
  return retrying === true ? (fingerprint ?? null) : null;
}

/**
 * Puts events that are tried again into groups, the largest first.
 *
 * @param events - the newest first
 * @param more - there are others, which may be of any group
 */
export function retryGroupsOf(events: readonly EventSummary[], more: boolean): readonly RetryGroup[] {
  const groups = Map.groupBy(events, ({ lastError }) => retryPrintOf(lastError));
  const counted = Array.from(groups, ([print, of]) => ({ print, of, count: of.length, last: of[0]?.seq ?? 0 }));
  return largestOf(counted).flatMap(({ print, of, count }) => {
    const [newest] = of;
    const oldest = of.at(-1);
    if (newest === undefined || oldest === undefined) return [];
    const due = of.flatMap(({ dueAt }) => dueAt ?? []).toSorted((one, other) => one.getTime() - other.getTime());
    return { fingerprint: print, sample: newest.lastError, count, more, newest, oldest, nextDueAt: due[0] ?? null };
  });
}
