import { serve } from '@hono/node-server';
import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { opsPage } from 'hookbox/ops/page';
import { sqliteInbox } from 'hookbox/sqlite';
import { handlers } from './handlers.mjs';
import { createTables, orders, stock } from './tables.mjs';

const database = new Database(process.env.HOOKBOX_DB ?? 'shop.db');
const inbox = sqliteInbox({ database });
const db = drizzle({ client: database });
createTables(db);
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox, handlers });
const page = opsPage(receiver, {
  basic: [{ user: 'operator', password: process.env.OPS_PASSWORD, role: 'operator' }],
});
await receiver.start();

const app = new Hono();
app.all('/webhooks', webhookHandler(receiver));
app.route('/ops', page);
app.get('/orders', (c) => c.json(db.select().from(orders).all()));
app.get('/stock', (c) => c.json(db.select().from(stock).all()));
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, () =>
  console.log('the shop is open'),
);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close(); // no new requests
    await receiver.close(); // finishes the running requests and handlers, or gives them back
    await inbox.close();
    database.close();
    server.closeAllConnections(); // pages of operators that are still open
  });
}
