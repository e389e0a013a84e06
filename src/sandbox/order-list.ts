import { usdOf } from './money.ts';
import { legalMoves, type OrderStatus } from './order-moves.ts';
import { getOrder, type OrderRow } from './orders.ts';
import type { Order } from './resources.ts';
import type { Reading } from './store.ts';

/** An order, with facts that are not in its body. */
export interface OrderSummary {
  readonly id: string;
  readonly status: OrderStatus;
  readonly merchantId: string;
  readonly locationId: string;
  /** In USD. */
  readonly total: number;
  /**
   * `true` if the order was charged and reserves stock. If the order is cancelled or fails, the charge is refunded and
   * the stock released.
   */
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

/** The newest orders first. */
export function listOrders(db: Reading, most: number, { status, before }: OrderFilter = {}): readonly OrderSummary[] {
  const wanted = [
    ...(status === undefined ? [] : [{ sql: 'status = ?', value: status }]),
    ...(before === undefined ? [] : [{ sql: 'seq < (SELECT seq FROM orders WHERE id = ?)', value: before }]),
  ];
  const where = wanted.length === 0 ? '' : `WHERE ${wanted.map(({ sql }) => sql).join(' AND ')}`;
  const sql = `SELECT * FROM orders ${where} ORDER BY seq DESC LIMIT ?`;
  return (db.all(sql, ...wanted.map(({ value }) => value), most) as readonly OrderRow[]).map(summaryOf);
}

/** One order; `null` where there is none. */
export function findOrder(db: Reading, id: string): OrderRecord | null {
  const row = db.get('SELECT * FROM orders WHERE id = ?', id) as OrderRow | undefined;
  return row === undefined ? null : { ...summaryOf(row), order: getOrder(db, id) };
}

/** How many orders there are in each state. */
export function countOrders(db: Reading): Readonly<Record<OrderStatus, number>> {
  const rows = db.all('SELECT status, count(*) AS n FROM orders GROUP BY status') as readonly {
    readonly status: OrderStatus;
    readonly n: number;
  }[];
  const none = { created: 0, confirmed: 0, ready: 0, completed: 0, cancelled: 0, failed: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ status, n }) => [status, n])) };
}

function summaryOf(row: OrderRow): OrderSummary {
  return {
    id: row.id,
    status: row.status,
    merchantId: row.merchant_id,
    locationId: row.location_id,
    total: usdOf(row.total),
    isSubmitted: row.submitted_ms !== null,
    moves: legalMoves(row.status),
    customerName: (JSON.parse(row.customer) as Order['customer']).name,
    createdAt: new Date(row.created_ms),
    updatedAt: new Date(row.updated_ms),
    estimatedReadyAt: row.estimated_ready_ms === null ? null : new Date(row.estimated_ready_ms),
  };
}
