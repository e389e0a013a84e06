import type { Assumptions } from './assumptions.ts';
import { merchantOfLocation, offeredProduct, type OfferedProduct } from './catalogue.ts';
import { clearDue, setDue } from './due.ts';
import { invalid, notFound, ApiError } from './errors.ts';
import { emit } from './events.ts';
import { insert, type Reading, type Transaction } from './store.ts';
import {
  usdOf,
  type Cart,
  type CartItem,
  type CartStatus,
  type FulfillmentMethod,
  type Message,
  timeText,
} from './resources.ts';
import type { Input, Result } from './service-operations.ts';

export const CART_TABLES = `
  CREATE TABLE carts (
    id TEXT PRIMARY KEY, user_id TEXT NOT NULL, merchant_id TEXT NOT NULL, location_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Active', 'Submitted', 'Cancelled')),
    fulfillment_method TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    last_activity_ms INTEGER NOT NULL,
    told INTEGER NOT NULL DEFAULT 0 CHECK (told BETWEEN 0 AND 2)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE cart_items (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cart_id TEXT NOT NULL REFERENCES carts (id),
    product_id TEXT NOT NULL REFERENCES products (id), product_name TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 1), created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX items_of_cart ON cart_items (cart_id);
`;

/** What is due for a cart: being told of as abandoned or expiring, or its end. */
export const CART_DUE = 'cart';

/** How often an idle cart was told of since its last activity. */
const UNTOLD = 0;
const ABANDONED = 1;
const EXPIRES_SOON = 2;

interface CartRow {
  readonly id: string;
  readonly user_id: string;
  readonly merchant_id: string;
  readonly location_id: string;
  readonly status: CartStatus;
  readonly fulfillment_method: FulfillmentMethod;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly last_activity_ms: number;
  readonly told: number;
}

interface CartItemRow {
  readonly id: string;
  readonly cart_id: string;
  readonly product_id: string;
  readonly product_name: string;
  readonly quantity: number;
  readonly created_ms: number;
  readonly updated_ms: number;
}

/** Interface 4.1 and A1. */
export function createCart(tx: Transaction, body: Input<'createCart'>['body'], assumptions: Assumptions): string {
  const { user_id, location_id, status = 'Active', fulfillment_method } = body;
  if (status !== 'Active') throw invalid('status', 'must be Active in a new cart');
  const merchantId = merchantOfLocation(tx, location_id);
  const id = tx.newId('cart');
  insert(tx, 'carts', {
    id,
    user_id,
    merchant_id: merchantId,
    location_id,
    status,
    fulfillment_method,
    created_ms: tx.now,
    updated_ms: tx.now,
    last_activity_ms: tx.now,
  });
  setDue(tx, CART_DUE, id, tx.now + assumptions.abandonedAfterMs);
  return id;
}

/** Interface 4.2. */
export function getCart(db: Reading, id: string): Cart {
  const row = cartRow(db, id);
  return {
    id,
    user_id: row.user_id,
    merchant_id: row.merchant_id,
    location_id: row.location_id,
    status: row.status,
    fulfillment_method: row.fulfillment_method,
    items: (db.all('SELECT * FROM cart_items WHERE cart_id = ? ORDER BY seq', id) as readonly CartItemRow[]).map(
      itemOf,
    ),
    created_at: timeText(row.created_ms),
    updated_at: timeText(row.updated_ms),
  };
}

function itemOf({ id, cart_id, product_id, product_name, quantity, created_ms, updated_ms }: CartItemRow): CartItem {
  const [created_at, updated_at] = [timeText(created_ms), timeText(updated_ms)];
  return { id, cart_id, product_id, product_name, quantity, created_at, updated_at };
}

/** Interface 4.3 and A2. */
export function updateCart(tx: Transaction, id: string, status: CartStatus): true {
  const cart = cartRow(tx, id);
  if (cart.status === status) return true;
  if (cart.status !== 'Active') throw conflict(`A cart that is ${cart.status} cannot change its status.`, cart);
  if (status === 'Submitted' && itemCount(tx, id) === 0)
    throw conflict('A cart without items cannot be submitted.', cart);
  leaveActive(tx, id, status);
  return true;
}

/** Interface 4.4 and A1. */
export function addCartItem(
  tx: Transaction,
  cartId: string,
  { product_id, product_name, quantity }: Input<'addCartItem'>['body'],
  assumptions: Assumptions,
): Result<'addCartItem'> {
  const cart = cartRow(tx, cartId);
  const product = offeredProduct(tx, cart.location_id, product_id);
  requireActive(cart);
  if (itemCount(tx, cartId) >= assumptions.maxItems) {
    throw conflict(`A cart can have at most ${assumptions.maxItems} items.`, cart);
  }
  const id = tx.newId('item');
  const [created_ms, updated_ms] = [tx.now, tx.now];
  insert(tx, 'cart_items', { id, cart_id: cartId, product_id, product_name, quantity, created_ms, updated_ms });
  noteActivity(tx, cartId, assumptions);
  return { data: id, messages: stockMessages(product, quantity) };
}

/** Interface 4.5 and A2. */
export function updateCartItem(
  tx: Transaction,
  { cartId, itemId }: Input<'updateCartItem'>['params'],
  quantity: number,
  assumptions: Assumptions,
): Result<'updateCartItem'> {
  const cart = cartRow(tx, cartId);
  const find = 'SELECT * FROM cart_items WHERE id = ? AND cart_id = ?';
  const item = tx.get(find, itemId, cartId) as CartItemRow | undefined;
  if (item === undefined) throw notFound('cart_item', itemId);
  requireActive(cart);
  tx.run('UPDATE cart_items SET quantity = ?, updated_ms = ? WHERE id = ?', quantity, tx.now, itemId);
  noteActivity(tx, cartId, assumptions);
  return { data: true, messages: stockMessages(offeredProduct(tx, cart.location_id, item.product_id), quantity) };
}

/** What is due for an idle cart, one step at a time (A6). */
export function stepCart(tx: Transaction, id: string, assumptions: Assumptions): void {
  const cart = cartRow(tx, id);
  if (cart.status !== 'Active') return;
  if (cart.told === EXPIRES_SOON) {
    leaveActive(tx, id, 'Cancelled');
    return;
  }
  const { expiresSoonAfterMs, expiredAfterMs } = assumptions;
  emit(tx, cart.told === UNTOLD ? 'cart.abandoned' : 'cart.expires_soon', eventData(tx, cart));
  tx.run('UPDATE carts SET told = ? WHERE id = ?', cart.told === UNTOLD ? ABANDONED : EXPIRES_SOON, id);
  const idleMs = cart.told === UNTOLD ? expiresSoonAfterMs : expiredAfterMs;
  setDue(tx, CART_DUE, id, cart.last_activity_ms + idleMs);
}

/** As interface 6.2 has it; amounts by today's prices. */
function eventData(
  db: Reading,
  { id, user_id, last_activity_ms }: CartRow,
): Parameters<typeof emit<'cart.abandoned'>>[2] {
  const sums = db.get(
    `SELECT sum(i.quantity * p.price_cents) AS cents, sum(i.quantity) AS units
     FROM cart_items i JOIN products p ON p.id = i.product_id WHERE i.cart_id = ?`,
    id,
  ) as { readonly cents: number | null; readonly units: number | null } | undefined;
  return {
    id,
    user_id,
    last_activity: timeText(last_activity_ms),
    total_value: usdOf(sums?.cents ?? 0),
    item_count: sums?.units ?? 0,
  };
}

function cartRow(db: Reading, id: string): CartRow {
  const row = db.get('SELECT * FROM carts WHERE id = ?', id) as CartRow | undefined;
  if (row === undefined) throw notFound('cart', id);
  return row;
}

function itemCount(db: Reading, cartId: string): number {
  return (
    (db.get('SELECT count(*) AS n FROM cart_items WHERE cart_id = ?', cartId) as { n: number } | undefined)?.n ?? 0
  );
}

function requireActive(cart: CartRow): void {
  if (cart.status !== 'Active') throw conflict('Items can change only while the cart is Active.', cart);
}

function conflict(message: string, { status }: CartRow): ApiError {
  return new ApiError('RESOURCE_CONFLICT', message, { resource_state: status });
}

/** A cart that is not active any more is idle for good. */
function leaveActive(tx: Transaction, id: string, status: CartStatus): void {
  tx.run('UPDATE carts SET status = ?, updated_ms = ? WHERE id = ?', status, tx.now, id);
  clearDue(tx, CART_DUE, id);
}

/** Its idle time begins anew. */
function noteActivity(tx: Transaction, id: string, { abandonedAfterMs }: Assumptions): void {
  const sql = 'UPDATE carts SET updated_ms = ?, last_activity_ms = ?, told = ? WHERE id = ?';
  tx.run(sql, tx.now, tx.now, UNTOLD, id);
  setDue(tx, CART_DUE, id, tx.now + abandonedAfterMs);
}

function stockMessages({ id, quantity: available }: OfferedProduct, wanted: number): readonly Message[] {
  if (wanted <= available) return [];
  return [
    {
      context: 'cart_item',
      level: 'Warning',
      text: 'The quantity exceeds the stock. An order for this quantity would be rejected.',
      data: { product_id: id, available_quantity: available, requested_quantity: wanted },
    },
  ];
}
