import { vi } from 'vitest';
import type { Clock } from '../../../src/host/clock.ts';
import { orderEvent } from '../broken-shop.ts';
import type { OpsSite } from '../ops-site.ts';
import { OUTAGE_BEGAN_AGO, outageDay } from './outage-day.ts';
import { HOUR, MINUTE, operationsIn, passTime, SECOND } from './passed-time.ts';

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

  const fails = { at: now - 3 * SECOND, id: 'evt_blocker', type: 'order.created', order: BLOCKED_ORDER };
  const waits = { at: now - 2 * SECOND, id: 'evt_behind', type: 'order.ready', order: BLOCKED_ORDER };
  const stock = { name: 'Error', message: 'the stock system answered 503', stack: null };
  await passTime(inbox, [fails, waits], SECOND, () => ({ outcome: 'retry', error: stock, dueAt: now + HOUR }));
  await site.deliver(orderEvent(CHANGED_ORDER, 'order.created', 'EUR'));
  await site.deliver(orderEvent(CHANGED_ORDER, 'order.created', 'CHF'));
}
