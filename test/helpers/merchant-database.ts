import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { scratchFile } from './scratch-folder.ts';

/** An open connection to a file that already holds a merchant's own tables; closed after the running test. */
export function merchantDatabase(file = scratchFile(), options: Database.Options = {}): Database.Database {
  const database = openMerchantDatabase(file, options);
  onTestFinished(() => void database.close());
  return database;
}

/** The same for whoever closes it. */
export function openMerchantDatabase(file: string, options: Database.Options = {}): Database.Database {
  const database = new Database(file, options);
  database.exec(`
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, total REAL) STRICT;
    CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, id TEXT);
    CREATE INDEX IF NOT EXISTS events_by_id ON events (id);
    CREATE VIEW IF NOT EXISTS large_orders AS SELECT * FROM orders WHERE total > 100;
    INSERT OR IGNORE INTO orders VALUES ('ord_1', 42.5), ('ord_2', 420);
    INSERT OR IGNORE INTO events VALUES (1, 'evt_1');
  `);
  return database;
}
