// hookbox with a store that does nothing: all that a delivery costs beside the disk. It answers at the end of the event
// loop's turn, as a group commit does.
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver, type Inbox } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { memoryInbox } from 'hookbox/memory';
import { secret } from '../load/signing-schemes.ts';
import { logger } from './shared/quiet-logger.ts';
import { reportPort } from './shared/report-port.ts';

const inbox: Inbox = {
  ...memoryInbox(),
  async accept() {
    await endOfTurn();
    return { result: 'stored', conflict: false, replaced: false };
  },
};
const receiver = createReceiver({ secret, logger, inbox });
const app = new Hono();
app.post('/webhooks', webhookHandler(receiver));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
