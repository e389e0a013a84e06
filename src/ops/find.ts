import type { AnyInbox } from '../inbox/contract.ts';
import { isImportedId, type EventKey, type StoredEvent } from '../inbox/event.ts';
import type { EventAct } from '../inbox/operator/audit.ts';
import {
  type DeadGroup,
  type EventCount,
  type EventFilter,
  type EventPage,
  type EventSummary,
  PAGE_LIMIT,
  type RetryGroup,
  type SearchRequest,
} from '../inbox/operator/search.ts';
import { retryGroupsOf, fingerprintOf } from '../inbox/rules/error-groups.ts';
import type { Wait } from '../inbox/rules/waiting.ts';
import type { Attempt, DoneStep } from '../inbox/work.ts';
import { assertOptions, whole, oneOf, orNull, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

const PAGE: RulesFor<SearchRequest> = {
  before: orNull(whole(0)),
  beforeAt: 'date',
  limit: PAGE_LIMIT,
  order: oneOf('newest', 'oldest', 'failed'),
  signal: true,
};
const COUNT: RulesFor<CountOptions> = { signal: true };

/** One event with its history. */
export interface EventHistory {
  readonly summary: EventSummary;
  readonly event: StoredEvent;
  readonly attempts: readonly Attempt[];
  /** Why the event has not been processed yet. */
  readonly wait: Wait | null;
  /** Deliveries, attempts and operators' actions, oldest first. The first attempt after a rerun is `manual`. */
  readonly timeline: readonly TimelineEntry[];
}

/** One entry of an event's history. */
export type TimelineEntry =
  /** The delivery that was stored. */
  | { readonly what: 'stored'; readonly at: Date }
  /** A redelivery with the same body. Of all redeliveries, only the last twenty have their own entry. */
  | { readonly what: 'redelivered'; readonly at: Date }
  /** Earlier redeliveries, which began at this time, without those that have their own entry. */
  | { readonly what: 'redeliveries'; readonly at: Date; readonly count: number }
  /** A redelivery with a different body. Only the last twenty have their own entry. */
  | { readonly what: 'conflict'; readonly at: Date }
  | { readonly what: 'attempt'; readonly at: Date; readonly attempt: Attempt }
  /** `ctx.once` ran this step, and kept its result. */
  | { readonly what: 'step'; readonly at: Date; readonly name: string; readonly attempt: number }
  /** An operator's action on the event. */
  | { readonly what: 'act'; readonly at: Date; readonly act: EventAct }
  /** The next attempt of a pending event. */
  | { readonly what: 'due'; readonly at: Date }
  | { readonly what: 'settled'; readonly at: Date; readonly state: EventSummary['state'] };

/**
 * Lists stored events that match a filter, one page at a time, newest first. `page.order` changes the order.
 *
 * For each page, hookbox examines at most 5,000 events, so a page may contain few or no events and still have a `next`.
 * Pass `next` as `before` until it is `null`; in the order `failed`, pass `nextAt` as `beforeAt` too. Events that
 * arrive in the meantime do not move the cursor.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an invalid condition
 * @throws `page.signal.reason` if `page.signal` is aborted
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

/** The options of {@link countEvents}. */
export interface CountOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Counts stored events that match a filter: it examines at most 20,000 events and counts at most 10,000 of them.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an invalid condition
 * @throws `signal.reason` if the signal is aborted
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
 * Returns one event with its deliveries and attempts, or `null` if the event is unknown.
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
  const [summary, event, attempts, steps, acts, wait] = await Promise.all([
    operations.summary(key),
    inbox.get(key),
    inbox.attempts(key),
    inbox.steps(key),
    operations.actsOn(key),
    whyWaiting(inbox, key),
  ]);
  if (summary === null || event === null) return null;
  return { summary, event, attempts, wait, timeline: timelineOf(summary, event, attempts, steps, acts) };
}

/**
 * Groups dead events by the text of their last error, or else by the reason why they are dead. Returns at most 200
 * groups: open ones first, then the largest first.
 *
 * @param now - milliseconds since 1970; `recent` counts the 24 hours before this time
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
export async function deadGroups(inbox: AnyInbox, now = Date.now()): Promise<readonly DeadGroup[]> {
  return operationsOf(inbox).deadGroups({ now });
}

/** Entries of the same time keep this order, in which they happened. */
function timelineOf(
  summary: EventSummary,
  event: StoredEvent,
  attempts: readonly Attempt[],
  steps: readonly DoneStep[],
  acts: readonly EventAct[],
): readonly TimelineEntry[] {
  const { redeliveries, conflict } = event;
  const timeline: TimelineEntry[] = isImportedId(event) ? [] : [{ what: 'stored', at: event.receivedAt }];
  let earlier = redeliveries.count - redeliveries.recent.length;
  const alike = redeliveries.recent.map(Number);
  for (const at of conflict?.recent ?? []) {
    const n = alike.indexOf(at.getTime());
    if (n >= 0) alike.splice(n, 1);
    else earlier -= 1;
    timeline.push({ what: 'conflict', at });
  }
  if (earlier > 0 && redeliveries.firstAt !== null) {
    timeline.push({ what: 'redeliveries', at: redeliveries.firstAt, count: earlier });
  }
  for (const at of alike) timeline.push({ what: 'redelivered', at: new Date(at) });
  for (const act of acts) timeline.push({ what: 'act', at: act.at, act });
  for (const attempt of attempts) timeline.push({ what: 'attempt', at: attempt.startedAt, attempt });
  for (const { at, name, attempt } of steps) timeline.push({ what: 'step', at, name, attempt });
  if (summary.settledAt !== null) timeline.push({ what: 'settled', at: summary.settledAt, state: summary.state });
  const past = timeline.toSorted((one, other) => one.at.getTime() - other.at.getTime());
  return summary.dueAt === null ? past : [...past, { what: 'due', at: summary.dueAt }];
}

/**
 * Explains why an event has not been processed yet: an older event of its entity, a missing processor, or the time of
 * the next attempt. The result also counts the newer events of the entity that are waiting. Returns `null` if the event
 * is processed, dead or unknown.
 *
 * @param now - milliseconds since 1970; a processor last seen more than ten minutes before this time counts as gone
 * @example
 * ```ts
 * import { whyWaiting } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const wait = await whyWaiting(inbox, { endpoint: 'default', id: 'evt_2' });
 * if (wait?.reason === 'behind') {
 *   const { event, waiting } = wait.blocker;
 *   console.log(`behind ${event.id}, which has failed ${event.failures} times; ${waiting.count} wait`);
 * }
 * ```
 */
export async function whyWaiting(inbox: AnyInbox, key: EventKey, now = Date.now()): Promise<Wait | null> {
  const [wait = null] = await operationsOf(inbox).waits([key], now);
  return wait;
}

const GROUPED_AT_ONCE = 500;
const MOST_GROUPED = 5_000;

/**
 * Groups retrying events as `deadGroups` groups dead ones. The function examines the 5,000 newest retrying events; if
 * more exist, `more` is `true` in each group. The filter `{ retrying: true, fingerprint }` selects the events of a
 * group.
 * @example
 * ```ts
 * import { retryGroups } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { count, sample, nextDueAt } of await retryGroups(inbox)) {
 *   console.log(count, sample?.message, nextDueAt?.toISOString());
 * }
 * ```
 */
export async function retryGroups(inbox: AnyInbox): Promise<readonly RetryGroup[]> {
  const operations = operationsOf(inbox);
  const events: EventSummary[] = [];
  let before: number | null = null;
  do {
    const page = await operations.search({ retrying: true }, { before, limit: GROUPED_AT_ONCE });
    events.push(...page.events);
    before = page.next;
  } while (before !== null && events.length < MOST_GROUPED);
  return retryGroupsOf(events, before !== null);
}

const FOLDED_FROM = 3;

export interface FoldedAttempts {
  readonly what: 'attempts';
  readonly at: Date;
  readonly attempts: readonly [Attempt, ...Attempt[]];
  readonly last: Attempt;
}

/** Folds successive attempts with the same outcome and the same error, apart from ids, numbers and quoted text. */
export function foldedTimeline(timeline: readonly TimelineEntry[]): readonly (TimelineEntry | FoldedAttempts)[] {
  const runs: { readonly print: string | null; readonly entries: TimelineEntry[] }[] = [];
  for (const entry of timeline) {
    const print = entry.what === 'attempt' ? printOf(entry.attempt) : null;
    const run = runs.at(-1);
    if (run !== undefined && print !== null && run.print === print) run.entries.push(entry);
    else runs.push({ print, entries: [entry] });
  }
  return runs.flatMap(({ entries }): readonly (TimelineEntry | FoldedAttempts)[] => {
    const [first, ...rest] = entries.flatMap((entry) => (entry.what === 'attempt' ? entry.attempt : []));
    const last = rest.at(-1);
    if (first === undefined || last === undefined || entries.length < FOLDED_FROM) return entries;
    return [{ what: 'attempts', at: first.startedAt, attempts: [first, ...rest], last }];
  });
}

function printOf({ outcome, error, trigger, number }: Attempt): string | null {
  if (outcome === 'processed' || error === null) return null;
  // A rerun begins a new entry.
  return `${outcome} ${fingerprintOf(error)}${trigger === 'manual' ? ` from ${number}` : ''}`;
}
