import { describe, expect } from 'vitest';
import {
  it,
  CAKE,
  LOAF,
  NEW_CART,
  NEW_ITEM,
  NEW_ORDER,
  PIER,
  placeOrder,
  RYE,
  Service,
  stockOf,
  type Answer,
} from './service.ts';

/** Table 7.3 with the envelope of 7.2: status, code, the extra fields and nothing else. */
function expectError({ status, body }: Answer, expected: [number, string], extras: object = {}): void {
  expect({ status, code: body.error?.['code'] }).toEqual({ status: expected[0], code: expected[1] });
  expect(Object.keys(body)).toEqual(['error']);
  const { code: _, message, request_id, ...rest } = body.error ?? {};
  expect(message).toMatch(/\w/);
  expect(request_id).toMatch(/^req_\w+$/);
  expect(rest).toEqual(extras);
}

const CONFLICT: [number, string] = [409, 'RESOURCE_CONFLICT'];
const INVALID: [number, string] = [422, 'VALIDATION_ERROR'];
const MISSING: [number, string] = [400, 'MISSING_REQUIRED_FIELD'];
const NOT_FOUND: [number, string] = [404, 'RESOURCE_NOT_FOUND'];

function fieldsOf({ body }: Answer): unknown {
  const details = body.error?.['details'] as { field: string; message: string }[];
  for (const detail of details) {
    expect(Object.keys(detail).toSorted()).toEqual(['field', 'message']);
    expect(detail.message).toMatch(/\w/);
  }
  return details.map(({ field }) => field);
}

describe('MISSING_REQUIRED_FIELD', () => {
  it.each([
    ['POST', '/cart', {}, 'user_id'],
    ['POST', '/cart', { user_id: 'u', fulfillment_method: 'Pickup' }, 'location_id'],
    ['POST', '/cart', { user_id: 'u', location_id: PIER }, 'fulfillment_method'],
    ['PUT', '/cart/c', {}, 'status'],
    ['POST', '/cart/c/item', { product_name: 'x', quantity: 1 }, 'product_id'],
    ['POST', '/cart/c/item', { product_id: LOAF, quantity: 1 }, 'product_name'],
    ['POST', '/cart/c/item', { product_id: LOAF, product_name: 'x' }, 'quantity'],
    ['PUT', '/cart/c/item/i', {}, 'quantity'],
    ['POST', '/order', { ...NEW_ORDER, customer: undefined }, 'customer'],
    ['POST', '/order', { ...NEW_ORDER, items: undefined }, 'items'],
    ['POST', '/order', { ...NEW_ORDER, location_id: undefined }, 'location_id'],
    ['POST', '/order', { ...NEW_ORDER, fulfillment_method: undefined }, 'fulfillment_method'],
    ['POST', '/order', { ...NEW_ORDER, items: [{ quantity: 1 }] }, 'items.0.product_id'],
    ['POST', '/order', { ...NEW_ORDER, items: [{ product_id: LOAF }] }, 'items.0.quantity'],
    // What is missing comes before what is wrong.
    ['POST', '/order', { ...NEW_ORDER, tip: 'much', location_id: undefined }, 'location_id'],
    ['POST', '/order/o/submit', {}, 'payment_method_id'],
    ['POST', '/payment-method/setup-intent', {}, 'merchant_id'],
    ['GET', '/product?longitude=1', undefined, 'latitude'],
    ['GET', '/product?latitude=1', undefined, 'longitude'],
    ['POST', '/cart', '', 'body'],
    ['POST', '/order', '{"customer": ', 'body'],
    ['PUT', '/cart/c', 'status=Active', 'body'],
  ])('%s %s %o: %s', async (method, path, body, field) => {
    await using service = new Service();
    expectError(await service.call(method, path, body), MISSING, { field });
  });

  it('a body that is no UTF-8', async ({ service }) => {
    const headers = { Authorization: service.sandbox.apiKey };
    const body = Buffer.from([...Buffer.from('{"status":"'), 0xff, ...Buffer.from('"}')]);
    const answer = await service.sandbox.fetch(new Request('http://sandbox/cart/c', { method: 'PUT', headers, body }));
    expect(answer.status).toBe(400);
  });
});

describe('VALIDATION_ERROR', () => {
  it.each([
    ['POST', '/cart', { ...NEW_CART, status: 'Submitted' }, ['status']],
    ['POST', '/cart', { ...NEW_CART, status: 'active' }, ['status']],
    ['POST', '/cart', { ...NEW_CART, user_id: 7, fulfillment_method: 'Drone' }, ['user_id', 'fulfillment_method']],
    ['POST', '/cart', { ...NEW_CART, user_id: null }, ['user_id']],
    ['POST', '/cart', { ...NEW_CART, user_id: '' }, ['user_id']],
    ['POST', '/cart', { ...NEW_CART, user_id: 'x'.repeat(1_001) }, ['user_id']],
    ['POST', '/cart', `{"user_id":"\\ud800","location_id":"${PIER}","fulfillment_method":"Pickup"}`, ['user_id']],
    ['POST', '/cart', [], ['body']],
    ['POST', '/cart', '7', ['body']],
    ['POST', '/cart', 'null', ['body']],
    ['PUT', '/cart/c', { status: 'Done' }, ['status']],
    ['POST', '/cart/c/item', { ...NEW_ITEM, quantity: 0 }, ['quantity']],
    ['POST', '/cart/c/item', { ...NEW_ITEM, quantity: 1.5 }, ['quantity']],
    ['POST', '/cart/c/item', { ...NEW_ITEM, quantity: '1' }, ['quantity']],
    ['POST', '/cart/c/item', { ...NEW_ITEM, quantity: 2_147_483_648 }, ['quantity']],
    ['PUT', '/cart/c/item/i', { quantity: -1 }, ['quantity']],
    ['PUT', '/cart/c/item/i', '{"quantity":1e400}', ['quantity']],
    ['POST', '/order', { ...NEW_ORDER, items: [] }, ['items']],
    [
      'POST',
      '/order',
      { ...NEW_ORDER, items: Array.from({ length: 101 }, () => ({ product_id: LOAF, quantity: 1 })) },
      ['items'],
    ],
    ['POST', '/order', { ...NEW_ORDER, items: [{ product_id: LOAF, quantity: 0 }] }, ['items.0.quantity']],
    ['POST', '/order', { ...NEW_ORDER, tip: -1 }, ['tip']],
    ['POST', '/order', { ...NEW_ORDER, tip: '1' }, ['tip']],
    ['POST', '/order', { ...NEW_ORDER, customer: 'Ada' }, ['customer']],
    ['POST', '/order', { ...NEW_ORDER, customer: { address: { city: 7 } } }, ['customer.address.city']],
    ['POST', '/order', { ...NEW_ORDER, dropoff_instructions: {} }, ['dropoff_instructions']],
    ['POST', '/order/o/submit', { payment_method_id: 1 }, ['payment_method_id']],
    ['POST', '/payment-method/setup-intent', { merchant_id: [] }, ['merchant_id']],
    ['GET', '/payment-method?merchant_id=', undefined, ['merchant_id']],
    ['GET', '/merchant?page=-1', undefined, ['page']],
    ['GET', '/merchant?page=one', undefined, ['page']],
    ['GET', '/merchant?page=', undefined, ['page']],
    ['GET', '/merchant?page=1&page=2', undefined, ['page']],
    ['GET', '/merchant?size=0', undefined, ['size']],
    ['GET', '/merchant?size=101', undefined, ['size']],
    ['GET', '/merchant?size=1.5', undefined, ['size']],
    ['GET', '/merchant?sort=colour', undefined, ['sort']],
    ['GET', '/merchant?sort=name,sideways', undefined, ['sort.0']],
    ['GET', '/merchant?sort=name%3B--', undefined, ['sort.0']],
    ['GET', '/product?latitude=90.1&longitude=180.1', undefined, ['latitude', 'longitude']],
    ['GET', '/product?latitude=-91&longitude=0', undefined, ['latitude']],
    ['GET', '/product?latitude=NaN&longitude=0x1', undefined, ['latitude', 'longitude']],
    ['GET', '/product?latitude=0&longitude=0&distance=-1', undefined, ['distance']],
  ])('%s %s %o: %o', async (method, path, body, fields) => {
    await using service = new Service();
    const answer = await service.call(method, path, body);
    expectError(answer, INVALID, { details: expect.anything() });
    expect(fieldsOf(answer)).toEqual(fields);
  });

  it('a body beyond its limit, in one piece or in many, with a length or without', async () => {
    await using service = new Service({ assumptions: { maxBodyBytes: 1_000 } });
    const answer = await service.call('POST', '/cart', { ...NEW_CART, more: 'x'.repeat(1_000) });
    expectError(answer, INVALID, { details: [{ field: 'body', message: expect.anything() }] });
    const pieces = new ReadableStream<Uint8Array>({
      start(stream) {
        for (let n = 0; n < 2_000; n += 1) stream.enqueue(Buffer.from(' '));
        stream.close();
      },
    });
    const headers = { Authorization: service.sandbox.apiKey };
    const init = { method: 'POST', headers, body: pieces, duplex: 'half' } as const;
    expect((await service.sandbox.fetch(new Request('http://sandbox/cart', init))).status).toBe(422);
  });

  it('says nothing of what was sent', async ({ service }) => {
    const { body } = await service.call('POST', '/cart', { ...NEW_CART, user_id: 4_111_111, status: 'hunter2' });
    expect(JSON.stringify(body)).not.toMatch(/4111111|hunter2/);
  });
});

describe('RESOURCE_NOT_FOUND', () => {
  it.each([
    ['GET', '/cart/cart_x', undefined, 'cart', 'cart_x'],
    ['PUT', '/cart/cart_x', { status: 'Active' }, 'cart', 'cart_x'],
    ['POST', '/cart/cart_x/item', NEW_ITEM, 'cart', 'cart_x'],
    ['PUT', '/cart/cart_x/item/i', { quantity: 1 }, 'cart', 'cart_x'],
    ['POST', '/cart', { ...NEW_CART, location_id: 'loc_x' }, 'location', 'loc_x'],
    ['POST', '/order', { ...NEW_ORDER, location_id: 'loc_x' }, 'location', 'loc_x'],
    ['POST', '/order', { ...NEW_ORDER, items: [{ product_id: 'prod_x', quantity: 1 }] }, 'product', 'prod_x'],
    // It exists, and is sold elsewhere.
    [
      'POST',
      '/order',
      { ...NEW_ORDER, items: [{ product_id: 'prod_cold_brew', quantity: 1 }] },
      'product',
      'prod_cold_brew',
    ],
    ['POST', '/order/ord_x/submit', { payment_method_id: 'pm_ok' }, 'order', 'ord_x'],
    ['POST', '/payment-method/setup-intent', { merchant_id: 'mer_x' }, 'merchant', 'mer_x'],
    ['GET', '/payment-method?merchant_id=mer_x', undefined, 'merchant', 'mer_x'],
    ['GET', '/merchant/mer_x/category/cat_bread', undefined, 'merchant', 'mer_x'],
    ['GET', '/merchant/mer_bakery/category/cat_x', undefined, 'category', 'cat_x'],
    ['GET', '/merchant/mer_coffee/category/cat_bread', undefined, 'category', 'cat_bread'],
    ['GET', '/cart/%E2%82%AC%2F', undefined, 'cart', '€/'],
    ['GET', '/', undefined, 'path', '/'],
    ['GET', '/orders', undefined, 'path', '/orders'],
    ['GET', '/cart', undefined, 'path', '/cart'],
    ['DELETE', '/cart/cart_x', undefined, 'path', '/cart/cart_x'],
    ['GET', '/v1/merchant', undefined, 'path', '/v1/merchant'],
    ['GET', '/v2/product?latitude=0&longitude=0', undefined, 'path', '/v2/product'],
  ])('%s %s %o: %s %s', async (method, path, body, resource_type, resource_id) => {
    await using service = new Service();
    expectError(await service.call(method, path, body), NOT_FOUND, { resource_type, resource_id });
  });

  it('an item of another cart, a product that is not sold where the cart is, a payment method', async ({ service }) => {
    const [mine, other] = [
      await service.data('POST', '/cart', NEW_CART),
      await service.data('POST', '/cart', NEW_CART),
    ];
    const item = await service.data('POST', `/cart/${other}/item`, NEW_ITEM);
    const update = await service.call('PUT', `/cart/${mine}/item/${item}`, { quantity: 1 });
    expectError(update, NOT_FOUND, { resource_type: 'cart_item', resource_id: item });
    const add = await service.call('POST', `/cart/${mine}/item`, { ...NEW_ITEM, product_id: 'prod_cold_brew' });
    expectError(add, NOT_FOUND, { resource_type: 'product', resource_id: 'prod_cold_brew' });
    const submit = await service.call('POST', `/order/${await placeOrder(service)}/submit`, {
      payment_method_id: 'pm_x',
    });
    expectError(submit, NOT_FOUND, { resource_type: 'payment_method', resource_id: 'pm_x' });
  });
});

describe('RESOURCE_CONFLICT', () => {
  it('a cart without items is not submitted', async ({ service }) => {
    const id = await service.data('POST', '/cart', NEW_CART);
    expectError(await service.call('PUT', `/cart/${id}`, { status: 'Submitted' }), CONFLICT, {
      resource_state: 'Active',
    });
  });

  it.each([
    ['Submitted', 'Active'],
    ['Submitted', 'Cancelled'],
    ['Cancelled', 'Active'],
    ['Cancelled', 'Submitted'],
  ])('a cart that is %s stays so, and is not %s', async (state, wanted) => {
    await using service = new Service();
    const id = await service.data('POST', '/cart', NEW_CART);
    const item = await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
    await service.data('PUT', `/cart/${id}`, { status: state });
    for (const answer of [
      await service.call('PUT', `/cart/${id}`, { status: wanted }),
      await service.call('POST', `/cart/${id}/item`, NEW_ITEM),
      await service.call('PUT', `/cart/${id}/item/${item}`, { quantity: 7 }),
    ]) {
      expectError(answer, CONFLICT, { resource_state: state });
    }
    expect(await service.data('PUT', `/cart/${id}`, { status: state })).toBe(true);
    expect(await service.data('GET', `/cart/${id}`)).toMatchObject({
      status: state,
      items: [{ id: item, quantity: 2 }],
    });
  });

  it('a cart has so many items and no more', async () => {
    await using service = new Service({ assumptions: { maxItems: 1 } });
    const id = await service.data('POST', '/cart', NEW_CART);
    await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
    expectError(await service.call('POST', `/cart/${id}/item`, NEW_ITEM), CONFLICT, { resource_state: 'Active' });
  });

  it('an order is submitted once, and not after it has moved on', async ({ service }) => {
    const id = await placeOrder(service);
    const submit = () => service.call('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' });
    expect((await submit()).status).toBe(200);
    expectError(await submit(), CONFLICT, { resource_state: 'submitted' });
    await service.sandbox.advance('1 min');
    expectError(await submit(), CONFLICT, { resource_state: 'confirmed' });
    expect(await stockOf(service, LOAF)).toBe(39);
  });
});

describe('INSUFFICIENT_INVENTORY', () => {
  const SHORT: [number, string] = [422, 'INSUFFICIENT_INVENTORY'];

  it('an order of more than there is, lines of one product taken together', async ({ service }) => {
    const items = [
      { product_id: LOAF, quantity: 1 },
      { product_id: RYE, quantity: 5 },
      { product_id: RYE, quantity: 4 },
    ];
    expectError(await service.call('POST', '/order', { ...NEW_ORDER, items }), SHORT, {
      available_quantity: 8,
      requested_quantity: 9,
      product_id: RYE,
    });
    expect(await service.types()).toEqual([]);
  });

  it('the last one is for whoever submits first; nobody else is charged', async ({ service }) => {
    const orders = [await placeOrder(service, CAKE), await placeOrder(service, CAKE)];
    const answers = await Promise.all(
      orders.map((id) => service.call('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' })),
    );
    const [won, lost] = answers.toSorted((a, b) => a.status - b.status) as [Answer, Answer];
    expect(won.status).toBe(200);
    expectError(lost, SHORT, { available_quantity: 0, requested_quantity: 1, product_id: CAKE });
    expect(service.sandbox.orders.list().filter(({ isSubmitted }) => isSubmitted)).toHaveLength(1);
    expect(await stockOf(service, CAKE)).toBe(0);
  });
});

describe('PAYMENT_FAILED', () => {
  it.each([
    ['pm_declined', 'generic_decline'],
    ['pm_insufficient_funds', 'insufficient_funds'],
    ['pm_expired', 'expired_card'],
  ])('%s: %s; it may be submitted again', async (method, decline_reason) => {
    await using service = new Service();
    const id = await placeOrder(service, CAKE);
    const declined = await service.call('POST', `/order/${id}/submit`, { payment_method_id: method });
    expectError(declined, [422, 'PAYMENT_FAILED'], { payment_error: 'card_declined', decline_reason });
    expect(await stockOf(service, CAKE)).toBe(1);
    expect(await service.types()).toEqual(['order.created']);
    await service.data('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' });
    expect(await stockOf(service, CAKE)).toBe(0);
  });
});

describe('the order of checks', () => {
  it('key, limit, path, permission, fault, syntax, validation, existence, state', async () => {
    await using service = new Service({ plan: { perMonth: 1 } });
    const { keys, faults } = service.sandbox;
    const { key } = keys.create({ permissions: ['carts:read'] });
    faults.add({ kind: 'before', operation: 'createOrder' });
    const wrong = { tip: 'much' };
    expectError(await service.call('POST', '/order', wrong, { key: 'nobody' }), [401, 'INVALID_API_KEY']);
    const forbidden = await service.call('POST', '/order', wrong, { key });
    expectError(forbidden, [403, 'INSUFFICIENT_PERMISSIONS'], { required_permission: 'orders:write' });
    expect((await service.call('POST', '/order', wrong, { key })).status).toBe(429);
    expect((await service.call('POST', '/orders', wrong, { key })).status).toBe(429);
    await service.sandbox.advance('31 d');
    expect((await service.call('POST', '/order', wrong)).status).toBe(503);
    await service.sandbox.advance('31 d');
    expectError(await service.call('POST', '/order', wrong), MISSING, { field: 'customer' });
    await service.sandbox.advance('31 d');
    const items = [{ product_id: CAKE, quantity: 2 }];
    const lost = { ...NEW_ORDER, location_id: 'loc_x', items };
    expectError(await service.call('POST', '/order', { ...lost, ...wrong }), INVALID, { details: expect.anything() });
    await service.sandbox.advance('31 d');
    expect((await service.call('POST', '/order', lost)).status).toBe(404);
    await service.sandbox.advance('31 d');
    expect((await service.call('POST', '/order', { ...lost, location_id: PIER })).body.error?.['code']).toBe(
      'INSUFFICIENT_INVENTORY',
    );
  });

  it('each request has an id of its own', async ({ service }) => {
    const idOf = async (): Promise<unknown> => (await service.call('GET', '/cart/x')).body.error?.['request_id'];
    expect(await idOf()).not.toBe(await idOf());
  });
});
