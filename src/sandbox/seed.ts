import { insert } from './insert.ts';
import { centsOf } from './money.ts';
import type { Transaction } from './store.ts';

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
export const ORGANIZATION_ID = 'org_harbour';

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
