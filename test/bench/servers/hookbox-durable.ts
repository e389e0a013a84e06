// hookbox with its SQLite inbox: verified, parsed and on disk before the answer.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { secret } from '../load/signing-schemes.ts';
import { openInbox } from './shared/open-inbox.ts';
import { logger } from './shared/quiet-logger.ts';
import { reportPort } from './shared/report-port.ts';

const receiver = createReceiver({ secret, logger, inbox: openInbox() });
const app = new Hono();
app.post('/webhooks', webhookHandler(receiver));
app.get('/health', (c) => c.text('well'));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
