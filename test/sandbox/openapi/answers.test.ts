import { beforeAll, describe, expect, it } from 'vitest';
import { eventTypes } from '../../../src/events/event-types.ts';
import { fixture } from '../../../src/testing/fixtures.ts';
import { ERROR_CODES, OUTAGES, type OutageStatus } from '../../../src/sandbox/errors.ts';
import {
  COMMON_ERRORS,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
} from '../../../src/sandbox/service-operations.ts';
import {
  CAKE,
  LOAF,
  NEW_CART,
  NEW_ITEM,
  NEW_ORDER,
  placeOrder,
  Service,
  type SeenEvent,
  type Unusual,
} from '../service.ts';
import { documentAsJson, type Document } from './described.ts';
import { fitsOf, type Exchange } from './fits.ts';

type Step = readonly [name: OperationName, path: string, body?: unknown];

const SEARCH = '/product?latitude=37.7993&longitude=-122.3977';

function rightSteps({ cart, item, order }: Ids): readonly Step[] {
  return [
    ['createCart', '/cart', NEW_CART],
    ['addCartItem', `/cart/${cart}/item`, { ...NEW_ITEM, quantity: 5_000 }],
    ['updateCartItem', `/cart/${cart}/item/${item}`, { quantity: 3 }],
    ['getCart', `/cart/${cart}`],
    ['updateCart', `/cart/${cart}`, { status: 'Submitted' }],
    ['createOrder', '/order', NEW_ORDER],
    ['submitOrder', `/order/${order}/submit`, { payment_method_id: 'pm_ok' }],
    ['createSetupIntent', '/payment-method/setup-intent', { merchant_id: 'mer_books' }],
    ['listPaymentMethods', '/payment-method?merchant_id=mer_books'],
    ['listMerchants', '/merchant?sort=name,desc&sort=id&size=2'],
    ['getCategory', '/merchant/mer_bakery/category/cat_bread'],
    ['searchProducts', SEARCH],
  ];
}

function wrongSteps({ cart, item, order, other }: Ids): readonly Step[] {
  return [
    ['createCart', '/cart', {}],
    ['createCart', '/cart', { ...NEW_CART, status: 'Submitted' }],
    ['createCart', '/cart', { ...NEW_CART, location_id: 'loc_none' }],
    ['getCart', '/cart/none'],
    ['updateCart', `/cart/${cart}`, '{'],
    ['updateCart', `/cart/${cart}`, { status: 'Gone' }],
    ['updateCart', '/cart/none', { status: 'Cancelled' }],
    ['updateCart', `/cart/${cart}`, { status: 'Cancelled' }],
    ['addCartItem', `/cart/${cart}/item`, { product_id: LOAF }],
    ['addCartItem', `/cart/${cart}/item`, { ...NEW_ITEM, quantity: 0 }],
    ['addCartItem', '/cart/none/item', NEW_ITEM],
    ['addCartItem', `/cart/${cart}/item`, NEW_ITEM],
    ['updateCartItem', `/cart/${cart}/item/${item}`, {}],
    ['updateCartItem', `/cart/${cart}/item/${item}`, { quantity: 'two' }],
    ['updateCartItem', `/cart/${cart}/item/none`, { quantity: 2 }],
    ['updateCartItem', `/cart/${cart}/item/${item}`, { quantity: 2 }],
    ['createOrder', '/order', { ...NEW_ORDER, items: undefined }],
    ['createOrder', '/order', { ...NEW_ORDER, tip: -1 }],
    ['createOrder', '/order', { ...NEW_ORDER, location_id: 'loc_none' }],
    ['createOrder', '/order', { ...NEW_ORDER, items: [{ product_id: LOAF, quantity: 5_000 }] }],
    ['submitOrder', `/order/${order}/submit`, {}],
    ['submitOrder', `/order/${order}/submit`, { payment_method_id: 7 }],
    ['submitOrder', `/order/none/submit`, { payment_method_id: 'pm_ok' }],
    ['submitOrder', `/order/${order}/submit`, { payment_method_id: 'pm_ok' }],
    ['submitOrder', `/order/${other}/submit`, { payment_method_id: 'pm_ok' }],
    ['createSetupIntent', '/payment-method/setup-intent', {}],
    ['createSetupIntent', '/payment-method/setup-intent', { merchant_id: '' }],
    ['createSetupIntent', '/payment-method/setup-intent', { merchant_id: 'mer_none' }],
    ['listPaymentMethods', '/payment-method?merchant_id='],
    ['listPaymentMethods', '/payment-method?merchant_id=mer_none'],
    ['listMerchants', '/merchant?page=-1'],
    ['getCategory', '/merchant/mer_bakery/category/none'],
    ['searchProducts', '/product?latitude=1'],
    ['searchProducts', `${SEARCH}&distance=-1`],
  ];
}

interface Ids {
  readonly cart: string;
  readonly item: string;
  readonly order: string;
  readonly other: string;
}

async function exchange(service: Service, [name, path, body]: Step, unusual?: Unusual): Promise<Exchange> {
  return { operation: name, ...(await service.call(OPERATIONS[name].method, path, body, unusual)) };
}

/** All twelve operations, each with success, each of its codes and each outage, with and without limits. */
async function walk(): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = [];
  for (const resetAsIso of [false, true]) {
    await using service = new Service({ plan: 'Free', assumptions: { resetAsIso } });
    const { sandbox } = service;
    // Only what is called for the walk's own sake runs into limits.
    const letIn = () => sandbox.advance('10 s');
    const cart = await service.data('POST', '/cart', NEW_CART);
    const item = await service.data('POST', `/cart/${cart}/item`, NEW_ITEM);
    const [order, other] = [await placeOrder(service), await placeOrder(service, CAKE)];
    const ids = { cart, item, order, other };
    const right = rightSteps(ids);
    const none = sandbox.keys.create({ permissions: [] }).key;
    for (const step of right) {
      for (const status of Object.keys(OUTAGES).map(Number) as OutageStatus[]) {
        await letIn();
        sandbox.faults.add({ kind: 'before', operation: step[0], status });
        exchanges.push(await exchange(service, step));
      }
      await letIn();
      exchanges.push(await exchange(service, step, { key: null }), await exchange(service, step, { key: none }));
      exchanges.push(await exchange(service, step));
      for (let n = 0; n < 5; n += 1) await service.call('GET', '/cart/none');
      exchanges.push(await exchange(service, step));
    }
    await letIn();
    const declined = { payment_method_id: 'pm_expired' };
    exchanges.push(await exchange(service, ['submitOrder', `/order/${other}/submit`, declined]));
    // What it orders is sold elsewhere before it is submitted again.
    for (const { locationId, productId } of sandbox.stock.list()) {
      if (productId === CAKE) sandbox.stock.set(locationId, productId, 0);
    }
    sandbox.faults.remove();
    for (const step of wrongSteps(ids)) {
      await letIn();
      exchanges.push(await exchange(service, step));
    }
  }
  return exchanges;
}

function codeOf({ body }: Exchange): string | undefined {
  return (body as { readonly error?: { readonly code?: string } }).error?.code;
}

describe('answers', () => {
  let exchanges: readonly Exchange[];
  beforeAll(async () => {
    exchanges = await walk();
  });

  const problems = (document: Document): readonly string[] => {
    const fits = fitsOf(document);
    return exchanges.flatMap((one) => fits.answer(one) ?? []);
  };

  it('fit the document, each of each operation', () => {
    expect(problems(documentAsJson())).toEqual([]);
  });

  it('are all that the document has, and no other', () => {
    const seen = exchanges.map((one) => `${one.operation} ${one.status} ${codeOf(one) ?? ''}`);
    const wanted = OPERATION_NAMES.flatMap((name) => [
      `${name} ${OPERATIONS[name].status} `,
      ...Object.keys(OUTAGES).map((status) => `${name} ${status} `),
      ...[...COMMON_ERRORS, ...OPERATIONS[name].errors].map((code) => `${name} ${ERROR_CODES[code].status} ${code}`),
    ]);
    expect([...new Set(seen)].toSorted()).toEqual(wanted.toSorted());
  });

  it.each<[string, (document: Document) => void]>([
    ['lacks a status', ({ paths }) => delete paths['/cart/{id}']?.['put']?.responses['409']],
    ['lacks a field', ({ components }) => Object.assign(components.schemas['Order'] ?? {}, { properties: {} })],
    [
      'asks for another field',
      ({ components }) => Object.assign(components.schemas['Cart'] ?? {}, { required: ['colour'] }),
    ],
    ['has another code', ({ components }) => Object.assign(components.schemas, { PaymentFailed: { const: 'no' } })],
    [
      'lacks a header',
      (document) => Object.assign(document.components, { headers: { 'X-RateLimit-Limit': { schema: { const: 0 } } } }),
    ],
    [
      'has other messages',
      ({ components }) => Object.assign(components.schemas['Message'] ?? {}, { required: ['colour'] }),
    ],
  ])('are found not to fit where the document %s', (_, spoil) => {
    const document = documentAsJson();
    spoil(document);
    expect(problems(document)).not.toEqual([]);
  });
});

describe('events', () => {
  it('that a sandbox sends fit the webhooks of the document', async () => {
    const events: SeenEvent[] = [];
    await using service = new Service();
    const { sandbox } = service;
    await service.data('POST', '/cart', NEW_CART);
    for (const end of ['completed', 'cancelled', 'failed'] as const) {
      const order = await placeOrder(service);
      await service.data('POST', `/order/${order}/submit`, { payment_method_id: 'pm_ok' });
      if (end === 'completed') await sandbox.advance('31 min');
      else sandbox.orders.move(order, end);
    }
    const [first] = sandbox.stock.list();
    if (first === undefined) throw new Error('no stock');
    for (const quantity of [5, 0]) sandbox.stock.set(first.locationId, first.productId, quantity);
    await sandbox.advance('25 h');
    events.push(...(await service.events()));
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(eventTypes));
    const fits = fitsOf(documentAsJson());
    expect(events.flatMap((event) => fits.event(event) ?? [])).toEqual([]);
  });

  it.each(eventTypes)('has fixtures/%s.json as an example, which fits; as another type it does not', (type) => {
    const document = documentAsJson();
    const example = document.webhooks[type]?.['post']?.requestBody?.content['application/json'].example as SeenEvent;
    expect(example).toEqual(JSON.parse(fixture(type).toString()));
    const fits = fitsOf(document);
    expect(fits.event(example)).toBeNull();
    const schema = document.webhooks['order.created']?.['post']?.requestBody?.content['application/json'];
    const spoiled = {
      ...document,
      webhooks: { [type]: { post: { requestBody: { content: { 'application/json': schema } } } } },
    };
    expect(fitsOf(spoiled as unknown as Document).event(example) === null).toBe(type === 'order.created');
  });
});
