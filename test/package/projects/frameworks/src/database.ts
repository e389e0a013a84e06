import Database from 'better-sqlite3';
import { createReceiver, type Receiver } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';

/** The inbox beside the merchant's own tables. */
export function receiverIn(database: Database.Database): Receiver {
  return createReceiver({
    secret: process.env['SIGNING_SECRET'],
    inbox: sqliteInbox({ database }),
    handlers: {
      'inventory.low_stock': (event, context) =>
        context.transaction((connection) => {
          const given: Database.Database = connection; // all of it, and not only what hookbox uses
          given.exec(`UPDATE stock SET quantity = ${Number(event.data.current_quantity)}`);
        }),
    },
  });
}

export const opened = (): Receiver => receiverIn(new Database('shop.db'));
