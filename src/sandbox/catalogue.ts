import type { Assumptions } from './assumptions.ts';
import { invalid, notFound } from './errors.ts';
import { usdOf } from './money.ts';
import type { Input, Result } from './service-operations.ts';
import type { Category, FoundProduct, Merchant } from './resources.ts';
import type { Reading } from './store.ts';
import { timeText } from './time-text.ts';

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
