import { isKnown, type UnknownEvent, type WebhookEvent } from './event.ts';

/**
 * Names what an event is about. Events with the same name are handled one at a time and in order; `null` means that an
 * event stands alone.
 */
export type EntityOf = (event: WebhookEvent | UnknownEvent) => string | null;

/**
 * The entity of an event: an order or a cart by its merchant (where given) and id; a product by merchant, product and
 * location. `null` where the id is missing, and for types that hookbox does not know.
 *
 * @example
 * ```ts
 * import { entityOf } from 'hookbox';
 *
 * const data = { merchant_id: 'mer_7', id: 'ord_42' };
 * entityOf({ id: 'evt_1', type: 'order.ready', created: '2026-01-01T00:00:00Z', data }); // 'order:mer_7:ord_42'
 * ```
 */
export const entityOf: EntityOf = (event) => {
  if (!isKnown(event)) return null;
  switch (event.type) {
    case 'inventory.updated':
    case 'inventory.low_stock':
    case 'inventory.out_of_stock':
      return event.data.product_id
        ? name('inventory', event.data.merchant_id, event.data.product_id, event.data.location_id)
        : null;
    case 'cart.abandoned':
    case 'cart.expires_soon':
      return event.data.id ? name('cart', event.data.merchant_id, event.data.id) : null;
    default:
      return event.data.id ? name('order', event.data.merchant_id, event.data.id) : null;
  }
};

/** Parts are escaped, so that no two entities can share a name by having a colon in an id. */
function name(kind: string, ...parts: (string | null | undefined)[]): string {
  let joined = kind;
  for (const part of parts) joined += `:${escape(part ?? '')}`;
  return joined;
}

function escape(part: string): string {
  return /[%:]/.test(part) ? part.replaceAll('%', '%25').replaceAll(':', '%3A') : part;
}
