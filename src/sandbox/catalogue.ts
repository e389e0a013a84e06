import type { Assumptions } from './assumptions.ts';
import { invalid, notFound } from './errors.ts';
import {
  centsOf,
  usdOf,
  withTimes,
  type Category,
  type FoundProduct,
  type Merchant,
  type Stored,
} from './resources.ts';
import type { Input, Result } from './service-operations.ts';
import { insert, type Reading, type Transaction } from './store.ts';

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

interface SeedMerchant {
  readonly id: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly locations: readonly (readonly [id: string, name: string, latitude: number, longitude: number])[];
  readonly categories: readonly (readonly [id: string, name: string, parent?: string])[];
  readonly products: readonly (readonly [
    id: string,
    category: string,
    name: string,
    description: string,
    price: number,
    stock: Readonly<Record<string, number>>,
  ])[];
}

const MERCHANTS: readonly SeedMerchant[] = [
  {
    id: 'bakery',
    name: 'Harbour Bakery',
    capabilities: ['ordering', 'scheduling'],
    locations: [
      ['bakery_pier', 'Pier 3', 37.7993, -122.3977],
      ['bakery_mission', 'Mission Street', 37.7599, -122.4194],
    ],
    categories: [
      ['bread', 'Bread'],
      ['sourdough', 'Sourdough', 'bread'],
      ['pastry', 'Pastry'],
    ],
    products: [
      [
        'country_loaf',
        'sourdough',
        'Country loaf',
        'Sourdough of wheat and rye, baked dark',
        6.5,
        { bakery_pier: 40, bakery_mission: 24 },
      ],
      [
        'seeded_rye',
        'sourdough',
        'Seeded rye',
        'Whole rye with sunflower and flax',
        7.25,
        { bakery_pier: 8, bakery_mission: 6 },
      ],
      ['baguette', 'bread', 'Baguette', 'White bread, best eaten on the same day', 3.2, { bakery_pier: 60 }],
      ['croissant', 'pastry', 'Butter croissant', 'Laminated by hand', 3.75, { bakery_pier: 30, bakery_mission: 30 }],
      ['wedding_cake', 'pastry', 'Wedding cake', 'Three tiers; there is only one', 240, { bakery_pier: 1 }],
    ],
  },
  {
    id: 'coffee',
    name: 'Northline Coffee',
    capabilities: ['ordering'],
    locations: [['coffee_hayes', 'Hayes Valley', 37.7764, -122.4242]],
    categories: [
      ['drinks', 'Drinks'],
      ['beans', 'Beans'],
    ],
    products: [
      ['flat_white', 'drinks', 'Flat white', 'Double shot with whole milk or oat milk', 4.8, { coffee_hayes: 500 }],
      ['cold_brew', 'drinks', 'Cold brew', 'Steeped in cold water for eighteen hours', 5.15, { coffee_hayes: 20 }],
      ['espresso_beans', 'beans', 'Espresso beans, 500 g', 'Roasted on Mondays', 16.9, { coffee_hayes: 12 }],
      ['decaf_beans', 'beans', 'Decaf beans, 500 g', 'Sold out until the next shipment', 17.5, { coffee_hayes: 0 }],
    ],
  },
  {
    id: 'books',
    name: 'Signal Books',
    capabilities: ['ordering', 'shipping_labels'],
    locations: [['books_oakland', 'Oakland', 37.8044, -122.2712]],
    categories: [
      ['fiction', 'Fiction'],
      ['cooking', 'Cooking'],
      ['bread_books', 'Bread', 'cooking'],
    ],
    products: [
      ['sea_stories', 'fiction', 'Sea stories', 'Eleven stories, paperback', 14.95, { books_oakland: 18 }],
      ['bread_book', 'bread_books', 'The sourdough year', 'A loaf for each week, hardcover', 34, { books_oakland: 7 }],
    ],
  },
];

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

export function seedCatalogue(tx: Transaction): void {
  const times = { created_ms: tx.now, updated_ms: tx.now };
  for (const { id: merchant, name, capabilities, locations, categories, products } of MERCHANTS) {
    const merchant_id = `mer_${merchant}`;
    insert(tx, 'merchants', {
      id: merchant_id,
      organization_id: 'org_harbour',
      name,
      capabilities: JSON.stringify(capabilities),
      fulfillment_methods: JSON.stringify(['Delivery', 'Pickup', 'Shipping']),
      payment_connected_account_id: `acct_${merchant}`,
      ...times,
    });
    for (const [id, name, latitude, longitude] of locations) {
      insert(tx, 'locations', { id: `loc_${id}`, merchant_id, name, latitude, longitude });
    }
    for (const [id, name, parent] of categories) {
      const place = parent === undefined ? { parent_id: null, depth: 0 } : { parent_id: `cat_${parent}`, depth: 1 };
      insert(tx, 'categories', { id: `cat_${id}`, merchant_id, external_id: id, name, ...place, ...times });
    }
    for (const [id, category, name, description, price, stock] of products) {
      const product_id = `prod_${id}`;
      const [category_id, price_cents] = [`cat_${category}`, centsOf(price)];
      insert(tx, 'products', { id: product_id, merchant_id, category_id, name, description, price_cents });
      for (const [location, quantity] of Object.entries(stock)) {
        insert(tx, 'stock', { location_id: `loc_${location}`, product_id, quantity });
      }
    }
  }
  for (const [outcome, card] of Object.entries(CARDS)) {
    insert(tx, 'payment_methods', { id: `pm_${outcome}`, merchant_id: null, ...card, outcome });
  }
}

const SORTS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['organization_id', 'organization_id'],
  ['name', 'name'],
  ['payment_connected_account_id', 'payment_connected_account_id'],
  ['created_at', 'created_ms'],
  ['updated_at', 'updated_ms'],
]);

interface MerchantRow extends Omit<Stored<Merchant>, 'capabilities' | 'fulfillment_methods'> {
  readonly capabilities: string;
  readonly fulfillment_methods: string;
}

/** Interface 4.10. */
export function listMerchants(
  db: Reading,
  { page = 0, size, sort = [] }: Input<'listMerchants'>['query'],
  { pageSize, maxPageSize }: Assumptions,
): Result<'listMerchants'> {
  const most = size ?? pageSize;
  if (most > maxPageSize) throw invalid('size', `must be at most ${maxPageSize}`);
  const order = [...sort.map(orderBy), 'id'].join(', ');
  const rows = db.all<MerchantRow>(`SELECT * FROM merchants ORDER BY ${order} LIMIT ? OFFSET ?`, most, page * most);
  const data = rows.map((row) => ({
    ...withTimes(row),
    capabilities: JSON.parse(row.capabilities) as Merchant['capabilities'],
    fulfillment_methods: JSON.parse(row.fulfillment_methods) as Merchant['fulfillment_methods'],
  }));
  return { data, total: MERCHANTS.length };
}

function orderBy(criterion: string): string {
  const [property = '', direction = 'asc'] = criterion.split(',');
  const column = SORTS.get(property);
  if (column === undefined) throw invalid('sort', `must name one of ${[...SORTS.keys()].join(', ')}`);
  return `${column} ${direction}`;
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function requireMerchant(db: Reading, id: string): void {
  if (db.get('SELECT 1 FROM merchants WHERE id = ?', id) === undefined) throw notFound('merchant', id);
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function merchantOfLocation(db: Reading, locationId: string): string {
  const location = db.get<{ merchant_id: string }>('SELECT merchant_id FROM locations WHERE id = ?', locationId);
  if (location === undefined) throw notFound('location', locationId);
  return location.merchant_id;
}

export interface OfferedProduct {
  readonly id: string;
  readonly name: string;
  readonly price_cents: number;
  readonly quantity: number;
}

export function offeredProduct(db: Reading, locationId: string, productId: string): OfferedProduct {
  const sql = `SELECT p.id, p.name, p.price_cents, s.quantity FROM stock s JOIN products p ON p.id = s.product_id
    WHERE s.location_id = ? AND s.product_id = ?`;
  const found = db.get<OfferedProduct>(sql, locationId, productId);
  if (found === undefined) throw notFound('product', productId);
  return found;
}

/** Interface 4.11. */
export function getCategory(db: Reading, { merchantId, id }: Input<'getCategory'>['params']): Category {
  requireMerchant(db, merchantId);
  const sql = `SELECT c.id, c.merchant_id, c.external_id, c.name, c.parent_id, parent.external_id AS parent_external_id,
      c.depth, c.created_ms, c.updated_ms
    FROM categories c LEFT JOIN categories parent ON parent.id = c.parent_id WHERE c.id = ? AND c.merchant_id = ?`;
  const row = db.get<Stored<Category>>(sql, id, merchantId);
  if (row === undefined) throw notFound('category', id);
  return withTimes(row);
}

interface OfferRow extends OfferedProduct, Place {
  readonly merchant_id: string;
  readonly category_id: string;
  readonly description: string;
  readonly location_id: string;
  readonly location_name: string;
}

/** Interface 4.12. Reads every offer, because a sandbox has few. */
export function searchProducts(
  db: Reading,
  { latitude, longitude, query = '', distance }: Input<'searchProducts'>['query'],
  { searchDistanceKm, maxProducts }: Assumptions,
): FoundProduct[] {
  const most = distance ?? searchDistanceKm;
  const wanted = query.trim().toLowerCase();
  const sql = `SELECT p.*, s.quantity, s.location_id, l.name AS location_name, l.latitude, l.longitude
    FROM stock s JOIN products p ON p.id = s.product_id JOIN locations l ON l.id = s.location_id
    ORDER BY s.location_id, p.id`;
  return db
    .all<OfferRow>(sql)
    .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted))
    .map((row) => ({ row, km: kilometresBetween({ latitude, longitude }, row) }))
    .filter(({ km }) => km <= most)
    .sort((a, b) => a.km - b.km)
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

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

const EARTH_RADIUS_KM = 6_371.0088;

/** The haversine formula, which stays exact for places that are close. */
function kilometresBetween(a: Place, b: Place): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const halfChord = (degrees: number): number => Math.sin(radians(degrees) / 2) ** 2;
  const h =
    halfChord(b.latitude - a.latitude) +
    Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * halfChord(b.longitude - a.longitude);
  // Rounding may bring opposite places beyond 1.
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(Math.min(1, h)));
}
