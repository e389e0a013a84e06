import * as z from 'zod/mini';
import type { EventType } from './event-types.ts';
import type { HandledType, OwnData, OwnType, OwnWireData, WithOwn } from './own-events.ts';

const text = z.nullish(z.string());
const number = z.nullish(z.number());

/** Every field may be absent or null, because the list in interface 6.2 is not complete. */
export const orderItem = z.object({
  product_id: text,
  quantity: number,
  price: number,
});

const orderData = z.object({
  /** `order`; any other value is an issue */
  object: text,
  id: text,
  status: text,
  merchant_id: text,
  user_id: text,
  /** in `currency` */
  total: number,
  currency: text,
  items: z.nullish(z.array(orderItem)),
  estimated_ready_time: text,
});

const orderConfirmedData = z.extend(orderData, {
  fulfillment_method: text,
  special_instructions: text,
});

const cartData = z.object({
  /** `cart`; any other value is an issue */
  object: text,
  id: text,
  user_id: text,
  merchant_id: text,
  last_activity: text,
  total_value: number,
  item_count: z.nullish(z.int()),
});

const inventoryData = z.object({
  /** `inventory`; any other value is an issue */
  object: text,
  product_id: text,
  merchant_id: text,
  location_id: text,
  previous_quantity: number,
  current_quantity: number,
});

/** Interface 6.2. The schemas do not change the parsed JSON, so unknown fields and numbers survive. */
function envelope<const Type extends string, Data extends z.ZodMiniType>(type: Type, data: Data) {
  return z.object({
    id: z.string(),
    type: z.literal(type),
    created: z.string(),
    data,
  });
}

export const eventSchemas = {
  'order.created': envelope('order.created', orderData),
  'order.confirmed': envelope('order.confirmed', orderConfirmedData),
  'order.ready': envelope('order.ready', orderData),
  'order.completed': envelope('order.completed', orderData),
  'order.cancelled': envelope('order.cancelled', orderData),
  'order.failed': envelope('order.failed', orderData),
  'inventory.updated': envelope('inventory.updated', inventoryData),
  'inventory.low_stock': envelope('inventory.low_stock', inventoryData),
  'inventory.out_of_stock': envelope('inventory.out_of_stock', inventoryData),
  'cart.abandoned': envelope('cart.abandoned', cartData),
  'cart.expires_soon': envelope('cart.expires_soon', cartData),
} as const satisfies { readonly [Type in EventType]: unknown };

export const unknownEventSchema = z.object({
  id: z.string(),
  type: z.string(),
  created: z.string(),
  data: z.record(z.string(), z.unknown()),
});

type ParsedEventOf<T extends EventType> = z.infer<(typeof eventSchemas)[T]>;

/** An event of any of the eleven types; narrow it by `type`. Your own fields are not in it: hookbox checks them later. */
export type WebhookEvent = { [T in EventType]: ParsedEventOf<T> }[EventType];

/** An event of one type as its handler receives it, such as `EventOf<'order.ready'>`, with your own fields. */
export type EventOf<T extends HandledType> = T extends OwnType
  ? { id: string; type: T; created: string; data: DataOf<T, OwnData<T>> }
  : T extends EventType
    ? ParsedEventOf<T>
    : never;

/** The type before the application's schema changes its data. */
export type SentEventOf<T extends HandledType> = T extends OwnType
  ? { id: string; type: T; created: string; data: DataOf<T, OwnWireData<T>> }
  : EventOf<T>;

type DataOf<T extends string, Own> = T extends EventType ? WithOwn<ParsedEventOf<T>['data'], Own> : Own;

/** The event that a `'*'` handler receives. {@link isKnown} narrows it. */
export type HandledEvent = { [T in HandledType]: EventOf<T> }[HandledType] | UnknownEvent;

/** An authentic event of a type that this version of hookbox does not know. */
export type UnknownEvent = z.infer<typeof unknownEventSchema>;

/** An authentic event that does not fit the schema; its `type` is `null`. The inbox keeps its raw bytes. */
export interface InvalidEvent {
  readonly id: string;
  readonly type: null;
  readonly issues: readonly Issue[];
}

/** One place where an event does not fit the schema. An issue never contains the value at that place. */
export interface Issue {
  /** The path in the envelope, for example `data.items.0.price`; empty for the envelope itself. */
  readonly path: string;
  /** What the schema expects at this path. */
  readonly message: string;
}
