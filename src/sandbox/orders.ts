import { assertOptions, oneOf, whole, type RulesFor } from '../option-rules.ts';
import type { Assumptions } from './assumptions.ts';
import { merchantOfLocation, offeredProduct } from './catalogue.ts';
import { clearDue, setDue } from './due.ts';
import { invalid, notFound, ApiError } from './errors.ts';
import { emit } from './events.ts';
import { takeFault } from './faults.ts';
import { giveBackStock, MOST_STOCK, requireStock, takeStock } from './inventory.ts';
import { charge, paymentOutcome, refund } from './payments.ts';
import { centsOf, legalMoves, nextStatus, partOf, timeText, usdOf } from './resources.ts';
import type { FulfillmentMethod, Order, OrderStatus } from './resources.ts';
import type { Input, Result, Surroundings } from './service-operations.ts';
import { countBy, insert, whereAll, type Reading, type Transaction } from './store.ts';

export const ORDER_TABLES = `
  CREATE TABLE orders (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL CHECK (status IN ('created', 'confirmed', 'ready', 'completed', 'cancelled', 'failed')),
    fulfillment_method TEXT NOT NULL, body TEXT NOT NULL,
    submitted_ms INTEGER, estimated_ready_ms INTEGER, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX orders_by_status ON orders (status);
`;

export const ORDER_DUE = 'order';

interface OrderRow {
  readonly id: string;
  readonly status: OrderStatus;
  readonly fulfillment_method: FulfillmentMethod;
  /** The order of interface 2.4, which never changes. */
  readonly body: string;
  readonly submitted_ms: number | null;
  readonly estimated_ready_ms: number | null;
  readonly created_ms: number;
  readonly updated_ms: number;
}

/** Interface 4.6: takes no stock and charges nothing yet. */
export function createOrder(
  tx: Transaction,
  { body }: Input<'createOrder'>,
  { assumptions }: Surroundings,
): Result<'createOrder'> {
  const { items, location_id, fulfillment_method, dropoff_instructions = '' } = body;
  const { maxItems, taxRate, deliveryFee } = assumptions;
  if (items.length > maxItems) throw invalid('items', `must have at most ${maxItems} entries`);
  const merchant_id = merchantOfLocation(location_id);
  const offered = items.map(({ product_id, quantity }) => ({
    quantity,
    product: offeredProduct(tx, location_id, product_id),
  }));
  requireStock(tx, location_id, items);

  const customer = customerOf(tx, body.customer);
  const subtotal = offered.reduce((sum, { quantity, product }) => sum + product.price_cents * quantity, 0);
  const tax = partOf(subtotal, taxRate);
  const fee = fulfillment_method === 'Delivery' ? centsOf(deliveryFee) : 0;
  const tip = centsOf(body.tip ?? 0);
  const order: Order = {
    id: tx.newId('ord'),
    tip: usdOf(tip),
    subtotal: usdOf(subtotal),
    tax: usdOf(tax),
    total: usdOf(subtotal + tax + fee + tip),
    customer,
    fees: fee === 0 ? [] : [{ amount: usdOf(fee) }],
    fee_total: usdOf(fee),
    items: offered.map(({ quantity, product: { id: product_id, name: product_name, price_cents } }) => ({
      quantity,
      price: usdOf(price_cents),
      product_id,
      product_name,
    })),
    merchant_id,
    location_id,
    dropoff_instructions,
  };
  const { id } = order;
  const times = { created_ms: tx.now, updated_ms: tx.now };
  insert(tx, 'orders', { id, status: 'created', fulfillment_method, body: JSON.stringify(order), ...times });
  emit(tx, 'order.created', eventData(orderRow(tx, id), order));
  return { data: order };
}

/** A returned rejection, unlike a thrown one, is committed: the declined charge has happened (4.7, A4). */
export function submitOrder(
  tx: Transaction,
  { params: { orderId: id }, body: { payment_method_id: paymentMethodId } }: Input<'submitOrder'>,
  { assumptions }: Surroundings,
): Result<'submitOrder'> | ApiError {
  const { status, submitted_ms, body } = orderRow(tx, id);
  const order = JSON.parse(body) as Order;
  const bill = { orderId: id, merchantId: order.merchant_id, paymentMethodId, cents: centsOf(order.total) };
  const usual = paymentOutcome(tx, bill);
  if (status !== 'created') throw conflict('The status of the order has already changed.', status);
  if (submitted_ms !== null) throw conflict('The order was already submitted.', 'submitted');
  requireStock(tx, order.location_id, order.items);
  const declined = charge(tx, bill, takeFault(tx, 'submitOrder', 'decline')?.outcome ?? usual);
  if (declined !== null) return declined;

  const confirmedAt = tx.now + assumptions.confirmedAfterMs;
  const sql = 'UPDATE orders SET submitted_ms = ?, estimated_ready_ms = ?, updated_ms = ? WHERE id = ?';
  tx.run(sql, tx.now, confirmedAt + assumptions.readyAfterMs, tx.now, id);
  takeStock(tx, order.location_id, order.items, assumptions);
  setDue(tx, ORDER_DUE, id, confirmedAt);
  return { data: order };
}

/** An order of one product, to place without a request. */
export interface OrderByHand {
  readonly locationId: string;
  readonly productId: string;
  /** @defaultValue 1 */
  readonly quantity?: number;
  /** @defaultValue `'Pickup'` */
  readonly fulfillment?: 'Delivery' | 'Pickup' | 'Shipping';
  readonly customerName?: string;
  /**
   * Submits the order with this payment method.
   *
   * @defaultValue none: the order is not submitted
   */
  readonly paymentMethodId?: string;
}

const BY_HAND: RulesFor<OrderByHand> = {
  locationId: true,
  productId: true,
  quantity: whole(1, MOST_STOCK),
  fulfillment: oneOf('Delivery', 'Pickup', 'Shipping'),
  customerName: true,
  paymentMethodId: true,
};

export function placeByHand(tx: Transaction, placed: OrderByHand, around: Surroundings): string {
  assertOptions('order', placed, BY_HAND);
  const { locationId, productId, quantity = 1, fulfillment = 'Pickup', customerName = '', paymentMethodId } = placed;
  const { id } = createOrder(
    tx,
    {
      params: {},
      query: undefined,
      body: {
        customer: { name: customerName },
        items: [{ product_id: productId, quantity }],
        location_id: locationId,
        fulfillment_method: fulfillment,
      },
    },
    around,
  ).data;
  // A declined payment is returned, not thrown, so the order stays.
  if (paymentMethodId !== undefined) {
    submitOrder(
      tx,
      { params: { orderId: id }, query: undefined, body: { payment_method_id: paymentMethodId } },
      around,
    );
  }
  return id;
}

/** @throws ApiError `RESOURCE_CONFLICT` for a move that is not legal (A3, A5) */
export function moveOrder(tx: Transaction, id: string, to: OrderStatus, assumptions: Assumptions): void {
  const { status, fulfillment_method, body, submitted_ms, estimated_ready_ms } = orderRow(tx, id);
  if (!legalMoves(status).includes(to)) throw conflict(`An order that is ${status} cannot become ${to}.`, status);
  const order = JSON.parse(body) as Order;
  const readyAt = to === 'confirmed' ? tx.now + assumptions.readyAfterMs : estimated_ready_ms;
  const sql = 'UPDATE orders SET status = ?, estimated_ready_ms = ?, updated_ms = ? WHERE id = ?';
  tx.run(sql, to, readyAt, tx.now, id);
  if ((to === 'cancelled' || to === 'failed') && submitted_ms !== null) {
    refund(tx, id);
    giveBackStock(tx, order.location_id, order.items, assumptions);
  }
  const data = eventData(orderRow(tx, id), order);
  const { dropoff_instructions: special_instructions } = order;
  if (to === 'confirmed') emit(tx, 'order.confirmed', { ...data, fulfillment_method, special_instructions });
  else emit(tx, `order.${to}`, data);
  if (to === 'confirmed') setDue(tx, ORDER_DUE, id, tx.now + assumptions.readyAfterMs);
  else if (to === 'ready') setDue(tx, ORDER_DUE, id, tx.now + assumptions.completedAfterMs);
  else clearDue(tx, ORDER_DUE, id);
}

export function stepOrder(tx: Transaction, id: string, assumptions: Assumptions): void {
  const next = nextStatus(orderRow(tx, id).status);
  if (next === null) return;
  moveOrder(tx, id, takeFault(tx, null, 'fail-order') === null ? next : 'failed', assumptions);
}

/** Interface 6.2. */
function eventData(
  { status, estimated_ready_ms }: OrderRow,
  order: Order,
): Parameters<typeof emit<'order.created'>>[2] {
  const { id, merchant_id, customer, total, items } = order;
  return {
    id,
    status,
    merchant_id,
    user_id: customer.id,
    total,
    currency: 'USD',
    items: items.map(({ product_id, quantity, price }) => ({ product_id, quantity, price })),
    ...(estimated_ready_ms !== null && { estimated_ready_time: timeText(estimated_ready_ms) }),
  };
}

function customerOf(tx: Transaction, sent: Input<'createOrder'>['body']['customer']): Order['customer'] {
  const { address = {} } = sent;
  const street = address.street_address ?? '';
  const numbered = /^(\d\S*)\s+(\S.*)$/.exec(street);
  return {
    id: sent.id === undefined || sent.id === '' ? tx.newId('usr') : sent.id,
    name: sent.name ?? '',
    phone: sent.phone_number ?? '',
    email: sent.email ?? '',
    address: {
      street_number: numbered?.[1] ?? '',
      street_name: numbered?.[2] ?? street,
      street_address: street,
      street_address_detail: address.street_address_detail ?? '',
      city: address.city ?? '',
      region: address.region ?? '',
      postal_code: address.postal_code ?? '',
      country: address.country ?? '',
    },
  };
}

function orderRow(db: Reading, id: string): OrderRow {
  const row = db.get<OrderRow>('SELECT * FROM orders WHERE id = ?', id);
  if (row === undefined) throw notFound('order', id);
  return row;
}

function conflict(message: string, state: string): ApiError {
  return new ApiError('RESOURCE_CONFLICT', message, { resource_state: state });
}

/** An order, with facts that are not in its body. */
export interface OrderSummary {
  readonly id: string;
  readonly status: OrderStatus;
  readonly merchantId: string;
  readonly locationId: string;
  /** In USD. */
  readonly total: number;
  /** `true` if the order was charged and reserves stock, until it is cancelled or fails. */
  readonly isSubmitted: boolean;
  /** The statuses that can be set by hand. */
  readonly moves: readonly OrderStatus[];
  /** Empty if the order has no customer. */
  readonly customerName: string;
  readonly createdAt: Date;
  /** When the order's status last changed, or when the order was submitted. */
  readonly updatedAt: Date;
  /** `null` until the order is submitted or confirmed. */
  readonly estimatedReadyAt: Date | null;
}

/** An order with its body. */
export interface OrderRecord extends OrderSummary {
  /** The order as the service returns it (section 2.4 of the service's interface). */
  readonly order: Order;
}

/** Conditions for orders. */
export interface OrderFilter {
  readonly status?: OrderStatus;
  /** Only orders older than the order with this id, for the next page. */
  readonly before?: string;
}

/** Lists orders, newest first. */
export function listOrders(db: Reading, most: number, { status, before }: OrderFilter = {}): readonly OrderSummary[] {
  const { where, values } = whereAll({ 'status = ?': status, 'seq < (SELECT seq FROM orders WHERE id = ?)': before });
  const sql = `SELECT * FROM orders ${where} ORDER BY seq DESC LIMIT ?`;
  return db.all<OrderRow>(sql, ...values, most).map((row) => {
    const { order: _, ...summary } = recordOf(row);
    return summary;
  });
}

export function findOrder(db: Reading, id: string): OrderRecord | null {
  const row = db.get<OrderRow>('SELECT * FROM orders WHERE id = ?', id);
  return row === undefined ? null : recordOf(row);
}

export function countOrders(db: Reading): Readonly<Record<OrderStatus, number>> {
  const none = { created: 0, confirmed: 0, ready: 0, completed: 0, cancelled: 0, failed: 0 };
  return countBy(db, 'orders', 'status', none);
}

function recordOf(row: OrderRow): OrderRecord {
  const order = JSON.parse(row.body) as Order;
  return {
    id: row.id,
    status: row.status,
    merchantId: order.merchant_id,
    locationId: order.location_id,
    total: order.total,
    isSubmitted: row.submitted_ms !== null,
    moves: legalMoves(row.status),
    customerName: order.customer.name,
    createdAt: new Date(row.created_ms),
    updatedAt: new Date(row.updated_ms),
    estimatedReadyAt: row.estimated_ready_ms === null ? null : new Date(row.estimated_ready_ms),
    order,
  };
}
