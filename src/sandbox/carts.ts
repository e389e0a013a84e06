import type { Assumptions } from './assumptions.ts';
import { merchantOfLocation, offeredProduct, productOf, type OfferedProduct } from './catalogue.ts';
import { clearDue, setDue } from './due.ts';
import { invalid, notFound, ApiError } from './errors.ts';
import { emit } from './events.ts';
import { timeText, usdOf, withTimes } from './resources.ts';
import type { Cart, CartItem, Cents, CartStatus, Message, Stored } from './resources.ts';
import type { Input, Result, Surroundings } from './service-operations.ts';
import { insert, type Reading, type Transaction } from './store.ts';

export const CART_TABLES = `
  CREATE TABLE carts (
    id TEXT PRIMARY KEY, user_id TEXT NOT NULL, merchant_id TEXT NOT NULL, location_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Active', 'Submitted', 'Cancelled')),
    fulfillment_method TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    last_activity_ms INTEGER NOT NULL,
    reminders INTEGER NOT NULL DEFAULT 0 CHECK (reminders BETWEEN 0 AND 2)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE cart_items (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cart_id TEXT NOT NULL REFERENCES carts (id),
    product_id TEXT NOT NULL, product_name TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 1), created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX items_of_cart ON cart_items (cart_id);
`;

export const CART_DUE = 'cart';

interface CartRow extends Stored<Omit<Cart, 'items'>> {
  readonly last_activity_ms: number;
  /** The number of events since the last activity: cart.abandoned, then cart.expires_soon. */
  readonly reminders: 0 | 1 | 2;
}

/** Interface 4.1 and A1. */
export function createCart(
  tx: Transaction,
  { body }: Input<'createCart'>,
  { assumptions }: Surroundings,
): Result<'createCart'> {
  const { user_id, location_id, status = 'Active', fulfillment_method } = body;
  if (status !== 'Active') throw invalid('status', 'must be Active in a new cart');
  const merchant_id = merchantOfLocation(location_id);
  const id = tx.newId('cart');
  const times = { created_ms: tx.now, updated_ms: tx.now, last_activity_ms: tx.now };
  insert(tx, 'carts', { id, user_id, merchant_id, location_id, status, fulfillment_method, ...times });
  setDue(tx, CART_DUE, id, tx.now + assumptions.abandonedAfterMs);
  return { data: id };
}

/** Interface 4.2. */
export function getCart(db: Reading, { params: { id } }: Input<'getCart'>): Result<'getCart'> {
  const { last_activity_ms: _, reminders: __, created_ms, updated_ms, ...cart } = cartRow(db, id);
  const sql = `SELECT id, cart_id, product_id, product_name, quantity, created_ms, updated_ms
    FROM cart_items WHERE cart_id = ? ORDER BY seq`;
  const items = db.all<Stored<CartItem>>(sql, id).map(withTimes);
  return { data: withTimes({ ...cart, items, created_ms, updated_ms }) };
}

/** Interface 4.3 and A2. */
export function updateCart(tx: Transaction, { params, body }: Input<'updateCart'>): Result<'updateCart'> {
  const { id } = params;
  const { status } = body;
  const cart = cartRow(tx, id);
  if (cart.status === status) return { data: true };
  if (cart.status !== 'Active') throw conflict(`A cart that is ${cart.status} cannot change its status.`, cart);
  if (status === 'Submitted' && contentOf(tx, id).lines === 0)
    throw conflict('A cart without items cannot be submitted.', cart);
  leaveActive(tx, id, status);
  return { data: true };
}

/** Interface 4.4 and A1. */
export function addCartItem(
  tx: Transaction,
  { params, body }: Input<'addCartItem'>,
  { assumptions }: Surroundings,
): Result<'addCartItem'> {
  const { id: cart_id } = params;
  const { product_id, product_name, quantity } = body;
  const cart = cartRow(tx, cart_id);
  const product = offeredProduct(tx, cart.location_id, product_id);
  requireActive(cart);
  if (contentOf(tx, cart_id).lines >= assumptions.maxItems) {
    throw conflict(`A cart can have at most ${assumptions.maxItems} items.`, cart);
  }
  const id = tx.newId('item');
  const times = { created_ms: tx.now, updated_ms: tx.now };
  insert(tx, 'cart_items', { id, cart_id, product_id, product_name, quantity, ...times });
  noteActivity(tx, cart_id, assumptions);
  return { data: id, messages: stockMessages(product, quantity) };
}

/** Interface 4.5 and A2. */
export function updateCartItem(
  tx: Transaction,
  { params: { cartId, itemId }, body: { quantity } }: Input<'updateCartItem'>,
  { assumptions }: Surroundings,
): Result<'updateCartItem'> {
  const cart = cartRow(tx, cartId);
  const find = 'SELECT product_id FROM cart_items WHERE id = ? AND cart_id = ?';
  const item = tx.get<Pick<CartItem, 'product_id'>>(find, itemId, cartId);
  if (item === undefined) throw notFound('cart_item', itemId);
  requireActive(cart);
  tx.run('UPDATE cart_items SET quantity = ?, updated_ms = ? WHERE id = ?', quantity, tx.now, itemId);
  noteActivity(tx, cartId, assumptions);
  return { data: true, messages: stockMessages(offeredProduct(tx, cart.location_id, item.product_id), quantity) };
}

export function stepCart(tx: Transaction, id: string, { expiresSoonAfterMs, expiredAfterMs }: Assumptions): void {
  const { status, reminders, user_id, last_activity_ms } = cartRow(tx, id);
  if (status !== 'Active') return;
  if (reminders === 2) return leaveActive(tx, id, 'Cancelled');
  const { cents, units } = contentOf(tx, id);
  emit(tx, reminders === 0 ? 'cart.abandoned' : 'cart.expires_soon', {
    id,
    user_id,
    last_activity: timeText(last_activity_ms),
    total_value: usdOf(cents),
    item_count: units,
  });
  tx.run('UPDATE carts SET reminders = ? WHERE id = ?', reminders + 1, id);
  setDue(tx, CART_DUE, id, last_activity_ms + (reminders === 0 ? expiresSoonAfterMs : expiredAfterMs));
}

/** Amounts are by the current prices. */
function contentOf(db: Reading, id: string): { readonly lines: number; readonly cents: Cents; readonly units: number } {
  type Item = Pick<CartItem, 'product_id' | 'quantity'>;
  const items = db.all<Item>('SELECT product_id, quantity FROM cart_items WHERE cart_id = ?', id);
  const cents = items.reduce((sum, { product_id, quantity }) => sum + productOf(product_id).price_cents * quantity, 0);
  return { lines: items.length, cents, units: items.reduce((sum, { quantity }) => sum + quantity, 0) };
}

function cartRow(db: Reading, id: string): CartRow {
  const row = db.get<CartRow>('SELECT * FROM carts WHERE id = ?', id);
  if (row === undefined) throw notFound('cart', id);
  return row;
}

function requireActive(cart: CartRow): void {
  if (cart.status !== 'Active') throw conflict('Items can change only while the cart is Active.', cart);
}

function conflict(message: string, { status }: CartRow): ApiError {
  return new ApiError('RESOURCE_CONFLICT', message, { resource_state: status });
}

function leaveActive(tx: Transaction, id: string, status: CartStatus): void {
  tx.run('UPDATE carts SET status = ?, updated_ms = ? WHERE id = ?', status, tx.now, id);
  clearDue(tx, CART_DUE, id);
}

/** Restarts the idle time. */
function noteActivity(tx: Transaction, id: string, { abandonedAfterMs }: Assumptions): void {
  tx.run('UPDATE carts SET updated_ms = ?, last_activity_ms = ?, reminders = 0 WHERE id = ?', tx.now, tx.now, id);
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
