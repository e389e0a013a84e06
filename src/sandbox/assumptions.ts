import { ConfigurationError } from '../errors.ts';

/** The numbers and switches behind the assumptions; each may be set in `createSandbox({ assumptions })`. */
export interface Assumptions {
  /** A3: from the submission of an order to `order.confirmed`, in milliseconds */
  readonly confirmedAfterMs: number;
  /** A3: from `order.confirmed` to `order.ready`, in milliseconds; `estimated_ready_time` says it ahead */
  readonly readyAfterMs: number;
  /** A3: from `order.ready` to `order.completed`, in milliseconds */
  readonly completedAfterMs: number;
  /** A6: units left at which `inventory.low_stock` is sent */
  readonly lowStockAt: number;
  /** A6: idle time of an active cart before `cart.abandoned`, in milliseconds */
  readonly abandonedAfterMs: number;
  /** A6: idle time before `cart.expires_soon`, in milliseconds */
  readonly expiresSoonAfterMs: number;
  /** A6: idle time before a cart is `Cancelled`, in milliseconds */
  readonly expiredAfterMs: number;
  /** A7: merchants on a page, unless `size` says another number */
  readonly pageSize: number;
  /** A7: most merchants on a page */
  readonly maxPageSize: number;
  /** A9: most bytes of a body */
  readonly maxBodyBytes: number;
  /** A9: most lines of a cart or an order */
  readonly maxItems: number;
  /** A10: requests a minute for each key, beside the plan's windows; 0 for no such window */
  readonly perMinute: number;
  /** A10: requests an hour for each key; 0 for no such window */
  readonly perHour: number;
  /** A10: requests a day (UTC) for each key; 0 for no such window */
  readonly perDay: number;
  /** A10: whether `reset` in a 429 body is ISO 8601 and not a Unix timestamp */
  readonly resetAsIso: boolean;
  /** A11: tax on the subtotal; 0.08 is 8 % */
  readonly taxRate: number;
  /** A11: fee of an order that is delivered, in USD */
  readonly deliveryFee: number;
  /** A12: how far a search goes unless `distance` says so, in kilometres */
  readonly searchDistanceKm: number;
  /** A12: most products that a search finds */
  readonly maxProducts: number;
  /** A12: whether plain HTTP is accepted from other machines and under any name, too */
  readonly plainHttpAnywhere: boolean;
}

/** The number of an assumption, as docs/sandbox.md has it. */
export type AssumptionId = `A${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What holds unless it is set otherwise. */
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

/** One thing that the interface does not show, and what the sandbox does about it. */
export interface Assumption {
  readonly about: string;
  readonly decision: string;
  /** what of `Assumptions` is its value */
  readonly values: readonly (keyof Assumptions)[];
}

/** Every assumption by its number. */
export const ASSUMPTIONS: Readonly<Record<AssumptionId, Assumption>> = {
  A1: {
    about: 'Create Cart and Add Cart Item',
    decision:
      'user_id, location_id and fulfillment_method are required, and status may only be Active. The answer is 201, and ' +
      "data is the cart's id. Each added item is a new line, and data is its id. A product must be sold at the " +
      "cart's location. A quantity beyond the stock is accepted, with a message of level Warning.",
    values: [],
  },
  A2: {
    about: 'status changes of a cart',
    decision:
      'Active becomes Submitted (with at least one item) or Cancelled. The same status again succeeds; any other is 409 ' +
      'with resource_state. Items change only while a cart is Active. A cart creates no order and no event.',
    values: [],
  },
  A3: {
    about: 'status changes of an order',
    decision:
      'created, confirmed, ready, completed, in this order; cancelled or failed at any time before completed, which returns ' +
      'stock and charge. The Order body has no status; its events and the page do. Customer and address have no ' +
      'required fields: a missing text is empty, and a customer without an id gets one.',
    values: ['confirmedAfterMs', 'readyAfterMs', 'completedAfterMs'],
  },
  A4: {
    about: 'Submit Order',
    decision:
      'The answer is 200. The order is charged and takes its stock, and stays created until it is confirmed. Once submitted ' +
      'or moved on, it is 409 with resource_state. A declined payment is 422 PAYMENT_FAILED; submit again. An order ' +
      'beyond the stock is 422 at creation and submission; only submission takes the stock.',
    values: [],
  },
  A5: {
    about: 'which operation emits which event',
    decision:
      'Create Order: order.created. Submit Order: inventory.updated for each product. Then, with the clock, order.confirmed, ' +
      'order.ready (at estimated_ready_time) and order.completed; any allowed move by hand; order.failed by a fault. Stock ' +
      'that is returned or set by hand emits inventory.updated, too.',
    values: [],
  },
  A6: {
    about: 'thresholds and periods',
    decision:
      'inventory.low_stock when the quantity falls to the threshold or below, inventory.out_of_stock when it falls to 0, ' +
      'once per crossing, beside inventory.updated. A cart is idle since its creation or the last change of its items: ' +
      'then cart.abandoned, cart.expires_soon, and finally it becomes Cancelled.',
    values: ['lowStockAt', 'abandonedAfterMs', 'expiresSoonAfterMs', 'expiredAfterMs'],
  },
  A7: {
    about: 'List Merchants',
    decision:
      'page from 0, size, and sort (repeatable) as property or property,(asc|desc); total counts all. ' +
      'An unknown property is 422.',
    values: ['pageSize', 'maxPageSize'],
  },
  A8: {
    about: 'permissions',
    decision:
      'carts:read, carts:write, orders:write, payment_methods:read, payment_methods:write, merchants:read (categories ' +
      'too), products:read.',
    values: [],
  },
  A9: {
    about: 'order of checks, and sizes',
    decision:
      'key, limit, permission, fault, syntax, validation, existence, state. What is missing or cannot be parsed is 400 ' +
      'MISSING_REQUIRED_FIELD; a wrong type, value or range is 422 with details; an unknown path is 404. Section 7.3 ' +
      'has no codes for 5xx, so these bodies have none. The Content-Type of a request is ignored. A text has at most 1,000 characters.',
    values: ['maxBodyBytes', 'maxItems'],
  },
  A10: {
    about: 'limits',
    decision:
      'Fixed windows per key; the month is per account, from the day ' +
      'of sign-up. Headers describe the window that rejected the request, or the one with the least left. 401 and ' +
      'rejected requests are not counted.',
    values: ['perMinute', 'perHour', 'perDay', 'resetAsIso'],
  },
  A11: {
    about: 'money and payment methods',
    decision:
      'Decimal USD, rounded half up to cents. Payment methods pm_ok, pm_declined, pm_insufficient_funds and pm_expired. A ' +
      'setup intent is 201 with the URL of a local page that adds one to its merchant; filter the list by ' +
      'merchant_id.',
    values: ['taxRate', 'deliveryFee'],
  },
  A12: {
    about: 'Search products, and plain HTTP',
    decision:
      'latitude and longitude are required; query and distance (kilometres) are optional. Each result has the product, its ' +
      'location, price, available_quantity and distance, nearest first. Plain HTTP works for loopback names only; ' +
      'others get 403.',
    values: ['searchDistanceKm', 'maxProducts', 'plainHttpAnywhere'],
  },
};

/** Keywords of a schema whose values are those of assumptions. */
export type AssumedKeywords = Readonly<Partial<Record<'default' | 'maximum' | 'maxItems', keyof Assumptions>>>;

/**
 * Marks a schema that says more than the interface shows, for `meta` of zod: the OpenAPI document says there which assumption
 * decides it, and has its values in these keywords.
 */
export function assumed(
  assumption: AssumptionId,
  assumedKeywords: AssumedKeywords = {},
): { readonly assumption: AssumptionId; readonly assumedKeywords: AssumedKeywords } {
  return { assumption, assumedKeywords };
}

/**
 * The assumptions with what is set otherwise.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a name that does not exist or a value that cannot work
 */
export function assumptionsWith(changes: Partial<Assumptions> = {}): Assumptions {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(DEFAULT_ASSUMPTIONS, name)) {
      const known = Object.keys(DEFAULT_ASSUMPTIONS).join(', ');
      const message = `assumptions: unknown name ${JSON.stringify(name)}. Allowed: ${known}.`;
      throw new ConfigurationError('INVALID_OPTION', message);
    }
    checkValue(name as keyof Assumptions, value);
  }
  const all = { ...DEFAULT_ASSUMPTIONS, ...changes };
  if (all.abandonedAfterMs > all.expiresSoonAfterMs || all.expiresSoonAfterMs > all.expiredAfterMs) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      'assumptions: the times of a cart must grow: abandoned, expires soon, expired.',
    );
  }
  if (all.pageSize > all.maxPageSize) {
    throw new ConfigurationError('INVALID_OPTION', 'assumptions: pageSize must be at most maxPageSize.');
  }
  return all;
}

/** Those that may have a fraction; the rest are whole. */
const FRACTIONS: ReadonlySet<string> = new Set(['taxRate', 'deliveryFee', 'searchDistanceKm']);
/** Where 0 would leave nothing. */
const ABOVE_ZERO: ReadonlySet<string> = new Set([
  'pageSize',
  'maxPageSize',
  'maxBodyBytes',
  'maxItems',
  'searchDistanceKm',
  'maxProducts',
]);
const MOST = 1e12;

function checkValue(name: keyof Assumptions, value: number | boolean): void {
  const wanted = typeof DEFAULT_ASSUMPTIONS[name];
  const refuse = (what: string): never => {
    throw new ConfigurationError('INVALID_OPTION', `assumptions.${name} must be ${what}, not ${String(value)}.`);
  };
  if (typeof value !== wanted) refuse(`a ${wanted}`);
  if (typeof value !== 'number') return;
  if (!(value >= 0 && value <= MOST)) refuse(`from 0 to ${MOST}`);
  if (value === 0 && ABOVE_ZERO.has(name)) refuse('above 0');
  if (!FRACTIONS.has(name) && !Number.isInteger(value)) refuse('whole');
}
