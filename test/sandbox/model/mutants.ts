import type * as carts from '../../../src/sandbox/carts.ts';
import type * as due from '../../../src/sandbox/due.ts';
import type * as events from '../../../src/sandbox/events.ts';
import type * as inventory from '../../../src/sandbox/inventory.ts';
import type * as resources from '../../../src/sandbox/resources.ts';
import type * as orders from '../../../src/sandbox/orders.ts';
import type * as payments from '../../../src/sandbox/payments.ts';
import type { PromiseName } from './violation.ts';

export interface Mutant {
  readonly name: string;
  readonly breaks: readonly PromiseName[];
  readonly module: string;
  readonly replace: (actual: object) => object;
}

function inModule<Module extends object>(module: string) {
  return (name: string, breaks: Mutant['breaks'], replace: (actual: Module) => Partial<Module>): Mutant => ({
    name,
    breaks,
    module,
    replace: (actual) => replace(actual as Module),
  });
}

const inCarts = inModule<typeof carts>('carts');
const inDue = inModule<typeof due>('due');
const inEvents = inModule<typeof events>('events');
const inInventory = inModule<typeof inventory>('inventory');
const inOrders = inModule<typeof orders>('orders');
const inPayments = inModule<typeof payments>('payments');
const inResources = inModule<typeof resources>('resources');

const ANSWERS = 'answers are what the state says';
const STOCK = 'stock is what nobody has taken';
const ORDERS = 'orders go as they may';
const CHARGES = 'charged once, and given back';
const CARTS = 'carts are what their clients made them';
const EVENTS = 'each event once, in order';

export const mutants: readonly Mutant[] = [
  inInventory('nobody asks whether there is enough', [ANSWERS], () => ({ requireStock() {} })),
  inInventory('lines of one product are looked at one by one', [ANSWERS], ({ requireStock }) => ({
    requireStock(db, location, lines) {
      for (const line of lines) requireStock(db, location, [line]);
    },
  })),
  inInventory('stock is not taken', [STOCK], () => ({ takeStock() {} })),
  inInventory('stock is taken without a word', [EVENTS], ({ byProduct }) => ({
    takeStock(tx, location, lines) {
      const sql = 'UPDATE stock SET quantity = quantity - ? WHERE location_id = ? AND product_id = ?';
      for (const { product_id, quantity } of byProduct(lines)) tx.run(sql, quantity, location, product_id);
    },
  })),
  inInventory('stock does not go back', [STOCK], () => ({ giveBackStock() {} })),
  inInventory('stock goes back twice', [STOCK], ({ giveBackStock }) => ({
    giveBackStock(...what) {
      giveBackStock(...what);
      giveBackStock(...what);
    },
  })),
  inPayments('who is declined has paid', [ANSWERS], ({ charge }) => ({ charge: (tx, bill) => charge(tx, bill, 'ok') })),
  inPayments('nothing is refunded', [CHARGES], () => ({ refund() {} })),
  inOrders('a decline is taken back with its transaction', [CHARGES, ANSWERS], ({ submitOrder }) => ({
    submitOrder(...what) {
      const outcome = submitOrder(...what);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  })),
  inOrders('an order is submitted again', [ANSWERS], ({ submitOrder }) => ({
    submitOrder(tx, input, ...more) {
      const { orderId } = input.params;
      tx.run('UPDATE orders SET submitted_ms = NULL WHERE id = ?', orderId);
      tx.run("DELETE FROM charges WHERE state = 'charged' AND order_id = ?", orderId);
      return submitOrder(tx, input, ...more);
    },
  })),
  inResources('any move is legal', [ORDERS], ({ ORDER_STATUSES }) => ({ legalMoves: () => ORDER_STATUSES })),
  inResources('a ready order stays so', [ORDERS], ({ nextStatus }) => ({
    nextStatus: (from) => (from === 'ready' ? null : nextStatus(from)),
  })),
  inResources('part of a cent of tax is let off', [ORDERS], () => ({
    partOf: (cents, rate) => Math.floor((cents * Math.round(rate * 100)) / 100),
  })),
  inCarts('a cart is submitted without items', [ANSWERS], () => ({
    updateCart(tx, { params, body }) {
      tx.run('UPDATE carts SET status = ? WHERE id = ?', body.status, params.id);
      return { data: true };
    },
  })),
  inCarts('items change in any cart', [ANSWERS], () => ({
    updateCartItem(tx, { params, body }) {
      tx.run('UPDATE cart_items SET quantity = ? WHERE id = ?', body.quantity, params.itemId);
      return { data: true };
    },
  })),
  inCarts('what is added twice is one line', [CARTS], ({ addCartItem }) => ({
    addCartItem(tx, input, around) {
      const sql = 'SELECT id FROM cart_items WHERE cart_id = ? AND product_id = ?';
      const known = tx.get(sql, input.params.id, input.body.product_id) as { readonly id: string } | undefined;
      if (known === undefined) return addCartItem(tx, input, around);
      tx.run('UPDATE cart_items SET quantity = quantity + ? WHERE id = ?', input.body.quantity, known.id);
      return { data: known.id };
    },
  })),
  inDue('a cart that was touched is idle since it was made', [EVENTS], ({ setDue }) => ({
    setDue(tx, kind, subject, ...more) {
      const isDue = tx.get('SELECT 1 FROM due WHERE kind = ? AND subject = ?', kind, subject) !== undefined;
      if (kind !== 'cart' || !isDue) setDue(tx, kind, subject, ...more);
    },
  })),
  inEvents('low stock is told again and again', [EVENTS], ({ emit }) => ({
    emit(tx, type, data) {
      const id = emit(tx, type, data);
      const wasLow = type === 'inventory.updated' && Number(Reflect.get(data, 'previous_quantity')) <= 5;
      const isLow = Number(Reflect.get(data, 'current_quantity')) <= 5;
      if (wasLow && isLow) emit(tx, 'inventory.low_stock', data as Parameters<typeof emit<'inventory.low_stock'>>[2]);
      return id;
    },
  })),
  inEvents('an event comes twice', [EVENTS], ({ emit }) => ({
    emit(tx, type, data) {
      if (type === 'order.completed') emit(tx, type, data);
      return emit(tx, type, data);
    },
  })),
  inEvents('an event is forgotten', [EVENTS], ({ emit }) => ({
    emit: (tx, type, data) => (type === 'cart.expires_soon' ? '' : emit(tx, type, data)),
  })),
];
