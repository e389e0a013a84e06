/** A receiver behind `hookbox/hono` in a process of its own, so that its memory can be measured. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhookHandler } from '../../../adapters/hono.ts';
import { createReceiver } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory.ts';
import { SECRET } from '../signed-event.ts';

const receiver = createReceiver({
  secret: SECRET,
  inbox: memoryInbox(),
  logger: { info() {}, warn() {}, error() {} },
});
const app = new Hono().all('/webhooks', webhookHandler(receiver));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
  process.send?.({ url: `http://127.0.0.1:${port}/webhooks` });
});
process.on('message', () => process.send?.({ rss: process.memoryUsage.rss() }));
process.on('disconnect', () => process.exit());
