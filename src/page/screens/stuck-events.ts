import type { Inbox } from '../../inbox/contract.ts';
import type { EventKey } from '../../inbox/event.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { listEvents } from '../../ops/find.ts';
import { oneLine } from '../../printable.ts';
import { age, listed, number, plural } from '../../ops/words/format.ts';

/** A processor takes what is pending within a second or two. What is pending for longer waits for something. */
const SOON_MS = 60_000;
const LOOKED_AT = 200;

/** Pending events about one entity, which one after the other wait for the oldest of them. */
export interface Waiting {
  /** `null` for an event that stands alone */
  readonly entity: string | null;
  readonly oldest: EventSummary;
  readonly count: number;
}

export interface Stuck {
  /** what has waited the longest first */
  readonly waiting: readonly Waiting[];
  /** there may be more of them */
  readonly more: boolean;
}

/**
 * What has been pending for more than a minute, by what it is about.
 *
 * @param oldest - the oldest pending events, one of each entity: among thousands, the newest are looked at, and these
 */
export async function findStuck(inbox: Inbox, oldest: readonly EventKey[], now: Date): Promise<Stuck> {
  const until = new Date(now.getTime() - SOON_MS);
  const page = await listEvents(inbox, { states: ['pending'], until }, { limit: LOOKED_AT });
  const unseen = page.next === null ? [] : oldest;
  const found = await Promise.all(
    unseen.map(({ endpoint, id }) => listEvents(inbox, { endpoint, id, states: ['pending'], until })),
  );
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
    });
  }
  const waiting = [...byEntity.values()].sort((one, other) => {
    return one.oldest.receivedAt.getTime() - other.oldest.receivedAt.getTime();
  });
  return { waiting, more: page.next !== null };
}

const NOUNS = {
  order: ['order', 'orders'],
  cart: ['cart', 'carts'],
  inventory: ['product', 'products'],
} as const;
const ALONE = ['event', 'events'] as const;
/** of a rule of the merchant's own */
const NAMED_OTHERWISE = ['entity', 'entities'] as const;

/** `2 orders and 1 cart` */
export function whatIsStuck({ waiting, more }: Stuck): string {
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

/** Why a pending event is not processed yet, as far as can be seen from here. */
export function whyPending({ failures, attempts, lastError, dueAt }: EventSummary, now: Date): string {
  if (failures > 0) {
    const error = lastError === null ? '' : `: ${oneLine(`${lastError.name}: ${lastError.message}`, 120)}`;
    const next = dueAt !== null && dueAt > now ? `; tried again in ${age(dueAt.getTime() - now.getTime())}` : '';
    return `failed ${failures === 1 ? 'once' : `${number(failures)} times`}${error}${next}`;
  }
  if (attempts > 0) return 'interrupted or rerun, and not taken by a processor since';
  return 'never tried: it waits for an older event of its entity, or no processor that handles its type is running';
}
