import { expect, it } from 'vitest';
import { expectFields, type FieldTable } from './fields.ts';
import { LOAF, NEW_CART, NEW_ITEM, NEW_ORDER, PIER, placeOrder, Service } from './service.ts';

// Written from the tables of interface.md by hand: nothing here comes from the schemas of the sandbox.

/** 2.3 */
const CART_ITEM: FieldTable = {
  id: 'string',
  cart_id: 'string',
  product_id: 'string',
  product_name: 'string',
  quantity: 'integer',
  created_at: 'date-time',
  updated_at: 'date-time',
};

/** 2.2 */
const CART: FieldTable = {
  id: 'string',
  user_id: 'string',
  merchant_id: 'string',
  location_id: 'string',
  status: 'string',
  fulfillment_method: 'string',
  items: [CART_ITEM],
  created_at: 'date-time',
  updated_at: 'date-time',
};

/** 2.4 and 2.5 */
const ORDER: FieldTable = {
  id: 'string',
  tip: 'number',
  subtotal: 'number',
  tax: 'number',
  total: 'number',
  customer: {
    id: 'string',
    name: 'string',
    phone: 'string',
    email: 'string',
    address: {
      street_number: 'string',
      street_name: 'string',
      street_address: 'string',
      street_address_detail: 'string',
      city: 'string',
      region: 'string',
      postal_code: 'string',
      country: 'string',
    },
  },
  fees: [{ amount: 'number' }],
  fee_total: 'number',
  items: [{ quantity: 'number', price: 'number', product_id: 'string', product_name: 'string' }],
  merchant_id: 'string',
  location_id: 'string',
  dropoff_instructions: 'string',
};

/** 2.6 */
const MERCHANT: FieldTable = {
  id: 'string',
  organization_id: 'string',
  name: 'string',
  capabilities: 'object',
  fulfillment_methods: 'object',
  payment_connected_account_id: 'string',
  created_at: 'date-time',
  updated_at: 'date-time',
};

/** 2.7 */
const CATEGORY: FieldTable = {
  id: 'string',
  merchant_id: 'string',
  external_id: 'string',
  name: 'string',
  parent_id: 'string or null',
  parent_external_id: 'string or null',
  depth: 'integer',
  created_at: 'date-time',
  updated_at: 'date-time',
};

/** 2.8 */
const PAYMENT_METHOD: FieldTable = {
  id: 'string',
  type: 'string',
  card: { brand: 'string', last4: 'string', exp_month: 'integer', exp_year: 'integer' },
};

const CARD = { payment_method_id: 'pm_ok' };

it('4.1 Create Cart: 201, data is its id, and nothing but data and messages', async () => {
  await using service = new Service();
  const { status, body } = await service.call('POST', '/cart', { ...NEW_CART, status: 'Active' });
  expect(status).toBe(201);
  expectFields(body, { data: 'string', messages: [{}] }, 'body');
  expect(await service.data('GET', `/cart/${String(body.data)}`)).toMatchObject({
    id: body.data,
    ...NEW_CART,
    merchant_id: 'mer_bakery',
    status: 'Active',
    items: [],
  });
});

it('4.2 Get Cart Details: 200, a Cart with its items', async () => {
  await using service = new Service();
  const id = await service.data('POST', '/cart', NEW_CART);
  const item = await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
  const { status, body } = await service.call('GET', `/cart/${id}`);
  expect(status).toBe(200);
  expectFields(body.data, CART);
  expect(body.data).toMatchObject({ items: [{ id: item, cart_id: id, ...NEW_ITEM }] });
});

it.each(['Active', 'Cancelled'])('4.3 Update Cart: 200, data is true for %s', async (wanted) => {
  await using service = new Service();
  const id = await service.data('POST', '/cart', NEW_CART);
  const { status, body } = await service.call('PUT', `/cart/${id}`, { status: wanted });
  expect({ status, body }).toEqual({ status: 200, body: { data: true, messages: [] } });
  expect(await service.data('GET', `/cart/${id}`)).toMatchObject({ status: wanted });
});

it('4.4 Add Cart Item: 201, data is its id, and the same product is a new line', async () => {
  await using service = new Service();
  const id = await service.data('POST', '/cart', NEW_CART);
  const { status, body } = await service.call('POST', `/cart/${id}/item`, NEW_ITEM);
  expect(status).toBe(201);
  expectFields(body, { data: 'string', messages: [{}] }, 'body');
  const second = await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
  const { items } = await service.data<{ items: { id: string }[] }>('GET', `/cart/${id}`);
  expect(items.map((item) => item.id)).toEqual([body.data, second]);
});

it('4.5 Update Cart Item: 200, data is true', async () => {
  await using service = new Service();
  const id = await service.data('POST', '/cart', NEW_CART);
  const item = await service.data('POST', `/cart/${id}/item`, NEW_ITEM);
  const { status, body } = await service.call('PUT', `/cart/${id}/item/${item}`, { quantity: 2_147_483_647 });
  expect(status).toBe(200);
  expect(body.data).toBe(true);
  expect(await service.data('GET', `/cart/${id}`)).toMatchObject({ items: [{ id: item, quantity: 2_147_483_647 }] });
});

it('2.1 messages tell of a quantity that is not there', async () => {
  await using service = new Service();
  const id = await service.data('POST', '/cart', NEW_CART);
  const { body } = await service.call('POST', `/cart/${id}/item`, { ...NEW_ITEM, quantity: 1_000 });
  expectFields(
    { all: body.messages },
    {
      all: [{ context: 'string', level: 'string', text: 'string', data: 'object' }],
    },
  );
  expect(body.messages).toMatchObject([{ level: 'Warning', data: { product_id: LOAF, available_quantity: 40 } }]);
});

it('4.6 Create Order: 201, an Order', async () => {
  await using service = new Service();
  const { status, body } = await service.call('POST', '/order', NEW_ORDER);
  expect(status).toBe(201);
  expectFields(body.data, ORDER);
  expect(body.data).toMatchObject({
    // two loaves at 6.50; 8 % of that; what a delivery costs; the tip
    subtotal: 13,
    tax: 1.04,
    fees: [{ amount: 4.99 }],
    fee_total: 4.99,
    tip: 2.5,
    total: 21.53,
    customer: {
      id: 'usr_1',
      name: 'Ada Byron',
      phone: '+1 555 0100',
      email: 'ada@example.com',
      address: {
        street_number: '12',
        street_name: 'Main Street',
        street_address: '12 Main Street',
        street_address_detail: 'Floor 2',
        city: 'San Francisco',
        region: 'CA',
        postal_code: '94105',
        country: 'US',
      },
    },
    items: [{ quantity: 2, price: 6.5, product_id: LOAF, product_name: 'Country loaf' }],
    merchant_id: 'mer_bakery',
    location_id: PIER,
    dropoff_instructions: 'Ring twice',
  });
});

it('4.6 an order of no more than is required has every field all the same', async () => {
  await using service = new Service();
  const { customer: _, tip: __, dropoff_instructions: ___, ...rest } = NEW_ORDER;
  const order = await service.data('POST', '/order', { ...rest, customer: {}, fulfillment_method: 'Pickup' });
  expectFields(order, ORDER);
  expect(order).toMatchObject({ tip: 0, fees: [], fee_total: 0, total: 14.04, dropoff_instructions: '' });
});

it.each([
  [1.005, 1.01],
  [0.004, 0],
  [1e-9, 0],
  [19.999, 20],
])('a tip of %d is %d: half up, to cents', async (sent, tip) => {
  await using service = new Service();
  expect(await service.data('POST', '/order', { ...NEW_ORDER, tip: sent })).toMatchObject({ tip });
});

it('4.7 Submit Order: 200, the same Order', async () => {
  await using service = new Service();
  const order = await service.data<{ id: string }>('POST', '/order', NEW_ORDER);
  const { status, body } = await service.call('POST', `/order/${order.id}/submit`, CARD);
  expect({ status, data: body.data }).toEqual({ status: 200, data: order });
});

it('4.8 Create Setup Intent: data has the url of a page that adds a payment method', async () => {
  await using service = new Service();
  const { status, body } = await service.call('POST', '/payment-method/setup-intent', { merchant_id: 'mer_books' });
  expect(status).toBe(201);
  expectFields(body.data, { url: 'string' });
  const { url } = body.data as { readonly url: string };
  const form = async (): Promise<string> => (await service.sandbox.fetch(new Request(url))).text();
  expect(await form()).toContain('Signal Books');
  const choose = { method: 'POST', headers: { 'Sec-Fetch-Site': 'same-origin' }, body: 'outcome=declined' };
  expect((await service.sandbox.fetch(new Request(url, choose))).status).toBe(303);
  const [added] = (await service.data<{ id: string }[]>('GET', '/payment-method?merchant_id=mer_books')).slice(-1);
  expect(await form()).toContain(added?.id);
  await service.sandbox.fetch(new Request(url, choose));
  expect(await service.data('GET', '/payment-method')).toHaveLength(5);
  const ids = (await service.data<{ id: string }[]>('GET', '/payment-method?merchant_id=mer_bakery')).map(
    ({ id }) => id,
  );
  expect(ids).not.toContain(added?.id);
  const ofAnother = await service.call('POST', `/order/${await placeOrder(service)}/submit`, {
    payment_method_id: added?.id,
  });
  expect(ofAnother.body.error).toMatchObject({ code: 'RESOURCE_NOT_FOUND', resource_type: 'payment_method' });
});

it('4.8 the page takes no form of another site, and no card that it does not offer', async () => {
  await using service = new Service();
  const { url } = await service.data<{ url: string }>('POST', '/payment-method/setup-intent', {
    merchant_id: 'mer_books',
  });
  const post = async (headers: Record<string, string>, body: string): Promise<number> =>
    (await service.sandbox.fetch(new Request(url, { method: 'POST', headers, body }))).status;
  expect(await post({ Origin: 'https://elsewhere.example' }, 'outcome=ok')).toBe(403);
  expect(await post({}, 'outcome=ok')).toBe(403);
  expect(await post({ 'Sec-Fetch-Site': 'same-origin' }, 'outcome=gold')).toBe(422);
  expect(await post({ 'Sec-Fetch-Site': 'same-origin' }, `outcome=ok&x=${'x'.repeat(10_000)}`)).toBe(413);
  expect(await service.data('GET', '/payment-method')).toHaveLength(4);
});

it('4.9 List Payment Methods: an array of PaymentMethod', async () => {
  await using service = new Service();
  const { status, body } = await service.call('GET', '/payment-method');
  expect(status).toBe(200);
  expectFields(body, { data: [PAYMENT_METHOD], messages: [{}] }, 'body');
  const ids = (body.data as { id: string }[]).map(({ id }) => id);
  expect(ids).toEqual(['pm_ok', 'pm_declined', 'pm_insufficient_funds', 'pm_expired']);
});

it('4.10 List Merchants: an array of Merchant, plus total', async () => {
  await using service = new Service();
  const { status, body } = await service.call('GET', '/merchant');
  expect(status).toBe(200);
  expectFields(body, { data: [MERCHANT], messages: [{}], total: 'integer' }, 'body');
  expect(body.total).toBe(3);
});

it.each([
  ['', ['mer_bakery', 'mer_books', 'mer_coffee']],
  ['?size=2', ['mer_bakery', 'mer_books']],
  ['?size=2&page=1', ['mer_coffee']],
  ['?page=2147483647&size=100', []],
  ['?sort=name,desc', ['mer_books', 'mer_coffee', 'mer_bakery']],
  ['?sort=name', ['mer_bakery', 'mer_coffee', 'mer_books']],
  ['?sort=organization_id,asc&sort=id,desc', ['mer_coffee', 'mer_books', 'mer_bakery']],
])('4.10 pages and sorts: /merchant%s', async (query, ids) => {
  await using service = new Service();
  const { body } = await service.call('GET', `/merchant${query}`);
  expect((body.data as { id: string }[]).map(({ id }) => id)).toEqual(ids);
  expect(body.total).toBe(3);
});

it('4.11 Get Category Details: a Category, with its parent or without', async () => {
  await using service = new Service();
  const { status, body } = await service.call('GET', '/merchant/mer_bakery/category/cat_sourdough');
  expect(status).toBe(200);
  expectFields(body.data, CATEGORY);
  const parent = { parent_id: 'cat_bread', parent_external_id: 'bread', depth: 1 };
  expect(body.data).toMatchObject({ id: 'cat_sourdough', merchant_id: 'mer_bakery', ...parent });
  const top = await service.data('GET', '/merchant/mer_bakery/category/cat_bread');
  expectFields(top, CATEGORY);
  expect(top).toMatchObject({ parent_id: null, parent_external_id: null, depth: 0 });
});

it.each(['/product', '/v1/product'])('4.12 Search products: %s, the nearest first', async (path) => {
  await using service = new Service();
  const { status, body } = await service.call('GET', `${path}?latitude=37.7764&longitude=-122.4242&query=BREAD`);
  expect(status).toBe(200);
  expectFields(body, {
    data: [
      {
        id: 'string',
        merchant_id: 'string',
        category_id: 'string',
        name: 'string',
        description: 'string',
        price: 'number',
        currency: 'string',
        available_quantity: 'integer',
        distance: 'number',
        location: { id: 'string', name: 'string', latitude: 'number', longitude: 'number' },
      },
    ],
    messages: [{}],
  });
  expect(body.data).toMatchObject([{ id: 'prod_baguette', location: { id: PIER } }]);
});

it('4.12 finds what lies within the distance, 10 km unless it says another', async () => {
  await using service = new Service();
  const near = async (more: string): Promise<Set<string>> => {
    const found = await service.data<{ location: { id: string } }[]>(
      'GET',
      `/product?latitude=37.7764&longitude=-122.4242${more}`,
    );
    return new Set(found.map(({ location }) => location.id));
  };
  expect([...(await near(''))]).toEqual(['loc_coffee_hayes', 'loc_bakery_mission', PIER]);
  expect([...(await near('&distance=1'))]).toEqual(['loc_coffee_hayes']);
  expect([...(await near('&distance=0'))]).toEqual(['loc_coffee_hayes']);
  expect([...(await near('&distance=20'))]).toEqual([
    'loc_coffee_hayes',
    'loc_bakery_mission',
    PIER,
    'loc_books_oakland',
  ]);
});

it('4.12 measures along the surface of the earth, also across its far side', async () => {
  await using service = new Service();
  const distanceFrom = async (latitude: number, longitude: number): Promise<number | undefined> => {
    const where = `latitude=${latitude}&longitude=${longitude}&distance=20038&query=wedding`;
    return (await service.data<{ distance: number }[]>('GET', `/product?${where}`))[0]?.distance;
  };
  // A degree of latitude is 111.195 km on a sphere of the earth's mean radius; the opposite point is half way round.
  expect(await distanceFrom(36.7993, -122.3977)).toBeCloseTo(111.195, 2);
  expect(await distanceFrom(-37.7993, 57.6023)).toBeCloseTo(20_015.115, 2);
});
