// The reference library of Standard Webhooks on Express; it stores nothing.
import { createServer } from 'node:http';
import express from 'express';
import { Webhook } from 'standardwebhooks';
import { listen } from './shared/report-port.ts';
import { standardWebhooksSecret } from '../load/signing-schemes.ts';

const webhook = new Webhook(standardWebhooksSecret);
const app = express();
app.post('/webhooks', express.raw({ type: 'application/json' }), (request, response) => {
  const body: Buffer = request.body;
  try {
    webhook.verify(body, {
      'webhook-id': request.get('webhook-id') ?? '',
      'webhook-timestamp': request.get('webhook-timestamp') ?? '',
      'webhook-signature': request.get('webhook-signature') ?? '',
    });
    response.json({ received: true, duplicate: false, id: request.get('webhook-id') });
  } catch {
    response.status(400).json({ error: { code: 'INVALID_SIGNATURE' } });
  }
});

listen(createServer(app));
