import { describe, expect } from 'vitest';
import { parseEvent } from '../../src/index.ts';
import type { OrderStatus } from '../../src/sandbox/resources.ts';
import {
  it,
  CAKE,
  LOAF,
  NEW_CART,
  NEW_ITEM,
  PIER,
  placeOrder,
  RYE,
  Service,
  stockOf,
  type SeenEvent,
} from './service.ts';

const GOOD = { payment_method_id: 'pm_ok' };
const MINUTE = 60_000;

const order = (id: string, status: string): object => ({
  type: `order.${status}`,
  data: { object: 'order', id, status },
});

describe('an order', () => {
  it('is created, confirmed, ready and completed, each at its time (A3, A5)', async ({ service }) => {
    const id = await placeOrder(service, LOAF, 3);
    expect(await service.events()).toMatchObject([order(id, 'created')]);
    await service.data('POST', `/order/${id}/submit`, GOOD);
    expect(await service.types()).toEqual(['inventory.updated']);
    await service.sandbox.advance(MINUTE - 1);
    expect(await service.types()).toEqual([]);
    await service.sandbox.advance('1 h');
    const events = await service.events();
    expect(events).toMatchObject([order(id, 'confirmed'), order(id, 'ready'), order(id, 'completed')]);
    const at = (minutes: number): string => new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString();
    expect(events.map(({ created }) => created)).toEqual([at(1), at(21), at(31)]);
    expect(events.map(({ data }) => data['estimated_ready_time'])).toEqual([at(21), at(21), at(21)]);
    await service.sandbox.advance('30 d');
    expect(await service.types()).toEqual([]);
  });

  it('tells in its events what interface 6.2 shows, and each passes parseEvent without an issue', async ({
    service,
  }) => {
    const cart = await service.data('POST', '/cart', NEW_CART);
    await service.data('POST', `/cart/${cart}/item`, { ...NEW_ITEM, quantity: 3 });
    service.sandbox.faults.add({ kind: 'fail-order' });
    const failing = await placeOrder(service, LOAF);
    await service.data('POST', `/order/${failing}/submit`, GOOD);
    const id = await placeOrder(service, RYE, 8);
    await service.data('POST', `/order/${id}/submit`, GOOD);
    const cancelled = await placeOrder(service, LOAF);
    service.sandbox.orders.move(cancelled, 'cancelled');
    await service.sandbox.advance('2 d');
    const events = await service.events();
    for (const event of events) {
      expect(parseEvent(Buffer.from(JSON.stringify(event)))).toMatchObject({ ok: true, known: true, issues: [] });
    }
    expect(new Set(events.map(({ type }) => type)).size).toBe(11); // all of 6.1
    const items = [{ product_id: RYE, quantity: 8, price: 7.25 }];
    // 8 × 7.25, 8 % of it, 4.99 and 2.50
    const sums = { merchant_id: 'mer_bakery', user_id: 'usr_1', total: 70.13, currency: 'USD', items };
    const about = new Set<unknown>([id, cart, RYE]);
    const of = (type: string): SeenEvent | undefined =>
      events.find((event) => event.type === type && about.has(event.data['id'] ?? event.data['product_id']));
    expect(of('order.created')?.data).toEqual({ object: 'order', id, status: 'created', ...sums });
    expect(of('order.confirmed')?.data).toEqual({
      object: 'order',
      id,
      status: 'confirmed',
      ...sums,
      estimated_ready_time: expect.anything(),
      fulfillment_method: 'Delivery',
      special_instructions: 'Ring twice',
    });
    expect(of('inventory.out_of_stock')?.data).toEqual({
      object: 'inventory',
      product_id: RYE,
      merchant_id: 'mer_bakery',
      location_id: PIER,
      previous_quantity: 8,
      current_quantity: 0,
    });
    expect(of('cart.abandoned')?.data).toEqual({
      object: 'cart',
      id: cart,
      user_id: 'usr_1',
      last_activity: '2026-01-01T00:00:00.000Z',
      total_value: 19.5,
      item_count: 3,
    });
  });

  it.each(['created', 'confirmed', 'ready'] as const)(
    'that is %s gives stock back when it is cancelled or fails',
    async (state) => {
      for (const end of ['cancelled', 'failed'] as const) {
        await using service = new Service();
        const id = await placeOrder(service, CAKE);
        await service.data('POST', `/order/${id}/submit`, GOOD);
        const before: readonly OrderStatus[] = ['confirmed', 'ready'];
        for (const step of before.slice(0, ['created', 'confirmed', 'ready'].indexOf(state))) {
          service.sandbox.orders.move(id, step);
        }
        await service.events();
        service.sandbox.orders.move(id, end);
        expect((await service.types()).toSorted()).toEqual(['inventory.updated', `order.${end}`]);
        expect(await stockOf(service, CAKE)).toBe(1);
        await service.sandbox.advance('1 d');
        expect(await service.types()).toEqual([]);
      }
    },
  );

  it('that was not submitted has no stock to give back', async ({ service }) => {
    const id = await placeOrder(service, CAKE);
    service.sandbox.orders.move(id, 'cancelled');
    expect(await service.types()).toEqual(['order.created', 'order.cancelled']);
    expect(await stockOf(service, CAKE)).toBe(1);
  });

  it('makes no move that is not legal, and nothing comes of trying', async ({ service }) => {
    const id = await placeOrder(service);
    const all: readonly OrderStatus[] = ['created', 'confirmed', 'ready', 'completed', 'cancelled', 'failed'];
    const walk: readonly [OrderStatus, readonly OrderStatus[]][] = [
      ['created', ['confirmed', 'cancelled', 'failed']],
      ['confirmed', ['ready', 'cancelled', 'failed']],
      ['ready', ['completed', 'cancelled', 'failed']],
      ['completed', []],
    ];
    for (const [state, legal] of walk) {
      if (state !== 'created') service.sandbox.orders.move(id, state);
      await service.events();
      expect(service.sandbox.orders.list()).toMatchObject([{ id, status: state, moves: legal }]);
      for (const to of all.filter((one) => !legal.includes(one))) {
        expect(() => service.sandbox.orders.move(id, to)).toThrow(`cannot become ${to}`);
      }
      expect(await service.types()).toEqual([]);
    }
    expect(() => service.sandbox.orders.move('ord_x', 'ready')).toThrow('No order has this id.');
  });

  it('that is moved by hand goes on by the clock from there', async ({ service }) => {
    const id = await placeOrder(service);
    await service.data('POST', `/order/${id}/submit`, GOOD);
    service.sandbox.orders.move(id, 'confirmed');
    service.sandbox.orders.move(id, 'ready');
    await service.events();
    await service.sandbox.advance(10 * MINUTE - 1);
    expect(await service.types()).toEqual([]);
    await service.sandbox.advance(1);
    expect(await service.types()).toEqual(['order.completed']);
  });
});

describe('stock', () => {
  it('is low and out once a crossing (A6)', async ({ service }) => {
    const { stock } = service.sandbox;
    const told = async (quantity: number): Promise<readonly string[]> => {
      stock.set(PIER, RYE, quantity);
      return (await service.types()).map((type) => type.slice('inventory.'.length));
    };
    expect(await told(8)).toEqual([]); // as it was
    expect(await told(6)).toEqual(['updated']);
    expect(await told(5)).toEqual(['updated', 'low_stock']);
    expect(await told(4)).toEqual(['updated']);
    expect(await told(0)).toEqual(['updated', 'out_of_stock']);
    expect(await told(3)).toEqual(['updated']);
    expect(await told(0)).toEqual(['updated', 'out_of_stock']);
    expect(await told(6)).toEqual(['updated']);
    expect(await told(0)).toEqual(['updated', 'low_stock', 'out_of_stock']);
  });

  it('takes one event for each product of an order, however many lines', async ({ service }) => {
    const line = { product_id: RYE, quantity: 2 };
    const body = {
      customer: {},
      location_id: PIER,
      fulfillment_method: 'Pickup',
      items: [line, { ...line, product_id: LOAF }, line],
    };
    const { id } = await service.data<{ id: string }>('POST', '/order', body);
    await service.events();
    await service.data('POST', `/order/${id}/submit`, GOOD);
    expect(
      (await service.events()).map(({ type, data }) => [type, data['product_id'], data['current_quantity']]),
    ).toEqual([
      ['inventory.updated', RYE, 4],
      ['inventory.low_stock', RYE, 4],
      ['inventory.updated', LOAF, 38],
    ]);
  });

  it.each([-1, 1.5, NaN, 2 ** 31])('is never %d', async (quantity) => {
    await using service = new Service();
    expect(() => service.sandbox.stock.set(PIER, LOAF, quantity)).toThrow('whole number');
  });
});

describe('a cart', () => {
  it('that is idle is abandoned, expires soon, and is cancelled (A6)', async ({ service }) => {
    const id = await service.data('POST', '/cart', NEW_CART);
    const idle = async (ms: number): Promise<unknown> => {
      await service.sandbox.advance(ms);
      return [await service.types(), (await service.data<{ status: string }>('GET', `/cart/${id}`)).status];
    };
    expect(await idle(60 * MINUTE - 1)).toEqual([[], 'Active']);
    expect(await idle(1)).toEqual([['cart.abandoned'], 'Active']);
    expect(await idle(22 * 60 * MINUTE - 1)).toEqual([[], 'Active']);
    expect(await idle(1)).toEqual([['cart.expires_soon'], 'Active']);
    expect(await idle(60 * MINUTE - 1)).toEqual([[], 'Active']);
    expect(await idle(1)).toEqual([[], 'Cancelled']);
    expect(await service.data('GET', `/cart/${id}`)).toMatchObject({ updated_at: '2026-01-02T00:00:00.000Z' });
    expect(await idle(30 * 24 * 60 * MINUTE)).toEqual([[], 'Cancelled']);
  });

  it('is idle since its items last changed; looking at it changes nothing', async ({ service }) => {
    const id = await service.data('POST', '/cart', NEW_CART);
    await service.sandbox.advance('61 min');
    const item = await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
    await service.sandbox.advance('59 min');
    await service.data('PUT', `/cart/${id}/item/${item}`, { quantity: 3 });
    await service.sandbox.advance('59 min');
    await service.data('GET', `/cart/${id}`);
    expect(await service.types()).toEqual(['cart.abandoned']);
    await service.sandbox.advance('1 min');
    expect(await service.types()).toEqual(['cart.abandoned']);
    await service.sandbox.advance('22 h');
    expect(await service.types()).toEqual(['cart.expires_soon']);
  });

  it.each(['Submitted', 'Cancelled'])(
    'that is %s is neither abandoned nor cancelled; no order comes of it (A2)',
    async (status) => {
      await using service = new Service();
      const id = await service.data('POST', '/cart', NEW_CART);
      await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
      await service.data('PUT', `/cart/${id}`, { status });
      await service.sandbox.advance('3 d');
      expect(await service.types()).toEqual([]);
      expect(await service.data('GET', `/cart/${id}`)).toMatchObject({ status });
      expect(service.sandbox.orders.list()).toEqual([]);
    },
  );
});

describe('assumptions', () => {
  it('are set otherwise where they are numbers or switches', async () => {
    await using service = new Service({
      assumptions: {
        confirmedAfterMs: 5,
        readyAfterMs: 0,
        completedAfterMs: 1,
        lowStockAt: 39,
        taxRate: 0.19,
        deliveryFee: 0,
      },
    });
    const id = await placeOrder(service);
    expect(await service.data('POST', `/order/${id}/submit`, GOOD)).toMatchObject({
      tax: 1.24,
      fees: [],
      total: 10.24,
    });
    await service.sandbox.advance(6);
    expect(await service.types()).toEqual([
      'order.created',
      'inventory.updated',
      'inventory.low_stock',
      'order.confirmed',
      'order.ready',
      'order.completed',
    ]);
  });

  it.each([
    { taxRate: -1 },
    { lowStockAt: 1.5 },
    { pageSize: 0 },
    { pageSize: 101 },
    { resetAsIso: 1 },
    { abandonedAfterMs: NaN },
    { expiredAfterMs: 1 },
    { colour: 3 },
  ])('%o cannot work', (assumptions) => {
    expect(() => new Service({ assumptions: assumptions as object })).toThrow('assumptions');
  });
});
