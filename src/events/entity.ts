import { nameOf } from '../errors.ts';
import type { UnknownEvent, WebhookEvent } from './webhook-event.ts';
import { isOfTheEleven } from './known-event.ts';

/**
 * Names the entity of an event. Events of the same entity are handled one at a time and in order. An event without an
 * entity (`null`) is independent of all others. An invalid name counts as `null`: an empty string, more than 1,000
 * characters, a lone surrogate, a promise, or `undefined`. If the function throws, hookbox logs the error and stores the
 * event without an entity.
 */
export type EntityOf = (event: WebhookEvent | UnknownEvent) => string | null;

/**
 * Returns the name of an event's entity. For an order or a cart, the name contains the merchant (if the event names
 * one) and the id of the order or cart. For a product, the name contains the merchant, the product and the location.
 * Returns `null` if the id of the order, cart or product is missing, or if the type of the event is unknown.
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
  if (!isOfTheEleven(event)) return null;
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

/** Several indexes contain names, and ids are always shorter than this. */
const MAX_CHARACTERS = 1_000;

/** An event without an entity is better than a lost event, or than all events in one queue. */
export function namedEntity(
  rule: EntityOf,
  event: Parameters<EntityOf>[0],
  onUseless: (why: string) => void = () => {},
): string | null {
  let named: unknown;
  try {
    named = rule(event);
    if (named === null) return null;
    // It may reject.
    if (isThenable(named)) Promise.resolve(named).catch(() => {});
  } catch (failure) {
    onUseless(`it threw ${nameOf(failure)}`);
    return null;
  }
  if (isName(named)) return named;
  onUseless(`it returned ${described(named)}`);
  return null;
}

function isName(named: unknown): named is string {
  // SQLite cannot store a lone surrogate, so two such names would become equal.
  return typeof named === 'string' && named !== '' && named.length <= MAX_CHARACTERS && named.isWellFormed();
}

function isThenable(named: unknown): boolean {
  return typeof named === 'object' && named !== null && 'then' in named;
}

function described(named: unknown): string {
  if (isThenable(named)) return 'a promise; it must not be async';
  if (typeof named !== 'string') return named === undefined ? 'undefined' : `${article(typeof named)} ${typeof named}`;
  if (named === '') return 'an empty string';
  return named.isWellFormed() ? `more than ${MAX_CHARACTERS} characters` : 'a lone surrogate';
}

function article(type: string): string {
  return type === 'object' ? 'an' : 'a';
}

/** Escaped, so that a colon in an id cannot make two entities equal. */
function name(kind: string, ...parts: (string | null | undefined)[]): string {
  let joined = kind;
  for (const part of parts) joined += `:${escape(part ?? '')}`;
  return joined;
}

function escape(part: string): string {
  return /[%:]/.test(part) ? part.replaceAll('%', '%25').replaceAll(':', '%3A') : part;
}
