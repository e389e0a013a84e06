import { entityOf } from '../../src/events/entity.ts';
import { readEvent } from '../../src/events/parse.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { Settlement } from '../../src/inbox/work.ts';
import { later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { ANY } from './events-in-states.ts';
import type { SearchedStore } from './searched-store.ts';

/** What the events of a busy shop are about; few of each, so that each is found several times. */
export const TYPES = ['order.created', 'order.ready', 'inventory.low_stock', 'cart.abandoned', 'shop.opened'];
export const MERCHANTS = ['mer_1', 'mer:2', null];
export const NUMBERS = ['1', '1.50', '1.5', '15e-1', '-0.0', '12345678901234567890', '12345678901234567891'];
export const ERRORS = ['the till is shut', 'THE TILL IS 100% SHUT', 'Der Drucker läuft ÜBER', 'a_b'];

const MINUTE_MS = 60_000;

/**
 * Some hundreds of events in every state there is, of every kind, delivered again, with other bytes, rerun and pruned. They
 * were received a minute after the other, but for half an hour's disorder.
 *
 * @returns what was delivered
 */
export async function busyShop(
  { inbox, mixPending, bury }: Pick<SearchedStore, 'inbox' | 'mixPending' | 'bury'>,
  count: number,
): Promise<readonly IncomingEvent[]> {
  const events = Array.from({ length: count }, (_, n) => eventOf(n));
  await Promise.all(events.map((event) => inbox.accept(event, later())));
  const chosen = (every: number, at: number): IncomingEvent[] => events.filter((_, n) => n % every === at);
  await Promise.all(chosen(7, 3).map((event) => inbox.accept(event, later())));
  await Promise.all(
    chosen(11, 5).map((event) => inbox.accept({ ...event, body: Buffer.from(`{"id":"${event.id}"}`) }, later())),
  );

  await Promise.all(
    events.map(async (event, n) => {
      const end = ENDS[n % ENDS.length];
      if (end === undefined || end === null || !event.valid) return;
      const claimed = await inbox.claimOne(event, { ...ANY, now: START });
      if (typeof claimed === 'string' || end === 'processing') return;
      await inbox.settle(claimed.lease, end(ERRORS[n % ERRORS.length] ?? ''), START + 1);
    }),
  );
  await mixPending();
  for (const event of chosen(13, 7)) {
    if ((await inbox.get(event))?.state === 'processed') await bury(event.id);
  }
  return events;
}

const failed =
  (outcome: 'dead' | 'retry') =>
  (message: string): Settlement => {
    const error = { name: 'TillError', message, stack: null };
    return outcome === 'dead' ? { outcome, reason: 'failed', error } : { outcome, error, dueAt: START + MINUTE_MS };
  };
const ENDS: readonly (((message: string) => Settlement) | 'processing' | null)[] = [
  null,
  () => ({ outcome: 'processed' }),
  () => ({ outcome: 'processed' }),
  failed('dead'),
  failed('dead'),
  failed('retry'),
  'processing',
  null,
];

function eventOf(n: number): IncomingEvent {
  const pick = <T>(list: readonly T[], step: number): T => list[Math.floor(n / step) % list.length] as T;
  const id = `evt_${n}`;
  const type = pick(TYPES, 1);
  const merchant = pick(MERCHANTS, 2);
  const about = type.startsWith('inventory')
    ? { product_id: `prod_${n % 9}`, location_id: `loc_${n % 2}` }
    : { id: `ord_${n % 29}` };
  const data = JSON.stringify({
    object: 'thing',
    merchant_id: merchant,
    ...about,
    'odd "name"\\': [n % 3, { ok: n % 2 === 0 }],
  });
  const body = Buffer.from(
    `{"id":"${id}","type":"${type}","created":"2026-01-01T00:00:00Z","data":${data.slice(0, -1)},"total":${pick(NUMBERS, 3)}}}`,
  );
  const valid = n % 17 !== 4;
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) throw new Error(JSON.stringify(parsed.issues));
  return {
    endpoint: n % 6 === 0 ? 'second' : 'default',
    id,
    body,
    type: valid || n % 2 === 0 ? facts.type : null,
    created: valid ? facts.created : null,
    entity: valid ? entityOf(parsed.event) : null,
    verified: true,
    valid,
    receivedAt: START + (n + (n % 3) * 15) * MINUTE_MS,
  };
}
