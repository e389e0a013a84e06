import Database from 'better-sqlite3';
import express from 'express';
import { createReceiver } from 'hookbox';
import { pageHandler, webhookHandler } from 'hookbox/express';
import { opsPage } from 'hookbox/ops/page';
import { sqliteInbox } from 'hookbox/sqlite';
import { createTables, handlers, listOrders, listReserved } from './orders.mjs';

const database = new Database(process.env.HOOKBOX_DB ?? 'shop.db');
const inbox = sqliteInbox({ database }); // sets WAL, too
createTables(database);
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox, handlers });
const page = opsPage(receiver, {
  basic: [{ user: 'operator', password: process.env.OPS_PASSWORD, role: 'operator' }],
});
await receiver.start();

const app = express();
app.all('/webhooks', webhookHandler(receiver)); // before express.json(): hookbox needs the raw bytes
app.use('/ops', pageHandler(page));
app.use(express.json());
app.get('/orders', (req, res) => res.json(listOrders(database)));
app.get('/reserved', (req, res) => res.json(listReserved(database)));
const server = app.listen(process.env.PORT ?? 3000, () => console.log('the shop is open'));

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close(); // no new requests
    await receiver.close(); // finishes the running requests and handlers, or gives them back
    await inbox.close();
    database.close();
    server.closeAllConnections(); // pages of operators that are still open
  });
}
