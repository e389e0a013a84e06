import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { isKnown } from 'hookbox';
import { webhookVerifier } from 'hookbox/hono';

const app = new Hono();
app.post('/webhooks', webhookVerifier({ secret: process.env.SIGNING_SECRET }), (c) => {
  const event = c.var.webhookEvent;
  if (event.type === null) console.log(`${event.id} does not fit:`, event.issues);
  else if (!isKnown(event)) console.log(`${event.type} is new to us`);
  else if (event.type === 'order.created') console.log(event.data.total);
  return c.json({ received: true });
});
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
