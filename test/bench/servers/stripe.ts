// Stripe's documented way on Express: the raw body, then constructEvent; it stores nothing.
import { createServer } from 'node:http';
import express from 'express';
import { Stripe } from 'stripe';
import { listen } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

const app = express();
app.post('/webhooks', express.raw({ type: 'application/json' }), (request, response) => {
  const body: Buffer = request.body;
  try {
    const event = Stripe.webhooks.constructEvent(body, request.get('stripe-signature') ?? '', secret);
    response.json({ received: true, duplicate: false, id: event.id });
  } catch {
    response.status(400).json({ error: { code: 'INVALID_SIGNATURE' } });
  }
});

listen(createServer(app));
