import { turn as nextTurn } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { listEvents, type EventFilter, type EventPage, type SearchOrder } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import type { Progress } from '../shared/progress-bar.ts';

/** The longest page there is. */
export const MOST_A_PAGE = 500;

/** How to go through pages. */
export interface PagesOptions {
  /** the most events in all */
  readonly most: number;
  /** begin behind the event of this `seq` */
  readonly before?: number;
  /** the newest first unless given */
  readonly order?: SearchOrder;
  /** ends after the page under way */
  readonly signal: AbortSignal;
  readonly progress?: Progress;
}

/**
 * Pages of the events that fit, newest first unless told otherwise, until there are as many as wanted or no more. A page may be short or empty
 * and still have a next one: it is also over when many events were looked at for it.
 */
export async function* pagesOf(inbox: Inbox, filter: EventFilter, options: PagesOptions): AsyncGenerator<EventPage> {
  const { most, before, order = 'newest', signal, progress } = options;
  let from: number | null = before ?? null;
  let beforeAt: Date | undefined;
  let newest = 0;
  let examined = 0;
  let found = 0;
  do {
    const page: EventPage = await listEvents(inbox, filter, {
      before: from,
      limit: Math.min(most - found, MOST_A_PAGE),
      order,
      ...(beforeAt !== undefined && { beforeAt }),
    });
    ({ next: from, nextAt: beforeAt } = page);
    examined += page.examined;
    found += page.events.length;
    newest ||= page.events[0]?.seq ?? (from ?? 0) + page.examined;
    // In another order nobody knows how far it is.
    const done = order === 'newest' ? 1 - (from ?? 0) / newest : null;
    progress?.show(done, `${plural(examined, 'event')} searched, ${number(found)} found`);
    yield page;
    await nextTurn(); // or Ctrl-C would never be heard
  } while (from !== null && found < most && !signal.aborted);
}
