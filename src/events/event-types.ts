const types = [
  'order.created',
  'order.confirmed',
  'order.ready',
  'order.completed',
  'order.cancelled',
  'order.failed',
  'inventory.updated',
  'inventory.low_stock',
  'inventory.out_of_stock',
  'cart.abandoned',
  'cart.expires_soon',
] as const;

/** One of the eleven event types (section 6.1 of the service's interface). */
export type EventType = (typeof types)[number];

/**
 * The eleven event types, in the order of section 6.1 of the service's interface.
 *
 * @example
 * ```ts
 * import { eventTypes } from 'hookbox';
 *
 * console.log(eventTypes.includes('order.created')); // true
 * ```
 */
export const eventTypes: readonly EventType[] = Object.freeze(types);

const known: ReadonlySet<string> = new Set(types);

export function isEventType(type: string): type is EventType {
  return known.has(type);
}

/** Interface 6.1. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = {
  'order.created': 'a new order was placed',
  'order.confirmed': 'the merchant confirmed the order',
  'order.ready': 'the order is ready for pickup or delivery',
  'order.completed': 'the order was fulfilled',
  'order.cancelled': 'the order was cancelled',
  'order.failed': 'processing the order failed',
  'inventory.updated': 'the stock of a product changed',
  'inventory.low_stock': 'the stock of a product fell below a threshold',
  'inventory.out_of_stock': 'a product is unavailable',
  'cart.abandoned': 'a cart was inactive for a set period',
  'cart.expires_soon': 'a cart is about to expire',
};
