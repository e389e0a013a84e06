// hookbox with its inbox on Postgres: as hookbox-durable.ts, in a schema of its own.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { postgresInbox } from 'hookbox/postgres';
import { secret } from '../load/signing-schemes.ts';
import { logger } from './shared/quiet-logger.ts';
import { reportPort } from './shared/report-port.ts';

const inbox = postgresInbox(process.env['HOOKBOX_BENCH_POSTGRES'], { schema: `server_${process.pid}` });
await inbox.list(); // the tables are there
const app = new Hono();
app.post('/webhooks', webhookHandler(createReceiver({ secret, logger, inbox })));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
