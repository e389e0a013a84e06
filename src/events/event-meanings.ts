import type { EventType } from './event-types.ts';

/** What each type of event says, as interface 6.1 has it. */
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
