import express, { type Express, type RequestHandler } from 'express';
import { isKnown, type Receiver } from 'hookbox';
import { pageHandler, webhookHandler, webhookVerifier } from 'hookbox/express';
import { opsPage } from 'hookbox/ops/page';

export function app(receiver: Receiver): Express {
  const app = express();
  app.post('/webhooks', webhookHandler(receiver));
  app.use('/:shop/webhooks', webhookHandler(receiver));

  app.post('/checked/:shop', webhookVerifier({ secret: process.env['SIGNING_SECRET'] }), (req, res) => {
    const { webhookEvent, webhookBody } = req;
    if (webhookEvent === undefined || webhookBody === undefined) throw new Error('not verified');
    if (webhookEvent.type === null) {
      res.json({ issues: webhookEvent.issues.length });
    } else if (isKnown(webhookEvent) && webhookEvent.type === 'order.created') {
      const total: number | null | undefined = webhookEvent.data.total;
      res.json({ shop: req.params.shop, total, size: webhookBody.byteLength });
    }
  });

  const verifier: RequestHandler = webhookVerifier({ secret: 'a secret' });
  const handler: RequestHandler = webhookHandler(receiver);
  app.use('/ops', pageHandler(opsPage(receiver, { unsafeOpen: true })));
  app.route('/both').post(verifier, handler);

  app.post('/wrong', (req) => {
    // @ts-expect-error -- the event may be missing, where no verifier came before
    console.log(req.webhookEvent.id);
  });
  return app;
}
