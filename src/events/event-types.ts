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

/** Tells whether a name is one of the eleven. */
export function isEventType(type: string): type is EventType {
  return known.has(type);
}
