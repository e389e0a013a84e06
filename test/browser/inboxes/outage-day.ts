import { vi } from 'vitest';
import type { Clock } from '../../../src/host/clock.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import type { AttemptError, Settlement } from '../../../src/inbox/work.ts';
import { orderEvent } from '../broken-shop.ts';
import type { OpsSite } from '../ops-site.ts';
import { HOUR, MINUTE, operationsIn, passTime, SECOND, type Sent } from './passed-time.ts';

export const OUTAGE_BEGAN_AGO = 8 * HOUR;
export const OUTAGE_ENDED_AGO = 6 * HOUR;
const SAVED_MS = 20 * MINUTE;
const DAY = 24 * HOUR;
const STEP = 15 * MINUTE;

/**
 * A day with an outage: two thousand events, one after the other; for two hours the shop's database was away, so what came
 * then is dead, and the deliveries took long. Since then all is well, but for one order in two hundred.
 *
 * @param inbox - one whose thread is the test's own, such as that of `opsSite`
 */
export async function outageDay(inbox: Inbox, clock: Pick<Clock, 'now'>): Promise<void> {
  const now = clock.now();
  const sent = sentBetween(now - DAY + STEP, now - 5 * SECOND);
  const operations = operationsIn(inbox);
  await passTime(inbox, sent, STEP, ({ at, order }, attempt) => settlementOf(now - at, order, attempt));
  await operations.count(sent.map(({ at }, n) => answerOf(at, now, n)));
  const from = { endpoint: 'default', sha256: null, source: '203.0.113.7' } as const;
  await operations.noteRejected([
    { ...from, reason: 'overloaded', bytes: 640, count: 74, at: now - OUTAGE_ENDED_AGO - 10 * MINUTE },
    { ...from, reason: 'signature-mismatch', bytes: 812, count: 12, at: now - 11 * HOUR },
  ]);
}

function sentBetween(from: number, until: number): readonly Sent[] {
  const sent: Sent[] = [];
  for (let at = from, n = 0; at < until; at += MINUTE, n += 1) {
    const order = `ord_day${n}`;
    sent.push({ at, id: `evt_day${n}c`, type: 'order.created', order });
    if (n % 2 === 0 && at + STEP < until) {
      sent.push({ at: at + STEP, id: `evt_day${n}r`, type: 'order.ready', order });
    }
  }
  return sent.sort((one, other) => one.at - other.at);
}

function settlementOf(ago: number, order: string, attempt: number): Settlement {
  if (ago <= OUTAGE_BEGAN_AGO && ago > OUTAGE_ENDED_AGO) {
    if (ago <= OUTAGE_ENDED_AGO + SAVED_MS && attempt > 1) return { outcome: 'processed' };
    return attempt === 1
      ? { outcome: 'retry', error: AWAY, dueAt: 0 }
      : { outcome: 'dead', reason: 'failed', error: AWAY };
  }
  if (order.endsWith('77')) return { outcome: 'dead', reason: 'failed', error: noTax(order) };
  return { outcome: 'processed' };
}

const AWAY: AttemptError = {
  name: 'Error',
  message: 'connect ECONNREFUSED 10.0.3.14:5432',
  stack:
    'Error: connect ECONNREFUSED 10.0.3.14:5432\n    at bookOrder (file:///srv/shop/src/orders/book-order.ts:22:9)',
};

function noTax(order: string): AttemptError {
  const message = `no tax rate for ${order}`;
  return {
    name: 'TaxError',
    message,
    stack: `TaxError: ${message}\n    at taxOf (file:///srv/shop/src/orders/tax.ts:41:27)`,
  };
}

function answerOf(at: number, now: number, n: number): CountRow {
  const ago = now - at;
  const isSlow = ago <= OUTAGE_BEGAN_AGO && ago > OUTAGE_ENDED_AGO;
  const detail = String(isSlow ? (n % 3 === 0 ? 5_000 : 1_000) : n % 9 === 0 ? 20 : 5);
  return { at, what: 'answer-ms', detail, count: 1 };
}

export const BLOCKED_ORDER = 'ord_blocked';
export const CHANGED_ORDER = 'ord_changed';
export const RELEASE = '2026.11.2';
export const YESTERDAYS = { actor: 'grace', reason: 'the printer has paper again' };

export async function outageDayAndMore(site: OpsSite, clock: Pick<Clock, 'now'>): Promise<void> {
  const { inbox } = site;
  const now = clock.now();
  const operations = operationsIn(inbox);
  const long = { at: now - 25 * HOUR, id: 'evt_long_ago', type: 'order.created', order: 'ord_long_ago' };
  const paper = { name: 'Error', message: 'the printer has no paper', stack: null };
  await passTime(inbox, [long], MINUTE, () => ({ outcome: 'dead', reason: 'failed', error: paper }));
  vi.useFakeTimers({ toFake: ['Date'], now: now - 24.5 * HOUR });
  try {
    const { actor, reason } = YESTERDAYS;
    await operations.act('rerun', [{ endpoint: 'default', id: long.id }], { actor, via: 'cli', reason }, {});
  } finally {
    vi.useRealTimers();
  }
  await operations.noteRelease({ name: '2026.11.1', endpoint: 'default', at: now - 22 * HOUR, what: 'began' });
  await operations.noteRelease({
    name: RELEASE,
    endpoint: 'default',
    at: now - OUTAGE_BEGAN_AGO - 2 * MINUTE,
    what: 'began',
  });
  await outageDay(inbox, clock);

  const fails = { at: now - 6 * MINUTE, id: 'evt_blocker', type: 'order.created', order: BLOCKED_ORDER };
  const waits = { at: now - 5 * MINUTE, id: 'evt_behind', type: 'order.ready', order: BLOCKED_ORDER };
  const stock = { name: 'Error', message: 'the stock system answered 503', stack: null };
  await passTime(inbox, [fails, waits], SECOND, () => ({ outcome: 'retry', error: stock, dueAt: now + HOUR }));
  await site.deliver(orderEvent(CHANGED_ORDER, 'order.created', 'EUR'));
  await site.deliver(orderEvent(CHANGED_ORDER, 'order.created', 'CHF'));
}
