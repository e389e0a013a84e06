import type { ActResult } from '../operator/acts.ts';
import type { BulkFate, OutcomePart } from '../operator/bulk-outcome.ts';
import type { EventState } from '../state.ts';

/** Events of a bulk that stand alike. */
export interface AlikeEvents {
  readonly state: EventState;
  /** pending, and failed before */
  readonly failed: boolean | 0 | 1;
  readonly erased: boolean | 0 | 1;
  /** somebody has acted on them after the bulk */
  readonly again: boolean | 0 | 1;
  readonly count: number;
}

/** An event of a snapshot that has a result. */
export interface WorkedEvent {
  readonly seq: number;
  readonly result: ActResult;
}

/** The events that a bulk has changed. */
export function changedBy(worked: readonly WorkedEvent[]): readonly number[] {
  return worked.filter(({ result }) => result === 'done').map(({ seq }) => seq);
}

/**
 * A part of what became of the events that a bulk has changed.
 *
 * @param worked - some of its events, in their order
 * @param changed - how those stand now that `changedBy` names
 * @param limit - so many events were asked for
 */
export function outcomeOf(worked: readonly WorkedEvent[], changed: readonly AlikeEvents[], limit: number): OutcomePart {
  const counts: Partial<Record<BulkFate, number>> = {};
  let again = 0;
  for (const alike of changed) {
    const fate = fateOf(alike);
    counts[fate] = (counts[fate] ?? 0) + alike.count;
    if (alike.again) again += alike.count;
  }
  return { counts, again, next: worked.length === limit ? (worked.at(-1)?.seq ?? null) : null };
}

/** What has become of an event, as it stands. */
export function fateOf({ state, failed, erased }: Pick<AlikeEvents, 'state' | 'failed' | 'erased'>): BulkFate {
  if (erased) return 'erased';
  if (state === 'pending') return failed ? 'retrying' : 'waiting';
  return state;
}
