import { vi } from 'vitest';
import { entityOf } from '../../src/events/entity.ts';
import { readEvent } from '../../src/events/parse.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { LATENCY_BUCKETS_MS, type CountRow } from '../../src/inbox/rules/counted.ts';
import type { AttemptError, Settlement } from '../../src/inbox/work.ts';
import { cancelBulk, previewBulk } from '../../src/ops/index.ts';
import { later } from '../helpers/incoming-event.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEP = 15 * MINUTE;
/** not quite a day, so that nothing falls out of it while the pictures are taken */
const DAY = 24 * HOUR - STEP;
const PICTURED_AGO = 3 * HOUR;

interface Happening {
  readonly at: number;
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

type Fate = (happening: Happening, now: number) => readonly Settlement[];

/**
 * Lets a day pass in the shop, which ends at `now`: a few hundred orders with what follows them; a release that failed on
 * Swiss orders three hours ago; the shop's stock system, which was down for an hour; and what operators did.
 */
export async function passShopDay(inbox: Inbox, now: number): Promise<void> {
  const happenings = shopHappenings(now);
  const fates = new Map(happenings.map((happening) => [happening.id, fateOf(happening, now)]));
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    for (const [from, until] of spans(now)) {
      const span = happenings.filter(({ at }) => at >= from && at < until);
      vi.setSystemTime(until);
      await Promise.all(span.map((happening) => inbox.accept(incomingOf(happening), later())));
      await handle(inbox, fates, until);
      await inbox.operations?.count(answersOf(span, from, now));
    }
    await operate(inbox, now);
    await inbox.announce({ endpoints: '*', types: '*' }, now, null);
    for (const [name, ago] of RELEASES) {
      await inbox.operations?.noteRelease({ name, endpoint: 'default', at: now - ago, what: 'began' });
    }
  } finally {
    vi.useRealTimers();
  }
}

const RELEASES = [
  ['1.8.3', DAY + HOUR],
  ['1.9.0', 4.1 * HOUR],
  ['1.9.1', 2.4 * HOUR],
] as const;

function spans(now: number): readonly (readonly [from: number, until: number])[] {
  const ends = Array.from({ length: DAY / STEP }, (_, n) => now - n * STEP);
  const all = [...ends, now - PICTURED_AGO + 120, now - DAY].sort((one, other) => one - other);
  return all.slice(1).map((until, n) => [all[n] ?? until, until]);
}

function incomingOf({ at, id, type, data }: Happening): IncomingEvent {
  const created = new Date(at - 1_300).toISOString();
  const body = Buffer.from(`{"id":"${id}","type":"${type}","created":"${created}","data":${data}}`);
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) throw new Error(`not an event: ${body.toString()}`);
  return {
    endpoint: 'default',
    id,
    body,
    ...facts,
    entity: entityOf(parsed.event),
    verified: true,
    valid: true,
    receivedAt: at,
  };
}

async function handle(inbox: Inbox, fates: ReadonlyMap<string, readonly Settlement[]>, from: number): Promise<void> {
  for (let now = from; ; now += 8 * SECOND) {
    const claimed = await inbox.claim({ endpoints: '*', now, leaseMs: 15_000, types: '*', ordered: true }, 500);
    if (claimed.length === 0) return;
    await Promise.all(
      claimed.map(({ id, attempt, lease }, n) => {
        const settlements = fates.get(id) ?? [];
        const settlement = settlements[Math.min(attempt, settlements.length) - 1] ?? PROCESSED;
        return inbox.settle(lease, settlement, now + 20 + (((attempt + n) * 37) % 400));
      }),
    );
  }
}

const PRODUCTS = [
  'prod_Kq7LmX2vRd9TsB4w',
  'prod_u5YhN8cPz3JgW6Fe',
  'prod_b1RtV9kSx4QnD7Ma',
  'prod_Gf6WzC3pHj8LyT2k',
] as const;
const PRICES = ['6.50', '12.90', '3.20', '42.00'] as const;
const MERCHANT = 'mer_5tGk9QmXwL2RvC8e';
export const PICTURED_ORDER = 'ord_T6kPz9WqV3mNc1Xr';

function shopHappenings(now: number): readonly Happening[] {
  const random = randomNumbers(20_260_314);
  const text = (length: number): string => {
    const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
    return Array.from({ length }, () => letters[Math.floor(random() * letters.length)] ?? '').join('');
  };
  const begin = now - DAY;
  const all: Happening[] = [];
  const happens = (at: number, type: string, data: string): void => {
    if (at < now - 5 * SECOND) all.push({ at: Math.floor(at), type, id: `evt_${text(16)}`, data });
  };

  for (let at = begin; at < now; at += MINUTE * (2 + random() * 16 * quietness(at - begin))) {
    const id = text(16);
    const swiss = random() < 0.7;
    const order = (status: string): string => orderData({ id: `ord_${id}`, status, swiss, pick: id.charCodeAt(0) });
    happens(at, 'order.created', order('created'));
    happens(at + (1 + random() * 3) * MINUTE, 'order.confirmed', order('confirmed'));
    if (random() < 0.06) {
      happens(at + 9 * MINUTE, 'order.cancelled', order('cancelled'));
      continue;
    }
    happens(at + (14 + random() * 12) * MINUTE, 'order.ready', order('ready'));
    happens(at + (30 + random() * 30) * MINUTE, 'order.completed', order('completed'));
    if (random() < 0.3) happens(at + MINUTE, 'inventory.updated', stockData(random(), 40));
    if (random() < 0.08) happens(at + MINUTE, 'inventory.low_stock', stockData(random(), 4));
    if (random() < 0.12) happens(at + 5 * MINUTE, 'cart.abandoned', cartData(text(16)));
  }
  const pictured = { id: PICTURED_ORDER, swiss: true, pick: 1 };
  happens(now - PICTURED_AGO, 'order.created', orderData({ ...pictured, status: 'created' }));
  return all.sort((one, other) => one.at - other.at);
}

function quietness(since: number): number {
  return 1 - 0.8 * Math.sin((Math.PI / 2) * (since / DAY));
}

function orderData({ id, status, swiss, pick }: { id: string; status: string; swiss: boolean; pick: number }): string {
  const [first, second] = [pick % 4, (pick + 1) % 4];
  const [country, currency] = swiss ? ['CH', 'CHF'] : ['DE', 'EUR'];
  const cents = Number(PRICES[first]) * 200 + Number(PRICES[second]) * 100;
  return (
    `{"object":"order","id":"${id}","status":"${status}","merchant_id":"${MERCHANT}","user_id":"usr_Wn3xJ7dTq9PkE5Lg",` +
    `"total":${(cents / 100).toFixed(2)},"currency":"${currency}","ship_to":{"country":"${country}"},"items":[` +
    `{"product_id":"${PRODUCTS[first] ?? ''}","quantity":2,"price":${PRICES[first] ?? ''}},` +
    `{"product_id":"${PRODUCTS[second] ?? ''}","quantity":1,"price":${PRICES[second] ?? ''}}]` +
    `${status === 'confirmed' ? ',"estimated_ready_time":null' : ''}}`
  );
}

function stockData(random: number, most: number): string {
  const product = PRODUCTS[Math.floor(random * PRODUCTS.length)] ?? PRODUCTS[0];
  const left = 1 + Math.floor(random * most);
  return (
    `{"object":"inventory","product_id":"${product}","merchant_id":"${MERCHANT}",` +
    `"previous_quantity":${left + 2},"current_quantity":${left},"location_id":"loc_Zr4nD8yHs1VbK6Mt"}`
  );
}

function cartData(id: string): string {
  return `{"object":"cart","id":"cart_${id}","user_id":"usr_c8RvH2bYs6MfX4Ud","total_value":17.45,"item_count":4}`;
}

const PROCESSED: Settlement = { outcome: 'processed' };

const fateOf: Fate = ({ at, type, data, id }, now) => {
  const ago = now - at;
  const isSwiss = data.includes('"country":"CH"');
  if (type === 'order.created' && isSwiss && ago > 2.4 * HOUR && ago <= 4.1 * HOUR) {
    return failing(at, 2, taxError(data), 'dead');
  }
  // The stock system was down for an hour. The older ones were given up, the younger ones are tried again.
  if (type === 'order.ready' && ago > 22 * MINUTE && ago < 80 * MINUTE) {
    return ago > 32 * MINUTE
      ? failing(at, 3, stockError(id), 'dead')
      : failing(at, 1, stockError(id), now + 4 * MINUTE);
  }
  return id.charCodeAt(5) % 23 === 0 ? [...failing(at, 1, lockError(), at).slice(0, 1), PROCESSED] : [PROCESSED];
};

function failing(at: number, times: number, error: AttemptError, end: 'dead' | number): readonly Settlement[] {
  const again = { outcome: 'retry', error, dueAt: at } as const;
  const last: Settlement =
    end === 'dead' ? { outcome: 'dead', reason: 'failed', error } : { outcome: 'retry', error, dueAt: end };
  return [...Array.from({ length: times - 1 }, () => again), last];
}

function taxError(data: string): AttemptError {
  const order = /ord_\w+/.exec(data)?.[0] ?? '';
  const message = `Cannot read properties of undefined (reading 'vat') for ${order}`;
  return {
    name: 'TypeError',
    message,
    stack:
      `TypeError: ${message}\n` +
      '    at taxOf (file:///srv/shop/src/orders/tax.ts:41:27)\n' +
      '    at bookOrder (file:///srv/shop/src/orders/book-order.ts:18:15)\n' +
      '    at async file:///srv/shop/src/webhooks.ts:27:5',
  };
}

function stockError(id: string): AttemptError {
  const message = `POST https://stock.shop.internal/v2/reservations answered 503 (request ${id.slice(4, 12)}91)`;
  return {
    name: 'StockUnavailable',
    message,
    stack: `StockUnavailable: ${message}\n    at reserve (file:///srv/shop/src/stock.ts:63:11)`,
  };
}

function lockError(): AttemptError {
  return { name: 'SqliteError', message: 'database is locked', stack: null };
}

function answersOf(step: readonly Happening[], from: number, now: number): readonly CountRow[] {
  const ago = now - from;
  const slow = ago > 7 * HOUR && ago < 8 * HOUR ? 9 : 0;
  const rows = new Map<number, number>();
  for (const [n] of step.entries()) {
    const bucket = LATENCY_BUCKETS_MS[2 + slow + ((n * 7) % 3) + (n % 17 === 0 ? 4 : 0)] ?? 10;
    rows.set(bucket, (rows.get(bucket) ?? 0) + 1);
  }
  const at = Math.floor(from / MINUTE) * MINUTE;
  return Array.from(rows, ([bucket, count]) => ({ at, what: 'answer-ms', detail: String(bucket), count }));
}

async function operate(inbox: Inbox, now: number): Promise<void> {
  const { operations } = inbox;
  if (operations === undefined) throw new Error('this inbox cannot be looked into');
  const from = { endpoint: 'default', sha256: null } as const;
  await operations.noteRejected([
    { ...from, reason: 'signature-mismatch', bytes: 812, source: '203.0.113.7', count: 180, at: now - 7 * HOUR },
    { ...from, reason: 'signature-mismatch', bytes: 812, source: '203.0.113.7', count: 34, at: now - 5 * HOUR },
    { ...from, reason: 'signature-missing', bytes: 0, source: '198.51.100.23', count: 3, at: now - 9 * HOUR },
    { ...from, reason: 'body-too-large', bytes: null, source: '198.51.100.23', count: 1, at: now - 11 * HOUR },
  ]);
  const grace = { actor: 'grace@shop-1', via: 'cli', now: now - 20 * HOUR } as const;
  await operations.note('prune', grace, { settledBefore: new Date(now - 31 * 24 * HOUR) }, { pruned: 18_204 });
  const ada = { actor: 'ada', via: 'page', now: now - 16 * HOUR } as const;
  const locked = { states: ['dead'], error: 'database is locked' };
  await operations.note('rerun', { ...ada, reason: 'the disk is fast again' }, locked, { done: 6 });
  vi.setSystemTime(now - 2 * HOUR);
  const bulk = await previewBulk(
    inbox,
    'rerun',
    { states: ['dead'], types: ['order.created'] },
    { ...ada, now: now - 2 * HOUR },
  );
  await cancelBulk(inbox, bulk.id, { ...ada, now: now - 2 * HOUR, reason: 'the fix is not deployed yet' });
}

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
