import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { listEvents } from 'hookbox/ops';
import { opsPage } from 'hookbox/ops/page';
import { sqliteInbox } from 'hookbox/sqlite';
import { handlers } from './messages.mjs';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'shop.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox, handlers });
const page = opsPage(receiver, {
  basic: [{ user: 'operator', password: process.env.OPS_PASSWORD, role: 'operator' }],
});
await receiver.start();

const app = new Hono();
app.all('/webhooks', webhookHandler(receiver));
app.route('/ops', page);
app.get('/orders/:id', async (c) => {
  const { events } = await listEvents(inbox, { entity: c.req.param('id') });
  if (events.length === 0) return c.text('No such order.', 404);
  return c.html(
    html`<!doctype html>
      <h1>Order ${c.req.param('id')}</h1>
      <ol>
        ${events.map(({ type, state, receivedAt }) => html`<li>${type} at ${receivedAt.toISOString()}: ${state}</li>`)}
      </ol>`,
  );
});
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, () =>
  console.log('the shop is open'),
);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close(); // no new requests
    await receiver.close(); // finishes the running requests and handlers, or gives them back
    await inbox.close();
    server.closeAllConnections(); // pages of operators that are still open
  });
}
