import type { ExampleRequest } from '../openapi/page/curl-line.ts';
import type { Permission } from '../service-operations.ts';

/** Of the shop that a sandbox begins with. */
const AT_THE_PIER = { location_id: 'loc_bakery_pier', fulfillment_method: 'Pickup' };

/** A request for each permission that a key may have; those that change nothing come first. */
const EXAMPLES: Readonly<Record<Permission, ExampleRequest>> = {
  'merchants:read': getting('/merchant'),
  'products:read': getting('/product', '?latitude=37.77&longitude=-122.42'),
  'payment_methods:read': getting('/payment-method'),
  'carts:read': getting('/cart/{CART}'),
  'orders:write': posting('/order', {
    customer: { name: 'Ada' },
    items: [{ product_id: 'prod_country_loaf', quantity: 1 }],
    ...AT_THE_PIER,
  }),
  'carts:write': posting('/cart', { user_id: 'user_ada', ...AT_THE_PIER }),
  'payment_methods:write': posting('/payment-method/setup-intent', { merchant_id: 'mer_bakery' }),
};

/** How an order is placed. */
export const PLACE_ORDER = EXAMPLES['orders:write'];

/** What a key with these permissions may ask; `null` with none. */
export function exampleFor(permissions: readonly Permission[]): ExampleRequest | null {
  const first = Object.keys(EXAMPLES).find((permission) => permissions.some((granted) => granted === permission));
  return first === undefined ? null : EXAMPLES[first as Permission];
}

function getting(path: string, search = ''): ExampleRequest {
  return { method: 'GET', path, search, body: undefined };
}

function posting(path: string, body: object): ExampleRequest {
  return { method: 'POST', path, search: '', body };
}
