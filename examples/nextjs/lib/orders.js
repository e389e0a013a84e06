import Database from 'better-sqlite3';

const file = process.env.HOOKBOX_DB ?? 'hookbox.db';
const TABLE = 'CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, total REAL, currency TEXT) STRICT';

/** Keeps an order in the shop's own table, which is in the inbox's file: exactly once, in one transaction with the inbox. */
export function keepOrder({ data }, ctx) {
  return ctx.transaction((database) => {
    database.exec(TABLE);
    const keep = database.prepare('INSERT OR IGNORE INTO orders (id, total, currency) VALUES (?, ?, ?)');
    keep.run(data.id, data.total ?? null, data.currency ?? null);
  });
}

let database;

/** For the pages, on a connection of their own that is opened on first use. */
export function listOrders() {
  database ??= new Database(file);
  database.exec(TABLE);
  return database.prepare('SELECT id, total, currency FROM orders ORDER BY rowid DESC LIMIT 100').all();
}
