import type { AnyInbox } from '../../inbox/contract.ts';
import type { EventKey } from '../../inbox/event.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import type { EndpointType } from '../../inbox/rules/pauses.ts';
import { listEvents } from '../../ops/find.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { listed, plural } from '../../ops/words/format.ts';

/** Processors claim pending events within a second or two. */
const SOON_MS = 60_000;
const LOOKED_AT = 200;
/** of the oldest, of the unexplained, and of the failed events each */
const ASKED = 5;
const LANES_ASKED = 12;

export interface Waiting {
  readonly entity: string | null;
  readonly oldest: EventSummary;
  readonly count: number;
  readonly hasFailed: boolean;
}

export interface Cause {
  readonly event: EventSummary;
  readonly wait: Wait | null;
}

export interface Waiters {
  readonly waiting: readonly Waiting[];
  readonly first: Cause | null;
}

export interface Stuck {
  readonly waiting: readonly Waiting[];
  readonly causes: ReadonlyMap<Waiting, Cause>;
  /** waiting because of their type, which the page shows elsewhere */
  readonly reported: ReadonlySet<Waiting>;
  /** waiting for more than their next attempt */
  readonly blocked: Waiters;
  /** failed and retried, without events behind them */
  readonly retries: Waiters;
  readonly more: boolean;
}

/** Among thousands of pending events, examines the newest, the oldest, and the failed ones. */
export async function findStuck(
  inbox: AnyInbox,
  oldest: readonly EventKey[],
  now: Date,
  lanes: readonly EndpointType[],
): Promise<Stuck> {
  const until = new Date(now.getTime() - SOON_MS);
  const page = await listEvents(inbox, { states: ['pending'], until }, { limit: LOOKED_AT });
  const unseen = page.next === null ? [] : oldest;
  const found = await Promise.all([
    ...unseen.map(({ endpoint, id }) => listEvents(inbox, { endpoint, id, states: ['pending'], until })),
    ...(page.next === null ? [] : [listEvents(inbox, { retrying: true, until }, { limit: LOOKED_AT })]),
  ]);
  const events = new Map([page, ...found].flatMap((each) => each.events).map((event) => [event.seq, event]));
  const byEntity = new Map<string, Waiting>();
  for (const event of events.values()) {
    const key = JSON.stringify(event.entity === null ? event.seq : [event.endpoint, event.entity]);
    const known = byEntity.get(key);
    const isOldest = known === undefined || event.receivedAt < known.oldest.receivedAt;
    byEntity.set(key, {
      entity: event.entity,
      oldest: isOldest ? event : known.oldest,
      count: (known?.count ?? 0) + 1,
      hasFailed: (known?.hasFailed ?? false) || event.failures > 0,
    });
  }
  const waiting = [...byEntity.values()].sort((one, other) => {
    return one.oldest.receivedAt.getTime() - other.oldest.receivedAt.getTime();
  });
  const reportedLanes = new Set(lanes.map(laneOf));
  const causes = await causesOf(inbox, waiting, reportedLanes, now);
  const reported = new Set(waiting.filter((one) => isReported(one, causes.get(one), reportedLanes)));
  const some = (isMeant: (one: Waiting) => boolean): Waiters => {
    const meant = waiting.filter(isMeant);
    return { waiting: meant, first: firstOf(meant.flatMap((one) => causes.get(one) ?? [])) };
  };
  const held = heldLanes(causes.values());
  const isRetry = (one: Waiting): boolean => isTriedAgain(one, causes.get(one), held);
  return {
    waiting,
    causes,
    reported,
    blocked: some((one) => !reported.has(one) && !isRetry(one)),
    retries: some((one) => !reported.has(one) && isRetry(one)),
    more: page.next !== null,
  };
}

/** Without a cause, only its type is known. */
function isReported({ oldest }: Waiting, cause: Cause | undefined, reported: ReadonlySet<string>): boolean {
  if (cause === undefined) return reported.has(laneOf(oldest));
  const { event, wait } = cause;
  if (wait?.reason === 'behind') return wait.blocker.runningSince === null && reported.has(laneOf(wait.blocker.event));
  return OF_A_LANE.has(wait?.reason) && reported.has(laneOf(event));
}

const PROGRESSES: ReadonlySet<string | undefined> = new Set<Wait['reason']>(['later', 'next', 'rate', 'running']);

/** Without a cause, other events of its type decide. */
function isTriedAgain(
  { hasFailed, count, oldest }: Waiting,
  cause: Cause | undefined,
  held: ReadonlySet<string>,
): boolean {
  if (!hasFailed || count > 1) return false;
  if (cause === undefined) return !held.has(laneOf(oldest));
  return PROGRESSES.has(cause.wait?.reason) && heldUpBy(cause).count === 0;
}

const OF_A_LANE: ReadonlySet<string | undefined> = new Set<Wait['reason']>(['paused', 'no processor']);

function heldLanes(causes: Iterable<Cause>): ReadonlySet<string> {
  return new Set(Array.from(causes).flatMap(({ event, wait }) => (OF_A_LANE.has(wait?.reason) ? [laneOf(event)] : [])));
}

function laneOf({ endpoint, type }: Pick<EventSummary, 'endpoint' | 'type'>): string {
  return JSON.stringify([endpoint, type]);
}

async function causesOf(
  inbox: AnyInbox,
  waiting: readonly Waiting[],
  reported: ReadonlySet<string>,
  now: Date,
): Promise<Stuck['causes']> {
  const unreported = waiting.filter(({ oldest }) => !reported.has(laneOf(oldest)));
  const failed = waiting.filter(({ hasFailed }) => hasFailed);
  const ofLanes = [...new Map(failed.toReversed().map((one) => [laneOf(one.oldest), one])).values()];
  const examined = [
    ...new Set([
      ...waiting.slice(0, ASKED),
      ...unreported.slice(0, ASKED),
      ...failed.slice(0, ASKED),
      ...ofLanes.slice(-LANES_ASKED),
    ]),
  ];
  const keys = examined.map(({ oldest: { endpoint, id } }) => ({ endpoint, id }));
  const waits = examined.length === 0 ? [] : await operationsOf(inbox).waits(keys, now.getTime());
  return new Map(examined.map((one, n) => [one, { event: one.oldest, wait: waits[n] ?? null }]));
}

function heldUpBy({ event, wait }: Cause): { readonly event: EventSummary; readonly count: number } {
  if (wait?.reason === 'behind') return { event: wait.blocker.event, count: wait.blocker.waiting.count };
  return { event, count: wait !== null && 'waiting' in wait ? wait.waiting.count : 0 };
}

function firstOf(causes: readonly Cause[]): Cause | null {
  const failing = causes
    .filter((cause) => heldUpBy(cause).event.failures > 0)
    .toSorted((one, other) => heldUpBy(other).count - heldUpBy(one).count);
  return failing[0] ?? causes[0] ?? null;
}

const NOUNS = {
  order: ['order', 'orders'],
  cart: ['cart', 'carts'],
  inventory: ['product', 'products'],
} as const;
const ALONE = ['event', 'events'] as const;
const NAMED_OTHERWISE = ['entity', 'entities'] as const;

export function whatWaits({ waiting }: Waiters, more: boolean): string {
  const counts = new Map<readonly [one: string, many: string], number>();
  for (const { entity } of waiting) {
    const nouns = entity === null ? ALONE : nounsOf(entity);
    counts.set(nouns, (counts.get(nouns) ?? 0) + 1);
  }
  const parts = Array.from(counts, ([[one, many], count]) => plural(count, one, many));
  return `${more ? 'At least ' : ''}${listed(parts)}`;
}

function nounsOf(entity: string): readonly [one: string, many: string] {
  const kind = entity.slice(0, entity.indexOf(':'));
  return kind === 'order' || kind === 'cart' || kind === 'inventory' ? NOUNS[kind] : NAMED_OTHERWISE;
}
