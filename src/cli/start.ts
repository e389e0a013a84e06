import './require-node.ts';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhookHandler } from '../../adapters/hono.ts';
import { messageOf } from '../errors.ts';
import { sqliteInbox } from '../inbox/sqlite/sqlite-inbox.ts';
import type { Outcome } from '../outcome.ts';
import { createReceiver, type Receiver } from '../receiver.ts';

/** `npm start`: a receiver that runs until it is told to stop, with one line for each delivery. */
function start(): void {
  const port = portOf(process.env['PORT'] ?? '3000');
  const file = process.env['HOOKBOX_DB'] ?? 'hookbox.db';
  const silent = { info() {}, warn() {}, error() {} }; // each delivery has its line already
  const inbox = sqliteInbox(file);
  const receiver = createReceiver({ secret: process.env['SIGNING_SECRET'], inbox, logger: silent });

  const app = new Hono();
  app.all('/webhooks', webhookHandler(announcing(receiver)));
  const server = serve({ fetch: app.fetch, port }, (address) => {
    console.log(`hookbox receives at http://localhost:${address.port}/webhooks and stores in ${file}`);
  });
  server.on('error', fail);

  const stop = (): void => {
    void receiver
      .close()
      .then(() => inbox.close())
      .then(() => process.exit(0));
    server.close();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

function announcing(receiver: Receiver): Pick<Receiver, 'receive'> {
  return {
    async receive(delivery) {
      const startedAt = performance.now();
      const outcome = await receiver.receive(delivery);
      const ms = (performance.now() - startedAt).toFixed(1);
      console.log(`${new Date().toISOString()} ${outcome.status} ${outcome.kind} ${subject(outcome)} ${ms} ms`);
      return outcome;
    },
  };
}

function subject(outcome: Outcome): string {
  return 'id' in outcome ? JSON.stringify(outcome.id) : outcome.reason;
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new Error(`PORT must be a number from 0 to 65535, not ${JSON.stringify(text)}.`);
}

function fail(failure: unknown): never {
  const hint = messageOf(failure).includes('EADDRINUSE') ? '. Set PORT to a free one.' : '';
  console.error(`hookbox cannot start: ${messageOf(failure)}${hint}`);
  process.exit(1);
}

try {
  start();
} catch (failure) {
  fail(failure);
}
