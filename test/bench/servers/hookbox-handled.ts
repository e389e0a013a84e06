// hookbox with its SQLite inbox and a handler in the same process, which does nothing but be counted.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { HandlingMonitor } from './shared/handling-monitor.ts';
import { openInbox } from './shared/open-inbox.ts';
import { logger as quietLogger } from './shared/quiet-logger.ts';
import { reportPort } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

// A lost lease or a move that cannot be written must not pass unseen; the proof's forged event may.
const complain = (facts: object, message: string): void => {
  if (message !== 'delivery rejected') process.stderr.write(`  hookbox-handled: ${message} ${JSON.stringify(facts)}\n`);
};
const logger = { ...quietLogger, warn: complain, error: complain };

const monitor = new HandlingMonitor();
const handlers = { '*': monitor.handler };
const processing = { concurrency: 100 };
const receiver = createReceiver({ secret, logger, inbox: openInbox(), handlers, processing });
await receiver.start();
const app = new Hono();
app.post('/webhooks', webhookHandler(monitor.watch(receiver)));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
