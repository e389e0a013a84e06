import type { Assumptions } from './assumptions.ts';
import { invalid, notFound } from './errors.ts';
import { usdOf, type Category, type FoundProduct, type Merchant, timeText, centsOf } from './resources.ts';
import type { Input, Result } from './service-operations.ts';
import { type Reading, insert, type Transaction } from './store.ts';

interface MerchantRow {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly capabilities: string;
  readonly fulfillment_methods: string;
  readonly payment_connected_account_id: string;
  readonly created_ms: number;
  readonly updated_ms: number;
}

/** What merchants may be sorted by, and the column behind it. */
const SORTS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['organization_id', 'organization_id'],
  ['name', 'name'],
  ['payment_connected_account_id', 'payment_connected_account_id'],
  ['created_at', 'created_ms'],
  ['updated_at', 'updated_ms'],
]);

/** Interface 4.10. */
export function listMerchants(
  db: Reading,
  query: Input<'listMerchants'>['query'],
  { pageSize, maxPageSize }: Assumptions,
): Result<'listMerchants'> {
  const { page = 0, size = pageSize, sort = [] } = query;
  if (size > maxPageSize) throw invalid('size', `must be at most ${maxPageSize}`);
  const order = [...sort.map(orderBy), 'id'].join(', ');
  const rows = db.all(
    `SELECT * FROM merchants ORDER BY ${order} LIMIT ? OFFSET ?`,
    size,
    page * size,
  ) as readonly MerchantRow[];
  const total = (db.get('SELECT count(*) AS n FROM merchants') as { n: number } | undefined)?.n ?? 0;
  return { data: rows.map(merchantOf), total };
}

function orderBy(criterion: string): string {
  const [property = '', direction = 'asc'] = criterion.split(',');
  const column = SORTS.get(property);
  if (column === undefined) throw invalid('sort', `must name one of ${[...SORTS.keys()].join(', ')}`);
  return `${column} ${direction}`;
}

function merchantOf(row: MerchantRow): Merchant {
  return {
    id: row.id,
    organization_id: row.organization_id,
    name: row.name,
    capabilities: JSON.parse(row.capabilities) as Merchant['capabilities'],
    fulfillment_methods: JSON.parse(row.fulfillment_methods) as Merchant['fulfillment_methods'],
    payment_connected_account_id: row.payment_connected_account_id,
    created_at: timeText(row.created_ms),
    updated_at: timeText(row.updated_ms),
  };
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function requireMerchant(db: Reading, id: string): void {
  if (db.get('SELECT 1 FROM merchants WHERE id = ?', id) === undefined) throw notFound('merchant', id);
}

/**
 * The merchant that a location belongs to.
 *
 * @throws ApiError `RESOURCE_NOT_FOUND`
 */
export function merchantOfLocation(db: Reading, locationId: string): string {
  const location = db.get('SELECT merchant_id FROM locations WHERE id = ?', locationId) as
    | { merchant_id: string }
    | undefined;
  if (location === undefined) throw notFound('location', locationId);
  return location.merchant_id;
}

/** A product where it is sold. */
export interface OfferedProduct {
  readonly id: string;
  readonly name: string;
  readonly price_cents: number;
  /** in stock at the location */
  readonly quantity: number;
}

/**
 * A product that a location sells, whether or not any is left.
 *
 * @throws ApiError `RESOURCE_NOT_FOUND`
 */
export function offeredProduct(db: Reading, locationId: string, productId: string): OfferedProduct {
  const found = db.get(
    'SELECT p.id, p.name, p.price_cents, s.quantity FROM stock s JOIN products p ON p.id = s.product_id WHERE s.location_id = ? AND s.product_id = ?',
    locationId,
    productId,
  ) as OfferedProduct | undefined;
  if (found === undefined) throw notFound('product', productId);
  return found;
}

interface CategoryRow {
  readonly id: string;
  readonly merchant_id: string;
  readonly external_id: string;
  readonly name: string;
  readonly parent_id: string | null;
  readonly parent_external_id: string | null;
  readonly depth: number;
  readonly created_ms: number;
  readonly updated_ms: number;
}

/** Interface 4.11. */
export function getCategory(db: Reading, { merchantId, id }: Input<'getCategory'>['params']): Category {
  requireMerchant(db, merchantId);
  const row = db.get(
    `SELECT c.*, parent.external_id AS parent_external_id
     FROM categories c LEFT JOIN categories parent ON parent.id = c.parent_id WHERE c.id = ? AND c.merchant_id = ?`,
    id,
    merchantId,
  ) as CategoryRow | undefined;
  if (row === undefined) throw notFound('category', id);
  return {
    id: row.id,
    merchant_id: row.merchant_id,
    external_id: row.external_id,
    name: row.name,
    parent_id: row.parent_id,
    parent_external_id: row.parent_external_id,
    depth: row.depth,
    created_at: timeText(row.created_ms),
    updated_at: timeText(row.updated_ms),
  };
}

interface OfferRow {
  readonly id: string;
  readonly merchant_id: string;
  readonly category_id: string;
  readonly name: string;
  readonly description: string;
  readonly price_cents: number;
  readonly quantity: number;
  readonly location_id: string;
  readonly location_name: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** Interface 4.12: looks at every offer, since a sandbox has few. */
export function searchProducts(
  db: Reading,
  { latitude, longitude, query = '', distance }: Input<'searchProducts'>['query'],
  { searchDistanceKm, maxProducts }: Assumptions,
): readonly FoundProduct[] {
  const most = distance ?? searchDistanceKm;
  const wanted = query.trim().toLowerCase();
  return (
    db.all(
      `SELECT p.*, s.quantity, s.location_id, l.name AS location_name, l.latitude, l.longitude
       FROM stock s JOIN products p ON p.id = s.product_id JOIN locations l ON l.id = s.location_id`,
    ) as readonly OfferRow[]
  )
    .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted))
    .map((row) => ({ row, km: kilometresBetween({ latitude, longitude }, row) }))
    .filter(({ km }) => km <= most)
    .sort((a, b) => a.km - b.km || compare(a.row.location_id, b.row.location_id) || compare(a.row.id, b.row.id))
    .slice(0, maxProducts)
    .map(({ row, km }) => ({
      id: row.id,
      merchant_id: row.merchant_id,
      category_id: row.category_id,
      name: row.name,
      description: row.description,
      price: usdOf(row.price_cents),
      currency: 'USD',
      available_quantity: row.quantity,
      distance: Math.round(km * 1_000) / 1_000,
      location: {
        id: row.location_id,
        name: row.location_name,
        latitude: row.latitude,
        longitude: row.longitude,
      },
    }));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A point on earth, in degrees. */
interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** The mean radius of the earth. */
const EARTH_KM = 6_371.0088;

/** Along a great circle, by the haversine formula, which stays exact for places that are close. */
function kilometresBetween(a: Place, b: Place): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const halfChord = (degrees: number): number => Math.sin(radians(degrees) / 2) ** 2;
  const h =
    halfChord(b.latitude - a.latitude) +
    Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * halfChord(b.longitude - a.longitude);
  // Rounding may bring opposite places beyond 1.
  return 2 * EARTH_KM * Math.asin(Math.sqrt(Math.min(1, h)));
}

/** A merchant as the seed writes it; `mer_` and the like are put before names. */
interface SeedMerchant {
  readonly name: string;
  readonly title: string;
  readonly capabilities: readonly string[];
  readonly locations: readonly { name: string; title: string; latitude: number; longitude: number }[];
  readonly categories: readonly { name: string; title: string; parent?: string }[];
  readonly products: readonly SeedProduct[];
}

interface SeedProduct {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly price: number;
  /** at each location that sells it */
  readonly stock: Readonly<Record<string, number>>;
}

/** The organization that the sandbox's account belongs to. */
const ORGANIZATION_ID = 'org_harbour';

const MERCHANTS: readonly SeedMerchant[] = [
  {
    name: 'bakery',
    title: 'Harbour Bakery',
    capabilities: ['ordering', 'scheduling'],
    locations: [
      { name: 'bakery_pier', title: 'Pier 3', latitude: 37.7993, longitude: -122.3977 },
      { name: 'bakery_mission', title: 'Mission Street', latitude: 37.7599, longitude: -122.4194 },
    ],
    categories: [
      { name: 'bread', title: 'Bread' },
      { name: 'sourdough', title: 'Sourdough', parent: 'bread' },
      { name: 'pastry', title: 'Pastry' },
    ],
    products: [
      {
        name: 'country_loaf',
        title: 'Country loaf',
        description: 'Sourdough of wheat and rye, baked dark',
        category: 'sourdough',
        price: 6.5,
        stock: { bakery_pier: 40, bakery_mission: 24 },
      },
      {
        name: 'seeded_rye',
        title: 'Seeded rye',
        description: 'Whole rye with sunflower and flax',
        category: 'sourdough',
        price: 7.25,
        stock: { bakery_pier: 8, bakery_mission: 6 },
      },
      {
        name: 'baguette',
        title: 'Baguette',
        description: 'White bread, best eaten on the same day',
        category: 'bread',
        price: 3.2,
        stock: { bakery_pier: 60 },
      },
      {
        name: 'croissant',
        title: 'Butter croissant',
        description: 'Laminated by hand',
        category: 'pastry',
        price: 3.75,
        stock: { bakery_pier: 30, bakery_mission: 30 },
      },
      {
        name: 'wedding_cake',
        title: 'Wedding cake',
        description: 'Three tiers; there is only one',
        category: 'pastry',
        price: 240,
        stock: { bakery_pier: 1 },
      },
    ],
  },
  {
    name: 'coffee',
    title: 'Northline Coffee',
    capabilities: ['ordering'],
    locations: [{ name: 'coffee_hayes', title: 'Hayes Valley', latitude: 37.7764, longitude: -122.4242 }],
    categories: [
      { name: 'drinks', title: 'Drinks' },
      { name: 'beans', title: 'Beans' },
    ],
    products: [
      {
        name: 'flat_white',
        title: 'Flat white',
        description: 'Double shot with whole milk or oat milk',
        category: 'drinks',
        price: 4.8,
        stock: { coffee_hayes: 500 },
      },
      {
        name: 'cold_brew',
        title: 'Cold brew',
        description: 'Steeped in cold water for eighteen hours',
        category: 'drinks',
        price: 5.15,
        stock: { coffee_hayes: 20 },
      },
      {
        name: 'espresso_beans',
        title: 'Espresso beans, 500 g',
        description: 'Roasted on Mondays',
        category: 'beans',
        price: 16.9,
        stock: { coffee_hayes: 12 },
      },
      {
        name: 'decaf_beans',
        title: 'Decaf beans, 500 g',
        description: 'Sold out until the next shipment',
        category: 'beans',
        price: 17.5,
        stock: { coffee_hayes: 0 },
      },
    ],
  },
  {
    name: 'books',
    title: 'Signal Books',
    capabilities: ['ordering', 'shipping_labels'],
    locations: [{ name: 'books_oakland', title: 'Oakland', latitude: 37.8044, longitude: -122.2712 }],
    categories: [
      { name: 'fiction', title: 'Fiction' },
      { name: 'cooking', title: 'Cooking' },
      { name: 'bread_books', title: 'Bread', parent: 'cooking' },
    ],
    products: [
      {
        name: 'sea_stories',
        title: 'Sea stories',
        description: 'Eleven stories, paperback',
        category: 'fiction',
        price: 14.95,
        stock: { books_oakland: 18 },
      },
      {
        name: 'bread_book',
        title: 'The sourdough year',
        description: 'A loaf for each week, hardcover',
        category: 'bread_books',
        price: 34,
        stock: { books_oakland: 7 },
      },
    ],
  },
];

/** What becomes of a charge on a payment method (A11). */
export type PaymentOutcome = 'ok' | 'declined' | 'insufficient_funds' | 'expired';

/** The card that a new sandbox has for each outcome; every merchant of the organization may use it. */
export const CARDS: Readonly<
  Record<PaymentOutcome, { brand: string; last4: string; exp_month: number; exp_year: number }>
> = {
  ok: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2099 },
  declined: { brand: 'visa', last4: '0002', exp_month: 12, exp_year: 2099 },
  insufficient_funds: { brand: 'mastercard', last4: '9995', exp_month: 12, exp_year: 2099 },
  expired: { brand: 'mastercard', last4: '0069', exp_month: 1, exp_year: 2020 },
};

/** The tables that the seed fills; nothing but stock and payment methods changes later. */
export const CATALOGUE_TABLES = `
  CREATE TABLE merchants (
    id TEXT PRIMARY KEY, organization_id TEXT NOT NULL, name TEXT NOT NULL, capabilities TEXT NOT NULL,
    fulfillment_methods TEXT NOT NULL, payment_connected_account_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE locations (
    id TEXT PRIMARY KEY, merchant_id TEXT NOT NULL REFERENCES merchants (id), name TEXT NOT NULL,
    latitude REAL NOT NULL, longitude REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE categories (
    id TEXT PRIMARY KEY, merchant_id TEXT NOT NULL REFERENCES merchants (id), external_id TEXT NOT NULL,
    name TEXT NOT NULL, parent_id TEXT REFERENCES categories (id), depth INTEGER NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE products (
    id TEXT PRIMARY KEY, merchant_id TEXT NOT NULL REFERENCES merchants (id),
    category_id TEXT NOT NULL REFERENCES categories (id), name TEXT NOT NULL, description TEXT NOT NULL,
    price_cents INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** Fills a new sandbox: three merchants around one bay, and a card for each outcome. */
export function sow(tx: Transaction): void {
  const times = { created_ms: tx.now, updated_ms: tx.now };
  for (const merchant of MERCHANTS) {
    const merchant_id = `mer_${merchant.name}`;
    insert(tx, 'merchants', {
      id: merchant_id,
      organization_id: ORGANIZATION_ID,
      name: merchant.title,
      capabilities: JSON.stringify(merchant.capabilities),
      fulfillment_methods: JSON.stringify(['Delivery', 'Pickup', 'Shipping']),
      payment_connected_account_id: `acct_${merchant.name}`,
      ...times,
    });
    for (const { name, title, latitude, longitude } of merchant.locations) {
      insert(tx, 'locations', { id: `loc_${name}`, merchant_id, name: title, latitude, longitude });
    }
    for (const { name, title, parent } of merchant.categories) {
      const place = parent === undefined ? { parent_id: null, depth: 0 } : { parent_id: `cat_${parent}`, depth: 1 };
      insert(tx, 'categories', { id: `cat_${name}`, merchant_id, external_id: name, name: title, ...place, ...times });
    }
    for (const { name, title, description, category, price, stock } of merchant.products) {
      const product_id = `prod_${name}`;
      const [category_id, price_cents] = [`cat_${category}`, centsOf(price)];
      insert(tx, 'products', { id: product_id, merchant_id, category_id, name: title, description, price_cents });
      for (const [location, quantity] of Object.entries(stock)) {
        insert(tx, 'stock', { location_id: `loc_${location}`, product_id, quantity });
      }
    }
  }
  for (const [outcome, card] of Object.entries(CARDS)) {
    insert(tx, 'payment_methods', { id: `pm_${outcome}`, merchant_id: null, ...card, outcome });
  }
}
