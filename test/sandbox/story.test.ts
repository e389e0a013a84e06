import { expect, it, onTestFinished, vi } from 'vitest';
import { countSteps } from '../steps.ts';
import { createReceiver } from '../../src/index.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import type { WebhookEvent } from '../../src/events/webhook-event.ts';
import type { ReceivingTarget } from '../../src/testing/index.ts';
import { testInbox } from '../../src/testing/index.ts';
import { silent } from '../helpers/silent-logger.ts';
import { CAKE, LOAF, NEW_CART, NEW_ITEM, NEW_ORDER, placeOrder, Service, stockOf } from './service.ts';

const SECRET = 'the signing secret of the story';
const GOOD = { payment_method_id: 'pm_ok' };
const DECLINED = { payment_method_id: 'pm_declined' };

/** In blocks of hookbox's own code: 56,000 at first, in 0.2 s. A wait in real time takes far more. */
const MOST_STEPS = 200_000;

/** A handler for every type, and a switch that refuses deliveries. */
function shop() {
  const handled: string[] = [];
  let sandboxNow = () => 0;
  let isDown = false;
  let refuses: WebhookEvent['type'] | null = null;
  let deliveries = 0;
  const note = (event: WebhookEvent): void => {
    const { data } = event;
    const about = 'id' in data ? data.id : 'product_id' in data ? data.product_id : null;
    handled.push(`${minutes(sandboxNow())} ${event.type} ${String(about)}`);
  };
  const receiver = createReceiver({
    secret: SECRET,
    inbox: testInbox().inbox,
    processing: { mode: 'inline' },
    handlers: Object.fromEntries(eventTypes.map((type) => [type, note])),
    logger: silent,
  });
  const to: ReceivingTarget = {
    async receive(delivery) {
      deliveries += 1;
      const { type } = JSON.parse(Buffer.from(delivery.body as Uint8Array).toString()) as WebhookEvent;
      if (isDown || type === refuses) return { status: 503, headers: {}, body: {} };
      return receiver.receive(delivery);
    },
  };
  return {
    to,
    watch: (now: () => Date) => (sandboxNow = () => now().getTime()),
    down: (is: boolean) => (isDown = is),
    refuse: (type: WebhookEvent['type'] | null) => (refuses = type),
    deliveries: () => deliveries,
    /** `minute type subject`, since the last call. */
    handled: () => handled.splice(0),
    close: () => receiver.close(),
  };
}

const START = Date.parse('2026-01-01T00:00:00Z');
const minutes = (now: number): number => (now - START) / 60_000;

it('a shop lives through a day without a port: paid, ready, out of stock, abandoned, down, dead-lettered, retried', async () => {
  const timers = timersThatRanOut();
  const steps = countSteps(/\/src\//);
  const merchant = shop();
  await using service = new Service({ webhooks: [{ to: merchant.to, secret: SECRET }] });
  const { sandbox } = service;
  merchant.watch(sandbox.now);

  // A cart with items, which is forgotten.
  const cart = await service.data('POST', '/cart', NEW_CART);
  await service.data('POST', `/cart/${cart}/item`, NEW_ITEM);

  // Most of the bread, and the only cake.
  const bread = await placeOrder(service, LOAF, 35);
  const cake = await placeOrder(service, CAKE, 1);

  // A card is declined, which changes nothing; the next one is good.
  const declined = await service.call('POST', `/order/${bread}/submit`, DECLINED);
  expect([declined.status, declined.body.error?.['code']]).toEqual([422, 'PAYMENT_FAILED']);
  expect(await stockOf(service, LOAF)).toBe(40);
  expect(await service.data('POST', `/order/${bread}/submit`, GOOD)).toMatchObject({ id: bread });
  expect(await service.data('POST', `/order/${cake}/submit`, GOOD)).toMatchObject({ id: cake });
  expect((await service.call('POST', `/order/${bread}/submit`, GOOD)).status).toBe(409);
  expect([await stockOf(service, LOAF), await stockOf(service, CAKE)]).toEqual([5, 0]);
  const items = [{ product_id: CAKE, quantity: 1 }];
  const tooLate = await service.call('POST', '/order', { ...NEW_ORDER, items });
  expect(tooLate.body.error?.['code']).toBe('INSUFFICIENT_INVENTORY');

  await sandbox.advance('10 min');
  expect(merchant.handled()).toEqual([
    `0 order.created ${bread}`,
    `0 order.created ${cake}`,
    `0 inventory.updated ${LOAF}`,
    `0 inventory.low_stock ${LOAF}`,
    `0 inventory.updated ${CAKE}`,
    `0 inventory.out_of_stock ${CAKE}`,
    `1 order.confirmed ${bread}`,
    `1 order.confirmed ${cake}`,
  ]);

  // The shop is down for two hours. What happens meanwhile comes by the schedule of each event.
  merchant.down(true);
  await sandbox.advance('2 h');
  expect(merchant.handled()).toEqual([]);
  merchant.down(false);
  await sandbox.advance('8 h');
  expect(merchant.handled()).toEqual([
    `140 cart.abandoned ${cart}`, // at 60 min, tried until 80 min later
    `461 order.ready ${bread}`, // at 21 min, and 80 min later the shop was down still
    `461 order.ready ${cake}`,
    `471 order.completed ${bread}`,
    `471 order.completed ${cake}`,
  ]);

  // One event finds a shop that cannot take it, until the service gives up.
  merchant.refuse('cart.expires_soon');
  await sandbox.advance('3 d');
  expect(merchant.handled()).toEqual([]);
  expect(await service.data('GET', `/cart/${cart}`)).toMatchObject({ status: 'Cancelled' });
  const [letter, ...others] = sandbox.deliveries.list({ state: 'dead' });
  if (letter === undefined) throw new Error('nothing was dead-lettered');
  expect([letter.event.type, letter.tries, others.length]).toEqual(['cart.expires_soon', 7, 0]);
  merchant.refuse(null);
  expect(sandbox.deliveries.retry(letter.id)).toBe(true);
  await sandbox.advance(0);
  expect(merchant.handled()).toEqual([`${minutes(sandbox.now().getTime())} cart.expires_soon ${cart}`]);

  // Nothing else waits, and nothing comes a second time.
  await sandbox.advance('30 d');
  expect(merchant.handled()).toEqual([]);
  const deliveries = sandbox.deliveries.list();
  expect(new Set(deliveries.map(({ state }) => state))).toEqual(new Set(['delivered']));
  expect(deliveries).toHaveLength(14);
  // 8 at once; of four 6 tries, of one 5, of one 7 and that by hand.
  expect(merchant.deliveries()).toBe(8 + 4 * 6 + 5 + 7 + 1);
  expect(deliveries.reduce((tries, delivery) => tries + delivery.tries, 0)).toBe(merchant.deliveries());

  await merchant.close();
  expect(steps()).toBeLessThan(MOST_STEPS);
  expect(timers()).toEqual([]);
});

/** Delays of timers that ended: a wait in real time. */
function timersThatRanOut(): () => readonly number[] {
  const usual = globalThis.setTimeout;
  const ranOut: number[] = [];
  vi.stubGlobal('setTimeout', (callback: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    usual(() => {
      ranOut.push(ms);
      callback(...given);
    }, ms),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  return () => ranOut;
}
