import type { ActResult } from '../operator/acts.ts';
import type { BulkFate, OutcomePart } from '../operator/bulk-outcome.ts';
import type { EventState } from '../state.ts';
import type { Steps } from './steps.ts';

/** Events of a bulk that stand alike. */
export interface AlikeEvents {
  readonly state: EventState;
  /** pending, and failed before */
  readonly failed: boolean;
  readonly erased: boolean;
  /** somebody has acted on them after the bulk */
  readonly again: boolean;
  readonly count: number;
}

/** What an engine is asked for that tells what became of a bulk's events. */
export interface Outcomes {
  /** Events of a snapshot that have a result, after one of them. */
  worked(
    bulk: number,
    after: number,
    limit: number,
  ): Steps<readonly { readonly seq: number; readonly result: ActResult }[]>;
  /** How these stand now; `line` is the one of the bulk in the audit. */
  standing(seqs: readonly number[], line: number): Steps<readonly AlikeEvents[]>;
}

/** A part of what became of the events that a bulk was done to. */
export function* outcomePart(
  engine: Outcomes,
  { id, audit }: { readonly id: number; readonly audit: number | null },
  after: number,
  limit: number,
): Steps<OutcomePart> {
  if (audit === null) return { counts: {}, again: 0, next: null };
  const worked = yield* engine.worked(id, after, limit);
  const done = worked.filter(({ result }) => result === 'done').map(({ seq }) => seq);
  const counts: Partial<Record<BulkFate, number>> = {};
  let again = 0;
  for (const alike of done.length === 0 ? [] : yield* engine.standing(done, audit)) {
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
