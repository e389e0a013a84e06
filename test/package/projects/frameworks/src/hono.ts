import { Hono } from 'hono';
import { isKnown, type Receiver } from 'hookbox';
import { pageHandler, webhookHandler, webhookVerifier, type WebhookVariables } from 'hookbox/hono';
import { opsPage } from 'hookbox/ops/page';

/** Of an older Hono, which does not learn what is in `c.var` from a verifier, it says so itself. */
export function app(receiver: Receiver): Hono<{ Variables: WebhookVariables }> {
  const app = new Hono<{ Variables: WebhookVariables }>();
  app.all('/webhooks', webhookHandler(receiver));
  app.post('/checked', webhookVerifier({ secret: process.env['SIGNING_SECRET'] }), (c) => {
    const { webhookEvent, webhookBody } = c.var;
    if (!isKnown(webhookEvent) || webhookEvent.type !== 'order.created')
      return c.json({ size: webhookBody.byteLength });
    return c.json({ total: webhookEvent.data.total });
  });
  return app;
}

/** An app that says what is in `c.var` and `c.env`. */
interface Environment {
  Variables: WebhookVariables & { shop: string };
  Bindings: { NAME: string };
}

export function typedApp(receiver: Receiver): Hono<Environment> {
  const app = new Hono<Environment>();
  app.use('/checked/*', webhookVerifier({ secret: 'a secret' }));
  app.post('/checked/orders', (c) => c.text(`${c.env.NAME} ${c.get('shop')} ${c.get('webhookEvent').id}`));
  app.post('/webhooks', webhookHandler(receiver));
  app.all('/ops/*', pageHandler(opsPage(receiver, { unsafeOpen: true })));
  return app;
}
