// hookbox with its SQLite inbox: verified, parsed and on disk before the answer.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { sqliteInbox } from 'hookbox/sqlite';
import { databaseFile } from '../database-file.ts';
import { logger } from '../quiet-logger.ts';
import { reportPort } from '../report-port.ts';
import { secret } from '../signing-schemes.ts';

const receiver = createReceiver({ secret, logger, inbox: sqliteInbox(databaseFile()) });
const app = new Hono();
app.post('/webhooks', webhookHandler(receiver));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
