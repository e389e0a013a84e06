import type { AnyInbox } from '../inbox/contract.ts';
import { isImportedId, type EventKey, type StoredEvent } from '../inbox/event.ts';
import type { EventAct } from '../inbox/operator/audit.ts';
import type { EventFilter } from '../inbox/operator/filter.ts';
import type { DeadGroup, EventCount, EventPage, EventSummary, SearchRequest } from '../inbox/operator/search.ts';
import type { Attempt } from '../inbox/work.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import type { Wait } from '../inbox/operator/waits.ts';
import { operationsOf } from './operations-of.ts';
import { whyWaiting } from './why-waiting.ts';

const PAGE: KnownOptions<SearchRequest> = { before: true, beforeAt: true, limit: true, order: true, signal: true };
const COUNT: KnownOptions<CountOptions> = { signal: true };

/** Everything that is known of one event. */
export interface EventHistory {
  readonly summary: EventSummary;
  readonly event: StoredEvent;
  readonly attempts: readonly Attempt[];
  /** why it is not handled yet; `null` where it was processed or is dead */
  readonly wait: Wait | null;
  /**
   * deliveries, attempts and acts of operators, the oldest first; an attempt after an operator's rerun is a `manual` one
   */
  readonly timeline: readonly TimelineEntry[];
}

export type TimelineEntry =
  /** the delivery that was stored */
  | { readonly what: 'stored'; readonly at: Date }
  /** the service sent it again; only the last twenty are known one by one */
  | { readonly what: 'redelivered'; readonly at: Date }
  /** so many redeliveries, from then on, before those that are known one by one */
  | { readonly what: 'redeliveries'; readonly at: Date; readonly count: number }
  /** it was sent with other bytes; only the last twenty times are known */
  | { readonly what: 'conflict'; readonly at: Date }
  | { readonly what: 'attempt'; readonly at: Date; readonly attempt: Attempt }
  /** somebody reran, discarded, retried now or erased it */
  | { readonly what: 'act'; readonly at: Date; readonly act: EventAct }
  /** where it stands now, when it waits for something or is over */
  | { readonly what: 'due'; readonly at: Date }
  | { readonly what: 'settled'; readonly at: Date; readonly state: EventSummary['state'] };

/**
 * The stored events that fit a filter, newest first unless `page.order` says `oldest` or `failed`, a page at a time. Each page
 * looks at no more than 5,000 events, so one may have few of them, or none, and still have a `next`; go on with that as
 * `before` until it is `null`, in the order `failed` with `nextAt` as `beforeAt` too. What is stored meanwhile is newer than the
 * cursor, so no event comes twice.
 *
 * @throws ConfigurationError for a condition that does not exist or cannot be read, and for an inbox that cannot be looked
 * into
 * @throws the reason of `page.signal` when that was aborted
 * @example
 * ```ts
 * import { listEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { events, next } = await listEvents(inbox, { states: ['dead'], entity: 'ord_42' }, { limit: 20 });
 * for (const { id, lastError } of events) console.log(id, lastError?.message);
 * console.log(next); // null
 * ```
 */
export async function listEvents(
  inbox: AnyInbox,
  filter: EventFilter = {},
  page: SearchRequest = {},
): Promise<EventPage> {
  assertOptions('listEvents', page, PAGE);
  return operationsOf(inbox).search(filter, page);
}

export interface CountOptions {
  /** ends the search when its caller no longer waits */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How many stored events fit a filter: exact up to 10,000, as far as that can be told from 20,000 events that are looked at.
 *
 * @throws ConfigurationError for a condition that does not exist or cannot be read, and for an inbox that cannot be looked
 * into
 * @throws the reason of `signal` when that was aborted
 * @example
 * ```ts
 * import { countEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { count, more, cut } = await countEvents(inbox, { states: ['dead'] });
 * console.log(more ? `more than ${count}` : cut ? `${count} or more` : count); // 0
 * ```
 */
export async function countEvents(
  inbox: AnyInbox,
  filter: EventFilter = {},
  options: CountOptions = {},
): Promise<EventCount> {
  assertOptions('countEvents', options, COUNT);
  return operationsOf(inbox).countFound(filter, options);
}

/**
 * One event with its deliveries and attempts, or `null`.
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
 * @example
 * ```ts
 * import { getEvent } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const history = await getEvent(inbox, { endpoint: 'default', id: 'evt_1' });
 * for (const { at, what } of history?.timeline ?? []) console.log(at.toISOString(), what);
 * ```
 */
export async function getEvent(inbox: AnyInbox, key: EventKey): Promise<EventHistory | null> {
  const operations = operationsOf(inbox);
  const [summary, event, attempts, acts, wait] = await Promise.all([
    operations.summary(key),
    inbox.get(key),
    inbox.attempts(key),
    operations.actsOn(key),
    whyWaiting(inbox, key),
  ]);
  if (summary === null || event === null) return null;
  return { summary, event, attempts, wait, timeline: timelineOf(summary, event, attempts, acts) };
}

/**
 * Dead events, grouped by what their last errors said: the largest 200 groups, the largest first. Those that nobody has said
 * anything of are grouped by their reason.
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
 * @example
 * ```ts
 * import { deadGroups } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { count, more, sample, reason } of await deadGroups(inbox)) {
 *   console.log(`${count}${more ? ' and more' : ''}: ${sample?.message ?? reason}`);
 * }
 * ```
 */
export async function deadGroups(inbox: AnyInbox): Promise<readonly DeadGroup[]> {
  return operationsOf(inbox).deadGroups();
}

/** Entries of the same time stay in the order of this function, which is the one they happened in. */
function timelineOf(
  summary: EventSummary,
  event: StoredEvent,
  attempts: readonly Attempt[],
  acts: readonly EventAct[],
): readonly TimelineEntry[] {
  const { redeliveries, conflict } = event;
  const timeline: TimelineEntry[] = isImportedId(event) ? [] : [{ what: 'stored', at: event.receivedAt }];
  const untold = redeliveries.count - redeliveries.recent.length;
  if (untold > 0 && redeliveries.firstAt !== null) {
    timeline.push({ what: 'redeliveries', at: redeliveries.firstAt, count: untold });
  }
  for (const at of redeliveries.recent) timeline.push({ what: 'redelivered', at });
  for (const at of conflict?.recent ?? []) timeline.push({ what: 'conflict', at });
  for (const act of acts) timeline.push({ what: 'act', at: act.at, act });
  for (const attempt of attempts) timeline.push({ what: 'attempt', at: attempt.startedAt, attempt });
  if (summary.dueAt !== null) timeline.push({ what: 'due', at: summary.dueAt });
  if (summary.settledAt !== null) timeline.push({ what: 'settled', at: summary.settledAt, state: summary.state });
  return timeline.toSorted((one, other) => one.at.getTime() - other.at.getTime());
}
