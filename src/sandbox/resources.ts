import { z } from 'zod';
import { assumed } from './assumptions.ts';

/** The OpenAPI document calls a schema by its id. */
function named<Shape extends z.ZodRawShape>(id: string, shape: Shape, meta: object = {}) {
  return z.object(shape).meta({ id, ...meta });
}

const string = z.string();
/** A text that a client sends. SQLite cannot store half of a surrogate pair (A9). */
const text = string.max(1_000).refine((sent) => sent.isWellFormed(), 'must not contain a lone surrogate');
const id = text.min(1);
const dateTime = z.iso.datetime();
/** At least 1 and an int32 (interface 2.3). */
const quantity = z.int32().min(1);

/** For the OpenAPI document, its page and their curl lines. */
const like = (example: unknown): { examples: unknown[] } => ({ examples: [example] });

const cartStatus = z.enum(['Active', 'Submitted', 'Cancelled']);
const fulfillmentMethod = z.enum(['Delivery', 'Pickup', 'Shipping']);

/** Interface 2.1. */
export const message = named('Message', {
  context: string,
  level: z.enum(['Information', 'Warning', 'Error']),
  text: string,
  data: z.record(string, z.unknown()),
});

/** Interface 2.3. */
const cartItem = named('CartItem', {
  id: string,
  cart_id: string,
  product_id: string,
  product_name: string,
  quantity,
  created_at: dateTime,
  updated_at: dateTime,
});

/** Interface 2.2. */
export const cart = named('Cart', {
  id: string,
  user_id: string,
  merchant_id: string,
  location_id: string,
  status: cartStatus,
  fulfillment_method: fulfillmentMethod,
  items: z.array(cartItem),
  created_at: dateTime,
  updated_at: dateTime,
});

/** Interface 2.5. */
const address = named('Address', {
  street_number: string,
  street_name: string,
  street_address: string,
  street_address_detail: string,
  city: string,
  region: string,
  postal_code: string,
  country: string,
});

/** Interface 2.5. */
const customer = named('Customer', { id: string, name: string, phone: string, email: string, address });

/** Interface 2.4; A11 says how amounts are calculated. */
export const order = named(
  'Order',
  {
    id: string,
    tip: z.number(),
    subtotal: z.number(),
    tax: z.number(),
    total: z.number(),
    customer,
    fees: z.array(z.object({ amount: z.number() })),
    fee_total: z.number(),
    items: z.array(z.object({ quantity: z.number(), price: z.number(), product_id: string, product_name: string })),
    merchant_id: string,
    location_id: string,
    dropoff_instructions: string,
  },
  assumed('A11'),
);

/** Interface 2.6. */
export const merchant = named('Merchant', {
  id: string,
  organization_id: string,
  name: string,
  capabilities: z.array(string),
  fulfillment_methods: z.array(fulfillmentMethod),
  payment_connected_account_id: string,
  created_at: dateTime,
  updated_at: dateTime,
});

/** Interface 2.7; a top category has no parent. */
export const category = named('Category', {
  id: string,
  merchant_id: string,
  external_id: string,
  name: string,
  parent_id: string.nullable(),
  parent_external_id: string.nullable(),
  depth: z.int(),
  created_at: dateTime,
  updated_at: dateTime,
});

/** Interface 2.8. */
export const paymentMethod = named('PaymentMethod', {
  id: string,
  type: string,
  card: z.object({ brand: string, last4: string, exp_month: z.int(), exp_year: z.int() }),
});

/** Interface 4.8. */
export const setupIntent = named('SetupIntent', { url: z.url() }, assumed('A11'));

/** A product at one location, as a search returns it (A12). */
export const foundProduct = named(
  'FoundProduct',
  {
    id: string,
    merchant_id: string,
    category_id: string,
    name: string,
    description: string,
    price: z.number(),
    currency: string,
    available_quantity: z.int(),
    distance: z.number().meta({ description: 'kilometres' }),
    location: z.object({ id: string, name: string, latitude: z.number(), longitude: z.number() }),
  },
  assumed('A12'),
);

export type Message = z.infer<typeof message>;
export type CartStatus = z.infer<typeof cartStatus>;
export type FulfillmentMethod = z.infer<typeof fulfillmentMethod>;
export type Cart = z.infer<typeof cart>;
export type CartItem = z.infer<typeof cartItem>;
export type Order = z.infer<typeof order>;
export type Merchant = z.infer<typeof merchant>;

/** Interface 4.1 and A1. */
export const newCart = named(
  'NewCart',
  {
    user_id: id.meta(like('usr_1')),
    location_id: id.meta(like('loc_bakery_pier')),
    status: cartStatus.optional().meta({ description: 'must be Active if present', ...assumed('A1') }),
    fulfillment_method: fulfillmentMethod.meta(like('Pickup')),
  },
  assumed('A1'),
);

/** Interface 4.3. */
export const cartChange = named('CartChange', { status: cartStatus.meta({ ...like('Submitted'), ...assumed('A2') }) });

/** Interface 4.4. */
export const newCartItem = named('NewCartItem', {
  product_id: id.meta(like('prod_country_loaf')),
  product_name: id.meta(like('Country loaf')),
  quantity: quantity.meta(like(2)),
});

/** Interface 4.5. */
export const cartItemChange = named('CartItemChange', { quantity: quantity.meta(like(3)) });

/** Interface 4.6; no field of customer and address is required (A3). */
export const newOrder = named('NewOrder', {
  customer: z
    .object({
      id: text.optional(),
      name: text.optional().meta(like('Ada Byron')),
      phone_number: text.optional().meta(like('+1 555 0100')),
      email: text.optional().meta(like('ada@example.com')),
      address: z
        .object({
          city: text.optional().meta(like('San Francisco')),
          region: text.optional(),
          country: text.optional(),
          street_address: text.optional().meta(like('12 Main Street')),
          postal_code: text.optional(),
          street_address_detail: text.optional(),
        })
        .optional(),
    })
    .meta(assumed('A3')),
  items: z
    .array(z.object({ product_id: id.meta(like('prod_country_loaf')), quantity: quantity.meta(like(2)) }))
    .min(1)
    .meta(assumed('A9', { maxItems: 'maxItems' })),
  location_id: id.meta(like('loc_bakery_pier')),
  fulfillment_method: fulfillmentMethod.meta(like('Delivery')),
  tip: z.number().min(0).max(1_000_000).optional().meta(like(2.5)),
  dropoff_instructions: text.optional(),
});

/** Interface 4.7. */
export const submission = named('Submission', { payment_method_id: id.meta({ ...like('pm_ok'), ...assumed('A11') }) });

/** Interface 4.8. */
export const newSetupIntent = named('NewSetupIntent', { merchant_id: id.meta(like('mer_bakery')) });

const methodsOf = 'returns only the methods that this merchant accepts';
/** A11. */
export const paymentMethodQuery = z.object({
  merchant_id: id.optional().meta({ description: methodsOf, ...assumed('A11') }),
});

const natural = z.int32().min(0);
const pageSize = { description: 'the number of items on a page' };
const sortKey = string
  .regex(/^\w+(?:,(?:asc|desc))?$/, 'must be property or property,(asc|desc)')
  .meta(like('name,desc'));
const sortRule = { description: 'property or property,(asc|desc); can be repeated' };
/** Interface 4.10 and A7. */
export const merchantQuery = z.object({
  page: natural.optional().meta({ description: 'the number of the page, from 0', ...assumed('A7') }),
  size: quantity.optional().meta({ ...pageSize, ...assumed('A7', { default: 'pageSize', maximum: 'maxPageSize' }) }),
  sort: z
    .array(sortKey)
    .max(10)
    .optional()
    .meta({ ...sortRule, ...assumed('A7') }),
});

const searched = { description: 'a text to find in the name or the description' };
const longitude = z.number().min(-180).max(180);
const kilometres = z.number().min(0).max(20_038);
/** Interface 4.12 and A12. */
export const productQuery = z.object({
  latitude: z.number().min(-90).max(90).meta(like(37.77)),
  longitude: longitude.meta({ ...like(-122.42), ...assumed('A12') }),
  query: text.optional().meta({ ...searched, ...like('loaf'), ...assumed('A12') }),
  distance: kilometres
    .optional()
    .meta({ description: 'kilometres', ...assumed('A12', { default: 'searchDistanceKm' }) }),
});

export type Stored<T> = Omit<T, 'created_at' | 'updated_at'> & {
  readonly created_ms: number;
  readonly updated_ms: number;
};

export function withTimes<Row extends { readonly created_ms: number; readonly updated_ms: number }>(row: Row) {
  const { created_ms, updated_ms, ...rest } = row;
  return { ...rest, created_at: timeText(created_ms), updated_at: timeText(updated_ms) };
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Amounts are whole cents inside and decimal USD in bodies (A11). */
export type Cents = number;

/** Half up: 1.005 USD is 101 cents, although 1.005 is a little less than that in binary. */
export function centsOf(usd: number): Cents {
  const text = String(usd);
  // A number with an exponent is below a cent or too large for a price.
  return text.includes('e') ? Math.round(usd * 100) : Math.round(Number(`${text}e2`));
}

export function usdOf(cents: Cents): number {
  return cents / 100;
}

/** A part of an amount, such as its tax, half up. A rate counts to its sixth digit. */
export function partOf(cents: Cents, rate: number): Cents {
  const millionths = Math.round(rate * 1e6);
  return Number((BigInt(cents) * BigInt(millionths) + 500_000n) / 1_000_000n);
}

/** The statuses that may follow (A3); the clock sets the first. Events have a status, the Order body does not. */
const NEXT_STATUSES = {
  created: ['confirmed', 'cancelled', 'failed'],
  confirmed: ['ready', 'cancelled', 'failed'],
  ready: ['completed', 'cancelled', 'failed'],
  completed: [],
  cancelled: [],
  failed: [],
} as const;

/** The status of an order. */
export type OrderStatus = keyof typeof NEXT_STATUSES;

export const ORDER_STATUSES = Object.keys(NEXT_STATUSES) as readonly OrderStatus[];

/** The statuses that can be set by hand. */
export function legalMoves(from: OrderStatus): readonly OrderStatus[] {
  return NEXT_STATUSES[from];
}

export function nextStatus(from: OrderStatus): OrderStatus | null {
  return NEXT_STATUSES[from][0] ?? null;
}
