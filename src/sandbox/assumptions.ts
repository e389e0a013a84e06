import { ConfigurationError } from '../errors.ts';

/** The sandbox's assumptions about gaps in the interface. Set them in `createSandbox({ assumptions })`. */
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
  /** A7: merchants on a page without `size`. */
  readonly pageSize: number;
  /** A7: the most merchants on a page. */
  readonly maxPageSize: number;
  /** A9: the largest body, in bytes. */
  readonly maxBodyBytes: number;
  /** A9: the most lines of a cart or an order. */
  readonly maxItems: number;
  /** A10: requests per minute for each key, beside the limits of the plan; 0 for no limit. */
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
  /** A12: the most products in a search result. */
  readonly maxProducts: number;
  /** A12: whether plain HTTP is accepted from other machines and under any name. */
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
    about: 'new carts and items',
    decision:
      'user_id, location_id and fulfillment_method are required; status may only be Active. The answer is 201 with ' +
      'the new id. Each added item is a new line. The location must sell the product. A quantity beyond the stock ' +
      'gets a Warning.',
    values: [],
  },
  A2: {
    about: 'cart moves',
    decision:
      'Active becomes Submitted, with at least one item, or Cancelled. The same status again is true; any other ' +
      'move is 409. Only Active carts change. No event follows.',
    values: [],
  },
  A3: {
    about: 'order moves',
    decision:
      'created, confirmed, ready, completed, in this order. Until completed, an order may be cancelled or failed, ' +
      'which returns stock and charge. The Order body has no status. No customer or address field is required.',
    values: ['confirmedAfterMs', 'readyAfterMs', 'completedAfterMs'],
  },
  A4: {
    about: 'Submit Order',
    decision:
      'The answer is 200. It charges the order and takes its stock. A second submission is 409. A declined payment is 422 ' +
      'PAYMENT_FAILED; submit again. An order beyond the stock is 422, also when created.',
    values: [],
  },
  A5: {
    about: 'events',
    decision:
      'Create Order: order.created. Submit Order: inventory.updated for each product. Clock or hand: ' +
      'order.confirmed, order.ready (at estimated_ready_time), order.completed. Fault: order.failed. Other stock ' +
      'changes: inventory.updated.',
    values: [],
  },
  A6: {
    about: 'thresholds',
    decision:
      'inventory.low_stock is sent once when stock falls to the threshold, inventory.out_of_stock once at 0. A cart ' +
      'without item changes gets cart.abandoned, then cart.expires_soon, and is Cancelled.',
    values: ['lowStockAt', 'abandonedAfterMs', 'expiresSoonAfterMs', 'expiredAfterMs'],
  },
  A7: {
    about: 'List Merchants',
    decision:
      'page starts at 0. sort may repeat, as property or property,(asc|desc). total counts all. An unknown property ' +
      'is 422.',
    values: ['pageSize', 'maxPageSize'],
  },
  A8: {
    about: 'permissions',
    decision: 'Each operation needs the permission that it names; categories need merchants:read.',
    values: [],
  },
  A9: {
    about: 'checks and sizes',
    decision:
      'key, limit, permission, fault, syntax, validation, existence, state. A missing or unparsable value is 400 ' +
      'MISSING_REQUIRED_FIELD, a wrong one 422 with details, an unknown path 404. 5xx bodies have no code. ' +
      'Content-Type is ignored. Texts have at most 1,000 characters.',
    values: ['maxBodyBytes', 'maxItems'],
  },
  A10: {
    about: 'limits',
    decision:
      'Fixed windows must all admit a request: per key, but the month per account, from its sign-up. Headers ' +
      'describe the rejecting window, or the one with least left. 401 and rejected requests do not count.',
    values: ['perMinute', 'perHour', 'perDay', 'resetAsIso'],
  },
  A11: {
    about: 'money and payment',
    decision:
      'Decimal USD, rounded half up to cents. Payment methods are pm_ok, pm_declined, pm_insufficient_funds, ' +
      'pm_expired. A setup intent is 201 with a local page that adds one. merchant_id filters the list.',
    values: ['taxRate', 'deliveryFee'],
  },
  A12: {
    about: 'search, plain HTTP',
    decision:
      'latitude and longitude are required; query and distance (kilometres) are optional. Results come nearest ' +
      'first. Plain HTTP off loopback is 403.',
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
