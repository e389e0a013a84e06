import { invalid, notFound } from './errors.ts';
import { accountOf } from './keys.ts';
import { centsOf, timeText, usdOf } from './resources.ts';
import type { Cents, Merchant } from './resources.ts';
import type { Input, Result, Surroundings } from './service-operations.ts';
import { insert, type Reading, type Transaction } from './store.ts';

interface Shop {
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

const SHOPS: readonly Shop[] = [
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

const MERCHANTS = SHOPS.map(({ id, name, capabilities }) => ({
  id: `mer_${id}`,
  organization_id: 'org_harbour',
  name,
  capabilities: [...capabilities],
  fulfillment_methods: ['Delivery', 'Pickup', 'Shipping'] as Merchant['fulfillment_methods'],
  payment_connected_account_id: `acct_${id}`,
}));

const LOCATIONS = byId(
  SHOPS.flatMap(({ id: merchant, locations }) =>
    locations.map(([id, name, latitude, longitude]) => ({
      merchant_id: `mer_${merchant}`,
      location: { id: `loc_${id}`, name, latitude, longitude },
      id: `loc_${id}`,
    })),
  ),
);

const CATEGORIES = byId(
  SHOPS.flatMap(({ id: merchant, categories }) =>
    categories.map(([id, name, parent = null]) => ({
      id: `cat_${id}`,
      merchant_id: `mer_${merchant}`,
      external_id: id,
      name,
      parent_id: parent === null ? null : `cat_${parent}`,
      parent_external_id: parent,
      depth: parent === null ? 0 : 1,
    })),
  ),
);

const PRODUCTS = byId(
  SHOPS.flatMap(({ id: merchant, products }) =>
    products.map(([id, category, name, description, price, stock]) => ({
      id: `prod_${id}`,
      merchant_id: `mer_${merchant}`,
      category_id: `cat_${category}`,
      name,
      description,
      price_cents: centsOf(price),
      stock,
    })),
  ),
);

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
function known<Row>(rows: ReadonlyMap<string, Row>, type: string, id: string): Row {
  const row = rows.get(id);
  if (row === undefined) throw notFound(type, id);
  return row;
}

/** Fills the stock of a new sandbox, and adds a payment method for each outcome. */
export function seedStock(tx: Transaction): void {
  for (const { id: product_id, stock } of PRODUCTS.values()) {
    for (const [location, quantity] of Object.entries(stock)) {
      insert(tx, 'stock', { location_id: `loc_${location}`, product_id, quantity });
    }
  }
  for (const outcome of Object.keys(CARDS)) {
    insert(tx, 'payment_methods', { id: `pm_${outcome}`, merchant_id: null, outcome });
  }
}

/** Interface 4.10. */
export function listMerchants(
  db: Reading,
  { query: { page = 0, size, sort = [] } }: Input<'listMerchants'>,
  { assumptions: { pageSize, maxPageSize } }: Surroundings,
): Result<'listMerchants'> {
  const most = size ?? pageSize;
  if (most > maxPageSize) throw invalid('size', `must be at most ${maxPageSize}`);
  const times = timesOf(db);
  const criteria = [...sort, 'id'].map(criterionOf);
  const data = MERCHANTS.map((merchant) => ({ ...merchant, ...times }))
    .sort((a, b) => {
      const { property = 'id', sign = 1 } = criteria.find(({ property: by }) => a[by] !== b[by]) ?? {};
      return a[property] < b[property] ? -sign : sign;
    })
    .slice(page * most, (page + 1) * most);
  return { data, total: MERCHANTS.length };
}

const SORTABLE = [
  'id',
  'organization_id',
  'name',
  'payment_connected_account_id',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof Merchant)[];

function criterionOf(text: string): { readonly property: (typeof SORTABLE)[number]; readonly sign: 1 | -1 } {
  const [name, direction] = text.split(',');
  const property = SORTABLE.find((one) => one === name);
  if (property === undefined) throw invalid('sort', `must name one of ${SORTABLE.join(', ')}`);
  return { property, sign: direction === 'desc' ? -1 : 1 };
}

/** Everything in the catalogue is as old as the sandbox. */
function timesOf(db: Reading): Pick<Merchant, 'created_at' | 'updated_at'> {
  const created_at = timeText(accountOf(db).createdMs);
  return { created_at, updated_at: created_at };
}

/**
 * Returns the name of a merchant.
 *
 * @throws ApiError `RESOURCE_NOT_FOUND`
 */
export function merchantName(id: string): string {
  const merchant = MERCHANTS.find((one) => one.id === id);
  if (merchant === undefined) throw notFound('merchant', id);
  return merchant.name;
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function merchantOfLocation(locationId: string): string {
  return known(LOCATIONS, 'location', locationId).merchant_id;
}

/** A product where it is sold. */
export interface OfferedProduct {
  readonly id: string;
  readonly name: string;
  readonly price_cents: Cents;
  /** in stock at the location */
  readonly quantity: number;
}

/**
 * Returns a product that a location sells, even if none is left.
 *
 * @throws ApiError `RESOURCE_NOT_FOUND`
 */
export function offeredProduct(db: Reading, locationId: string, productId: string): OfferedProduct {
  const sql = 'SELECT quantity FROM stock WHERE location_id = ? AND product_id = ?';
  const stock = db.get<{ readonly quantity: number }>(sql, locationId, productId);
  if (stock === undefined) throw notFound('product', productId);
  return { ...productOf(productId), ...stock };
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function productOf(id: string): Omit<OfferedProduct, 'quantity'> {
  return known(PRODUCTS, 'product', id);
}

/** Interface 4.11. */
export function getCategory(db: Reading, { params }: Input<'getCategory'>): Result<'getCategory'> {
  const { merchantId, id } = params;
  merchantName(merchantId);
  const category = known(CATEGORIES, 'category', id);
  if (category.merchant_id !== merchantId) throw notFound('category', id);
  return { data: { ...category, ...timesOf(db) } };
}

/** Interface 4.12. Reads every offer, because a sandbox has few. */
export function searchProducts(
  db: Reading,
  { query: { latitude, longitude, query = '', distance } }: Input<'searchProducts'>,
  { assumptions: { searchDistanceKm, maxProducts } }: Surroundings,
): Result<'searchProducts'> {
  const most = distance ?? searchDistanceKm;
  const wanted = query.trim().toLowerCase();
  type Stock = { readonly location_id: string; readonly product_id: string; readonly quantity: number };
  const data = db
    .all<Stock>('SELECT * FROM stock ORDER BY location_id, product_id')
    .flatMap(({ location_id, product_id, quantity }) => {
      const { id, merchant_id, category_id, name, description, price_cents } = known(PRODUCTS, 'product', product_id);
      const { location } = known(LOCATIONS, 'location', location_id);
      const km = kilometresBetween({ latitude, longitude }, location);
      if (km > most || !`${name}\n${description}`.toLowerCase().includes(wanted)) return [];
      const found = { id, merchant_id, category_id, name, description, price: usdOf(price_cents), currency: 'USD' };
      return [{ km, ...found, available_quantity: quantity, location }];
    })
    .sort((a, b) => a.km - b.km)
    .slice(0, maxProducts)
    .map(({ km, location, ...found }) => ({ ...found, distance: Math.round(km * 1_000) / 1_000, location }));
  return { data };
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
