import { definedIn, assertOptions, whole, positive, type OptionRule, type OptionRules } from '../option-rules.ts';
import { ConfigurationError } from '../errors.ts';

/** The sandbox's assumptions about gaps in the service's interface, numbered as in docs/sandbox.md. */
export interface Assumptions {
  /** A3: the time from the submission of an order to `order.confirmed`, in milliseconds. */
  readonly confirmedAfterMs: number;
  /** A3: the time from `order.confirmed` to `order.ready`, in milliseconds. It sets `estimated_ready_time`. */
  readonly readyAfterMs: number;
  /** A3: the time from `order.ready` to `order.completed`, in milliseconds. */
  readonly completedAfterMs: number;
  /** A6: the number of units at which `inventory.low_stock` is sent. */
  readonly lowStockAt: number;
  /** A6: the idle time of an active cart before `cart.abandoned`, in milliseconds. */
  readonly abandonedAfterMs: number;
  /** A6: the idle time before `cart.expires_soon`, in milliseconds. */
  readonly expiresSoonAfterMs: number;
  /** A6: the idle time before a cart is `Cancelled`, in milliseconds. */
  readonly expiredAfterMs: number;
  /** A7: the number of merchants on a page, if the request has no `size`. */
  readonly pageSize: number;
  /** A7: the maximum number of merchants on a page. */
  readonly maxPageSize: number;
  /** A9: the largest request body, in bytes. */
  readonly maxBodyBytes: number;
  /** A9: the maximum number of lines in a cart or an order. */
  readonly maxItems: number;
  /** A10: requests per minute for each key, in addition to the plan's limits; 0 for no limit. */
  readonly perMinute: number;
  /** A10: requests per hour for each key; 0 for no limit. */
  readonly perHour: number;
  /** A10: requests per UTC day for each key; 0 for no limit. */
  readonly perDay: number;
  /** A10: whether `reset` in a 429 body is ISO 8601 instead of a Unix timestamp. */
  readonly resetAsIso: boolean;
  /** A11: the tax on the subtotal; 0.08 is 8 %. */
  readonly taxRate: number;
  /** A11: the delivery fee of an order, in USD. */
  readonly deliveryFee: number;
  /** A12: the radius of a search without `distance`, in kilometres. */
  readonly searchDistanceKm: number;
  /** A12: the maximum number of products in a search result. */
  readonly maxProducts: number;
  /** A12: whether plain HTTP is accepted from other machines and under any host name. */
  readonly plainHttpAnywhere: boolean;
}

export type AssumptionId = `A${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const DEFAULT_ASSUMPTIONS: Assumptions = Object.freeze({
  confirmedAfterMs: MINUTE,
  readyAfterMs: 20 * MINUTE,
  completedAfterMs: 10 * MINUTE,
  lowStockAt: 5,
  abandonedAfterMs: HOUR,
  expiresSoonAfterMs: 23 * HOUR,
  expiredAfterMs: 24 * HOUR,
  pageSize: 20,
  maxPageSize: 100,
  maxBodyBytes: 1024 * 1024,
  maxItems: 100,
  perMinute: 0,
  perHour: 0,
  perDay: 0,
  resetAsIso: false,
  taxRate: 0.08,
  deliveryFee: 4.99,
  searchDistanceKm: 10,
  maxProducts: 100,
  plainHttpAnywhere: false,
});

interface Assumption {
  readonly about: string;
  readonly decision: string;
  readonly values: readonly (keyof Assumptions)[];
}

export const ASSUMPTIONS: Readonly<Record<AssumptionId, Assumption>> = {
  A1: {
    about: 'new carts and items',
    decision:
      'user_id, location_id and fulfillment_method are required; status, if present, must be Active. The sandbox ' +
      'returns 201 and the new id. Each added item becomes a new line. The location must sell the product. If the ' +
      'quantity exceeds the stock, the response contains a message of level Warning.',
    values: [],
  },
  A2: {
    about: 'cart moves',
    decision:
      'An Active cart can become Cancelled or, if it has an item, Submitted. Setting the same status again returns ' +
      'true; any other change returns 409. Only Active carts can change. No event is sent.',
    values: [],
  },
  A3: {
    about: 'order moves',
    decision:
      'The status goes from created to confirmed, then ready, then completed. Until an order is completed, it can be ' +
      'cancelled or fail; if it was submitted, the sandbox restocks its items and refunds its charge. The Order body ' +
      'has no status. No customer or address field is required.',
    values: ['confirmedAfterMs', 'readyAfterMs', 'completedAfterMs'],
  },
  A4: {
    about: 'Submit Order',
    decision:
      'Submit Order charges the payment method, takes the items from stock and returns 200. A second submission returns 409. A ' +
      'declined payment returns 422 PAYMENT_FAILED, and the order can be submitted again. If the quantity exceeds the ' +
      'stock, Create Order and Submit Order both return 422.',
    values: [],
  },
  A5: {
    about: 'events',
    decision:
      'Create Order causes order.created; Submit Order causes inventory.updated for each product. The clock, or a ' +
      'change by hand, causes order.confirmed, order.ready (at estimated_ready_time) and order.completed. A change by hand can also cause order.cancelled or order.failed; a fault can cause order.failed. Other stock changes cause ' +
      'inventory.updated.',
    values: [],
  },
  A6: {
    about: 'thresholds',
    decision:
      'inventory.low_stock is sent once when the stock falls to the threshold, and inventory.out_of_stock once when ' +
      'it falls to 0. If the items of a cart do not change, the sandbox sends cart.abandoned, then cart.expires_soon, ' +
      'and finally cancels the cart.',
    values: ['lowStockAt', 'abandonedAfterMs', 'expiresSoonAfterMs', 'expiredAfterMs'],
  },
  A7: {
    about: 'List Merchants',
    decision:
      'Pages are numbered from 0. sort can be repeated; each value is property or property,(asc|desc). total counts ' +
      'the items on all pages. An unknown property returns 422.',
    values: ['pageSize', 'maxPageSize'],
  },
  A8: {
    about: 'permissions',
    decision: 'Each operation requires the permission for its resource; categories require merchants:read.',
    values: [],
  },
  A9: {
    about: 'checks and sizes',
    decision:
      'Checks run in this order: key, limit, permission, fault, syntax, validation, existence, state. A missing or unparsable value causes 400 MISSING_REQUIRED_FIELD, an invalid value 422 with details, and an unknown path 404. Bodies of 5xx responses have no code. Content-Type is ignored. A string has at most 1,000 characters.',
    values: ['maxBodyBytes', 'maxItems'],
  },
  A10: {
    about: 'limits',
    decision:
      'Windows are fixed; a request passes only if every window allows it. Windows count requests per key, except ' +
      'the monthly window: it counts per account, from the day of sign-up. Headers describe the window that ' +
      'rejected the request, or else the one with the fewest requests left. Requests that are rejected or get a 401 ' +
      'do not count.',
    values: ['perMinute', 'perHour', 'perDay', 'resetAsIso'],
  },
  A11: {
    about: 'money and payment',
    decision:
      'Amounts are decimal USD, rounded half up to cents. Payment methods are pm_ok, pm_declined, ' +
      'pm_insufficient_funds and pm_expired. Creating a setup intent returns 201 and the URL of a local page for adding a payment method. merchant_id filters the list of payment methods.',
    values: ['taxRate', 'deliveryFee'],
  },
  A12: {
    about: 'search, plain HTTP',
    decision:
      'latitude and longitude are required; query and distance (kilometres) are optional. The nearest results come ' +
      'first. Requests over plain HTTP from another machine get a 403.',
    values: ['searchDistanceKm', 'maxProducts', 'plainHttpAnywhere'],
  },
};

export type AssumedKeywords = Readonly<Partial<Record<'default' | 'maximum' | 'maxItems', keyof Assumptions>>>;

/** For `meta` of zod: the OpenAPI document names the assumption, and takes these keywords from it. */
export function assumed(
  assumption: AssumptionId,
  assumedKeywords: AssumedKeywords = {},
): { readonly assumption: AssumptionId; readonly assumedKeywords: AssumedKeywords } {
  return { assumption, assumedKeywords };
}

export function assumptionsWith(changes: Partial<Assumptions> = {}): Assumptions {
  assertOptions('assumptions', changes, RULES);
  const all = { ...DEFAULT_ASSUMPTIONS, ...definedIn(changes) };
  if (all.abandonedAfterMs > all.expiresSoonAfterMs || all.expiresSoonAfterMs > all.expiredAfterMs) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      'assumptions: the cart times must be in ascending order: abandonedAfterMs, expiresSoonAfterMs, expiredAfterMs.',
    );
  }
  if (all.pageSize > all.maxPageSize) {
    throw new ConfigurationError('INVALID_OPTION', 'assumptions: pageSize must be at most maxPageSize.');
  }
  return all;
}

const MOST = 1e12;
const NOT_NEGATIVE: OptionRule = {
  expected: `a number from 0 to ${MOST}`,
  accepts: (value) => typeof value === 'number' && value >= 0 && value <= MOST,
};
const SPECIAL: Readonly<Partial<Record<keyof Assumptions, OptionRule>>> = {
  ...Object.fromEntries(
    ['pageSize', 'maxPageSize', 'maxBodyBytes', 'maxItems', 'maxProducts'].map((name) => [name, whole(1, MOST)]),
  ),
  searchDistanceKm: positive(MOST),
  taxRate: NOT_NEGATIVE,
  deliveryFee: NOT_NEGATIVE,
};
const RULES: OptionRules = Object.fromEntries(
  Object.entries(DEFAULT_ASSUMPTIONS).map(([name, value]) => [
    name,
    typeof value === 'boolean' ? 'boolean' : (SPECIAL[name as keyof Assumptions] ?? whole(0, MOST)),
  ]),
);
