import type { Assumptions } from './assumptions.ts';
import { merchantOfLocation, offeredProduct, productOf } from './catalogue.ts';
import { ApiError } from './errors.ts';
import { emit } from './events.ts';
import type { Reading, Transaction } from './store.ts';

export const INVENTORY_TABLES = `
  CREATE TABLE stock (
    location_id TEXT NOT NULL, product_id TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 0), PRIMARY KEY (location_id, product_id)
  ) STRICT, WITHOUT ROWID;
`;

/** Quantities are int32 (interface 2.3). */
export const MOST_STOCK = 2 ** 31 - 1;

interface Line {
  readonly product_id: string;
  readonly quantity: number;
}

export function byProduct(lines: readonly Line[]): readonly Line[] {
  const sums = new Map<string, number>();
  for (const { product_id, quantity } of lines) sums.set(product_id, (sums.get(product_id) ?? 0) + quantity);
  return [...sums].map(([product_id, quantity]) => ({ product_id, quantity }));
}

/** @throws ApiError `INSUFFICIENT_INVENTORY` for the first product whose lines together exceed the stock */
export function requireStock(db: Reading, locationId: string, lines: readonly Line[]): void {
  for (const { product_id, quantity } of byProduct(lines)) {
    const available = offeredProduct(db, locationId, product_id).quantity;
    if (quantity > available) {
      throw new ApiError('INSUFFICIENT_INVENTORY', 'The quantity of a product exceeds the stock.', {
        available_quantity: available,
        requested_quantity: quantity,
        product_id,
      });
    }
  }
}

export function takeStock(
  tx: Transaction,
  locationId: string,
  lines: readonly Line[],
  assumptions: Pick<Assumptions, 'lowStockAt'>,
): void {
  const taken = lines.map(({ product_id, quantity }) => ({ product_id, quantity: -quantity }));
  giveBackStock(tx, locationId, taken, assumptions);
}

export function giveBackStock(
  tx: Transaction,
  locationId: string,
  lines: readonly Line[],
  { lowStockAt }: Pick<Assumptions, 'lowStockAt'>,
): void {
  for (const { product_id, quantity } of byProduct(lines))
    changeStock(tx, locationId, product_id, quantity, lowStockAt);
}

/** Sets the stock of a product. Sends no event if the stock does not change. */
export function setStock(
  tx: Transaction,
  locationId: string,
  productId: string,
  quantity: number,
  { lowStockAt }: Pick<Assumptions, 'lowStockAt'>,
): void {
  const before = offeredProduct(tx, locationId, productId).quantity;
  if (before !== quantity) changeStock(tx, locationId, productId, quantity - before, lowStockAt);
}

/** The only place where stock changes (A5, A6). */
function changeStock(tx: Transaction, location_id: string, product_id: string, by: number, lowStockAt: number): void {
  const before = offeredProduct(tx, location_id, product_id).quantity;
  const after = before + by;
  tx.run('UPDATE stock SET quantity = ? WHERE location_id = ? AND product_id = ?', after, location_id, product_id);
  const merchant_id = merchantOfLocation(location_id);
  const data = { product_id, merchant_id, location_id, previous_quantity: before, current_quantity: after };
  emit(tx, 'inventory.updated', data);
  if (before > lowStockAt && after <= lowStockAt) emit(tx, 'inventory.low_stock', data);
  if (before > 0 && after === 0) emit(tx, 'inventory.out_of_stock', data);
}

/** The stock of a product at a location. */
export interface StockLevel {
  readonly locationId: string;
  readonly productId: string;
  readonly productName: string;
  readonly quantity: number;
}

export function listStock(db: Reading): readonly StockLevel[] {
  const sql = 'SELECT location_id AS locationId, product_id AS productId, quantity FROM stock ORDER BY 1, 2';
  const rows = db.all<Omit<StockLevel, 'productName'>>(sql);
  return rows.map((row) => ({ ...row, productName: productOf(row.productId).name }));
}
