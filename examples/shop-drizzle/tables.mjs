import { sql } from 'drizzle-orm';
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const orders = sqliteTable('orders', { id: text().primaryKey(), total: real() });
export const stock = sqliteTable('stock', {
  product: text().primaryKey(),
  quantity: integer().notNull(),
  at: integer().notNull(),
});

/** The tables are in the inbox's file, so one transaction writes them and marks the event. */
export function createTables(db) {
  db.run(sql`CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, total REAL) STRICT`);
  db.run(sql`CREATE TABLE IF NOT EXISTS stock (
    product TEXT PRIMARY KEY, quantity INTEGER NOT NULL, at INTEGER NOT NULL
  ) STRICT`);
}
