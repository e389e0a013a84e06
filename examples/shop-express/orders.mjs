import { PermanentError } from 'hookbox';

/** The shop's own tables. They are in the inbox's file, so one transaction writes both. */
export function createTables(database) {
  database.exec(`
    CREATE TABLE IF NOT EXISTS orders (
      id TEXT PRIMARY KEY, status TEXT NOT NULL, total REAL, currency TEXT
    ) STRICT;
    CREATE TABLE IF NOT EXISTS order_lines (
      order_id TEXT NOT NULL REFERENCES orders, product_id TEXT NOT NULL, quantity REAL NOT NULL,
      PRIMARY KEY (order_id, product_id)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS reserved (product_id TEXT PRIMARY KEY, quantity REAL NOT NULL) STRICT;
  `);
}

/**
 * What a handler writes in ctx.transaction is committed together with the mark that its event is processed, or not at all: so each
 * order reserves its products once, whatever is sent twice and whenever the process dies.
 */
export const handlers = {
  'order.created': (event, ctx) =>
    ctx.transaction((database) => {
      const { status } = keep(database, event, ctx, 'created');
      if (status !== 'cancelled' && status !== 'failed') reserve(database, event);
    }),
  'order.confirmed': (event, ctx) => ctx.transaction((database) => void keep(database, event, ctx, 'confirmed')),
  'order.ready': (event, ctx) => ctx.transaction((database) => void keep(database, event, ctx, 'ready')),
  'order.completed': (event, ctx) => ctx.transaction((database) => void keep(database, event, ctx, 'completed')),
  'order.cancelled': (event, ctx) =>
    ctx.transaction((database) => {
      keep(database, event, ctx, 'cancelled');
      giveBack(database, event);
    }),
  'order.failed': (event, ctx) =>
    ctx.transaction((database) => {
      keep(database, event, ctx, 'failed');
      giveBack(database, event);
    }),
  '*': () => {}, // all others are nothing to this shop
};

export function listOrders(database) {
  return database.prepare('SELECT id, status, total, currency FROM orders ORDER BY id').all();
}

export function listReserved(database) {
  return database.prepare('SELECT product_id, quantity FROM reserved WHERE quantity > 0 ORDER BY product_id').all();
}

/** The order as it stands now: an event that comes late, after a newer one of its order, leaves the status alone. */
function keep(database, { data }, { superseded }, status) {
  // The service promises no field. Without an id no later try can do better.
  if (data.id == null) throw new PermanentError('an order without an id');
  const kept = `INSERT INTO orders (id, status, total, currency) VALUES (@id, @status, @total, @currency)
    ON CONFLICT (id) DO UPDATE SET
      status = iif(@superseded, status, excluded.status),
      total = coalesce(excluded.total, total), currency = coalesce(excluded.currency, currency)
    RETURNING status`;
  const { id, total = null, currency = null } = data;
  return database.prepare(kept).get({ id, status, total, currency, superseded: Number(superseded) });
}

function reserve(database, { data }) {
  const line = database.prepare('INSERT OR IGNORE INTO order_lines (order_id, product_id, quantity) VALUES (?, ?, ?)');
  const more = database.prepare(`INSERT INTO reserved (product_id, quantity) VALUES (?, ?)
    ON CONFLICT (product_id) DO UPDATE SET quantity = quantity + excluded.quantity`);
  const quantities = new Map();
  for (const { product_id, quantity } of data.items ?? []) {
    if (product_id != null) quantities.set(product_id, (quantities.get(product_id) ?? 0) + (quantity ?? 0));
  }
  for (const [product, quantity] of quantities) {
    // An operator may run an event again: the lines of its order are there then.
    if (line.run(data.id, product, quantity).changes === 1) more.run(product, quantity);
  }
}

function giveBack(database, { data }) {
  const lines = database
    .prepare('DELETE FROM order_lines WHERE order_id = ? RETURNING product_id, quantity')
    .all(data.id);
  const less = database.prepare('UPDATE reserved SET quantity = quantity - ? WHERE product_id = ?');
  for (const { product_id, quantity } of lines) less.run(quantity, product_id);
}
