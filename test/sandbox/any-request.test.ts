// @module-tag repeated
// @module-tag dear
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { times } from '../helpers/times.ts';
import { seed } from '../processing/model/seed.ts';
import { LOAF, NEW_CART, NEW_ITEM, NEW_ORDER, placeOrder, Service } from './service.ts';

/** Section 7. */
const CODES: Readonly<Record<string, number>> = {
  INVALID_API_KEY: 401,
  INSUFFICIENT_PERMISSIONS: 403,
  VALIDATION_ERROR: 422,
  MISSING_REQUIRED_FIELD: 400,
  RESOURCE_NOT_FOUND: 404,
  RESOURCE_CONFLICT: 409,
  INSUFFICIENT_INVENTORY: 422,
  PAYMENT_FAILED: 422,
};

const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');
const segment = fc.oneof(
  fc.constantFrom(
    'cart',
    'order',
    'item',
    'submit',
    'merchant',
    'category',
    'product',
    'payment-method',
    'setup-intent',
  ),
  fc.constantFrom(
    'v1',
    'CART',
    'ORDER',
    '..',
    '%',
    '%00',
    '%2F',
    '%E2%82',
    "'",
    '__proto__',
    'constructor',
    'mer_bakery',
  ),
  fc.string({ maxLength: 8 }).map((text) => (text.isWellFormed() ? encodeURIComponent(text) : '%FF')),
);
const parameter = fc.tuple(
  fc.constantFrom('latitude', 'longitude', 'distance', 'query', 'page', 'size', 'sort', 'merchant_id', '__proto__'),
  fc.oneof(
    fc.double().map(String),
    fc.integer().map(String),
    fc.constantFrom('', 'name,desc', 'id', 'name,', '1e309', '%FF', "' OR 1=1", 'constructor,asc'),
    fc.string({ maxLength: 6 }).filter((text) => text.isWellFormed()),
  ),
);
const odd = fc.oneof(
  fc.constantFrom(null, 0, -0, -1, 1.5, 2 ** 31, 1e308, true, '', 'x', '\ud800', '\0', [], {}, [[]], { toString: 1 }),
  fc.jsonValue(),
);
const spoiled = fc
  .tuple(
    fc.constantFrom<object>(
      NEW_CART,
      NEW_ITEM,
      NEW_ORDER,
      { payment_method_id: 'pm_ok' },
      { status: 'Submitted' },
      { quantity: 3 },
      { merchant_id: 'mer_books' },
    ),
    fc.array(fc.tuple(fc.nat(9), fc.option(odd, { nil: undefined })), { maxLength: 3 }),
  )
  .map(([right, changes]) => {
    const body: Record<string, unknown> = { ...right };
    for (const [at, value] of changes) body[Object.keys(right)[at] ?? `more${at}`] = value;
    return JSON.stringify(body);
  });
const body = fc.oneof(
  { weight: 5, arbitrary: spoiled },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom('', '{', '[{}', '{"__proto__":{"status":"Active"}}', '['.repeat(9_000)) },
);
const known = fc.constantFrom(
  'POST /cart',
  'GET /cart/CART',
  'PUT /cart/CART',
  'POST /cart/CART/item',
  'PUT /cart/CART/item/ITEM',
  'POST /order',
  'POST /order/ORDER/submit',
  'POST /payment-method/setup-intent',
  'GET /payment-method',
  'GET /merchant',
  'GET /merchant/mer_bakery/category/cat_bread',
  'GET /product',
);
const target = fc.oneof(
  { weight: 3, arbitrary: known },
  {
    weight: 1,
    arbitrary: fc.tuple(method, fc.array(segment, { maxLength: 5 })).map(([how, path]) => `${how} /${path.join('/')}`),
  },
);

test(
  'whatever is sent gets an answer of section 7, and what is refused changes nothing',
  { timeout: 120_000 },
  async () => {
    await using service = new Service();
    const { sandbox } = service;
    const cart = await service.data('POST', '/cart', NEW_CART);
    const item = await service.data('POST', `/cart/${cart}/item`, NEW_ITEM);
    const order = await placeOrder(service, LOAF);
    const place = (path: string): string =>
      path
        .replace('CART', cart)
        .replace('ITEM', item)
        .replace('ORDER', order)
        .replaceAll(/\/{2,}/g, '/');
    const state = async (): Promise<string> =>
      JSON.stringify([
        sandbox.orders.list(),
        sandbox.stock.list(),
        await service.data('GET', `/cart/${cart}`),
        await service.data('GET', '/payment-method'),
      ]);
    const seen = new Set<number>();
    await service.events();
    await fc.assert(
      fc.asyncProperty(target, fc.array(parameter, { maxLength: 4 }), body, async (where, query, sent) => {
        const [how = '', path = ''] = where.split(' ', 2);
        const before = await state();
        const search = new URLSearchParams(query).toString();
        const request = new Request(`http://sandbox${place(path)}?${search}`, {
          method: how,
          headers: { Authorization: sandbox.apiKey },
          ...(how !== 'GET' && { body: typeof sent === 'string' ? sent : Uint8Array.from(sent) }),
        });
        const answer = await sandbox.fetch(request);
        seen.add(answer.status);
        const text = await answer.text();
        const { data, messages, error } = JSON.parse(text) as Record<string, unknown> & { error?: { code: string } };
        if (answer.status < 300) {
          expect([200, 201]).toContain(answer.status);
          expect(data).toBeDefined();
          expect(messages).toBeInstanceOf(Array);
        } else {
          expect(answer.status, text).toBe(CODES[error?.code ?? '']);
          expect(await state()).toBe(before);
          expect(await service.types()).toEqual([]);
        }
        await service.events();
      }),
      { seed, numRuns: times(2_000, 300) },
    );
    for (const status of [200, 201, 400, 404, 422]) expect(seen).toContain(status);
  },
);
