import { z } from 'zod';
import { assumed } from './assumptions.ts';

// The OpenAPI document, and code that is made from it, call a schema by its id.

/** A text that a client sends: SQLite keeps no half of a surrogate pair, and nothing here needs an essay (A9). */
const text = z
  .string()
  .max(1_000)
  .refine((sent) => sent.isWellFormed(), 'must not contain a lone surrogate');
const id = text.min(1);
const dateTime = z.iso.datetime();
/** At least 1 and an int32 (interface 2.3). */
const quantity = z.int32().min(1);

/** An example: the OpenAPI document, its page and their curl lines have it. */
const like = (example: unknown): { examples: unknown[] } => ({ examples: [example] });

export const cartStatus = z.enum(['Active', 'Submitted', 'Cancelled']);
export const fulfillmentMethod = z.enum(['Delivery', 'Pickup', 'Shipping']);

/** Interface 2.1. */
export const message = z
  .object({
    context: z.string(),
    level: z.enum(['Information', 'Warning', 'Error']),
    text: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Message' });

/** Interface 2.3. */
export const cartItem = z
  .object({
    id: z.string(),
    cart_id: z.string(),
    product_id: z.string(),
    product_name: z.string(),
    quantity,
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'CartItem' });

/** Interface 2.2. */
export const cart = z
  .object({
    id: z.string(),
    user_id: z.string(),
    merchant_id: z.string(),
    location_id: z.string(),
    status: cartStatus,
    fulfillment_method: fulfillmentMethod,
    items: z.array(cartItem),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Cart' });

/** Interface 2.5. */
export const address = z
  .object({
    street_number: z.string(),
    street_name: z.string(),
    street_address: z.string(),
    street_address_detail: z.string(),
    city: z.string(),
    region: z.string(),
    postal_code: z.string(),
    country: z.string(),
  })
  .meta({ id: 'Address' });

/** Interface 2.5. */
export const customer = z
  .object({ id: z.string(), name: z.string(), phone: z.string(), email: z.string(), address })
  .meta({ id: 'Customer' });

/** Interface 2.4; how it is reckoned is A11. */
export const order = z
  .object({
    id: z.string(),
    tip: z.number(),
    subtotal: z.number(),
    tax: z.number(),
    total: z.number(),
    customer,
    fees: z.array(z.object({ amount: z.number() })),
    fee_total: z.number(),
    items: z.array(
      z.object({ quantity: z.number(), price: z.number(), product_id: z.string(), product_name: z.string() }),
    ),
    merchant_id: z.string(),
    location_id: z.string(),
    dropoff_instructions: z.string(),
  })
  .meta({ id: 'Order', ...assumed('A11') });

/** Interface 2.6. */
export const merchant = z
  .object({
    id: z.string(),
    organization_id: z.string(),
    name: z.string(),
    capabilities: z.array(z.string()),
    fulfillment_methods: z.array(fulfillmentMethod),
    payment_connected_account_id: z.string(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Merchant' });

/** Interface 2.7; a category at the top has no parent. */
export const category = z
  .object({
    id: z.string(),
    merchant_id: z.string(),
    external_id: z.string(),
    name: z.string(),
    parent_id: z.string().nullable(),
    parent_external_id: z.string().nullable(),
    depth: z.int(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Category' });

/** Interface 2.8. */
export const paymentMethod = z
  .object({
    id: z.string(),
    type: z.string(),
    card: z.object({ brand: z.string(), last4: z.string(), exp_month: z.int(), exp_year: z.int() }),
  })
  .meta({ id: 'PaymentMethod' });

/** Interface 4.8. */
export const setupIntent = z.object({ url: z.url() }).meta({ id: 'SetupIntent', ...assumed('A11') });

/** What a search finds (A12): a product at one location. */
export const foundProduct = z
  .object({
    id: z.string(),
    merchant_id: z.string(),
    category_id: z.string(),
    name: z.string(),
    description: z.string(),
    price: z.number(),
    currency: z.string(),
    available_quantity: z.int(),
    distance: z.number().meta({ description: 'kilometres' }),
    location: z.object({ id: z.string(), name: z.string(), latitude: z.number(), longitude: z.number() }),
  })
  .meta({ id: 'FoundProduct', ...assumed('A12') });

export type Message = z.infer<typeof message>;
export type CartStatus = z.infer<typeof cartStatus>;
export type FulfillmentMethod = z.infer<typeof fulfillmentMethod>;
export type Cart = z.infer<typeof cart>;
export type CartItem = z.infer<typeof cartItem>;
export type Order = z.infer<typeof order>;
export type Merchant = z.infer<typeof merchant>;
export type Category = z.infer<typeof category>;
export type PaymentMethod = z.infer<typeof paymentMethod>;
export type FoundProduct = z.infer<typeof foundProduct>;

/** Interface 4.1 and A1. */
export const newCart = z
  .object({
    user_id: id.meta(like('usr_1')),
    location_id: id.meta(like('loc_bakery_pier')),
    status: cartStatus.optional().meta({ description: 'must be Active if present', ...assumed('A1') }),
    fulfillment_method: fulfillmentMethod.meta(like('Pickup')),
  })
  .meta({ id: 'NewCart', ...assumed('A1') });

/** Interface 4.3. */
export const cartChange = z
  .object({ status: cartStatus.meta({ ...like('Submitted'), ...assumed('A2') }) })
  .meta({ id: 'CartChange' });

/** Interface 4.4. */
export const newCartItem = z
  .object({
    product_id: id.meta(like('prod_country_loaf')),
    product_name: id.meta(like('Country loaf')),
    quantity: quantity.meta(like(2)),
  })
  .meta({ id: 'NewCartItem' });

/** Interface 4.5. */
export const cartItemChange = z.object({ quantity: quantity.meta(like(3)) }).meta({ id: 'CartItemChange' });

/** Interface 4.6; no field of customer and address is required (A3). */
export const newOrder = z
  .object({
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
  })
  .meta({ id: 'NewOrder' });

/** Interface 4.7. */
export const submission = z
  .object({ payment_method_id: id.meta({ ...like('pm_ok'), ...assumed('A11') }) })
  .meta({ id: 'Submission' });

/** Interface 4.8. */
export const newSetupIntent = z.object({ merchant_id: id.meta(like('mer_bakery')) }).meta({ id: 'NewSetupIntent' });

/** A11. */
export const paymentMethodQuery = z.object({
  merchant_id: id
    .optional()
    .meta({ description: 'returns only the methods that this merchant accepts', ...assumed('A11') }),
});

/** Interface 4.10 and A7; what may be sorted by is looked at with the merchants. */
export const merchantQuery = z.object({
  page: z
    .int32()
    .min(0)
    .optional()
    .meta({ description: 'the number of the page, from 0', ...assumed('A7') }),
  size: z
    .int32()
    .min(1)
    .optional()
    .meta({
      description: 'the number of items on a page',
      ...assumed('A7', { default: 'pageSize', maximum: 'maxPageSize' }),
    }),
  sort: z
    .array(
      z
        .string()
        .regex(/^\w+(?:,(?:asc|desc))?$/, 'must be property or property,(asc|desc)')
        .meta(like('name,desc')),
    )
    .max(10)
    .optional()
    .meta({ description: 'property or property,(asc|desc); can be repeated', ...assumed('A7') }),
});

/** Interface 4.12 and A12. */
export const productQuery = z.object({
  latitude: z.number().min(-90).max(90).meta(like(37.77)),
  longitude: z
    .number()
    .min(-180)
    .max(180)
    .meta({ ...like(-122.42), ...assumed('A12') }),
  query: text
    .optional()
    .meta({ description: 'a text to find in the name or the description', ...like('loaf'), ...assumed('A12') }),
  // Nowhere on earth is farther.
  distance: z
    .number()
    .min(0)
    .max(20_038)
    .optional()
    .meta({ description: 'kilometres', ...assumed('A12', { default: 'searchDistanceKm' }) }),
});

/** Amounts are whole cents inside and decimal USD outside (A11). */
export type Cents = number;

/** Half up: 1.005 USD is 101 cents, although 1.005 is a little less than that in binary. */
export function centsOf(usd: number): Cents {
  const text = String(usd);
  // Beyond this a number is written with an exponent; and so little is nothing.
  return text.includes('e') ? Math.round(usd * 100) : Math.round(Number(`${text}e2`));
}

/** What stands in bodies. */
export function usdOf(cents: Cents): number {
  return cents / 100;
}

/** A part of an amount, such as its tax, half up. A rate counts to its sixth digit. */
export function partOf(cents: Cents, rate: number): Cents {
  const millionths = Math.round(rate * 1e6);
  return Number((BigInt(cents) * BigInt(millionths) + 500_000n) / 1_000_000n);
}

/** A time as bodies have it: ISO 8601 in UTC, to the millisecond. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The states of an order (A3); its events have them, the Order body has not (interface 2.4). */
export const ORDER_STATUSES = ['created', 'confirmed', 'ready', 'completed', 'cancelled', 'failed'] as const;

/** The status of an order. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Where an order may move to; what the clock does comes first. */
const MOVES: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['confirmed', 'cancelled', 'failed'],
  confirmed: ['ready', 'cancelled', 'failed'],
  ready: ['completed', 'cancelled', 'failed'],
  completed: [],
  cancelled: [],
  failed: [],
};

/** Where an order may be moved to by hand. */
export function legalMoves(from: OrderStatus): readonly OrderStatus[] {
  return MOVES[from];
}

/** Where the clock moves an order; `null` where it stays. */
export function nextStatus(from: OrderStatus): OrderStatus | null {
  return MOVES[from][0] ?? null;
}
