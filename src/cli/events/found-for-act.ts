import type { Inbox } from '../../inbox/contract.ts';
import { askedByFilter, mayBeDone, searchedFor, summaryAt } from '../../inbox/rules/operator-acts.ts';
import { BreakdownSums } from '../../inbox/rules/bulks.ts';
import type { Act, Bulk, EventFilter, EventSummary } from '../../ops/index.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { pagesOf } from './event-pages.ts';

/** What an action would find now. */
export interface FoundForAct extends Pick<Bulk, 'act' | 'filter' | 'force' | 'total' | 'breakdown'> {
  /** the newest ten */
  readonly first: readonly EventSummary[];
}

const SHOWN = 10;

/**
 * Finds the events that an action would apply to. Only reads: it leaves nothing in the list of bulk actions, and no line
 * in the audit.
 *
 * @param enough - ends when so many are found
 * @param signal - ends after the page under way
 */
export async function foundForAct(
  inbox: Inbox,
  act: Act,
  filter: EventFilter,
  { force, enough, signal }: { readonly force: boolean; readonly enough: number; readonly signal: AbortSignal },
): Promise<FoundForAct> {
  const asked = askedByFilter(act, force, filter);
  const first: EventSummary[] = [];
  const sums = new BreakdownSums();
  let total = 0;
  const progress = progressBar();
  try {
    const now = new Date();
    for await (const page of pagesOf(inbox, searchedFor(asked, filter), { most: Infinity, signal, progress })) {
      const fitting = page.events.filter((event) => mayBeDone(asked, summaryAt(event, now)));
      for (const event of fitting) sums.add(event);
      total += fitting.length;
      first.push(...fitting.slice(0, SHOWN - first.length));
      if (total >= enough) break;
    }
  } finally {
    progress.end();
  }
  return { act, filter, force, total, breakdown: sums.toBreakdown(), first };
}
