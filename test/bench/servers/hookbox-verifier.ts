// hookbox without an inbox: verified and parsed, then the merchant's own handler.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhookVerifier } from 'hookbox/hono';
import { logger } from './shared/quiet-logger.ts';
import { reportPort } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

const app = new Hono();
app.post('/webhooks', webhookVerifier({ secret, logger }), (c) =>
  c.json({ received: true, duplicate: false, id: c.var.webhookEvent.id }),
);

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
