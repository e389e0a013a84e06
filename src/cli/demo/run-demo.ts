import '../shared/require-node.ts';
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { serve } from '@hono/node-server';
import Database from 'better-sqlite3';
import { Hono } from 'hono';
import { webhookHandler } from '../../../adapters/hono.ts';
import { eventTypes } from '../../events/event-types.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { createReceiver } from '../../receive/receiver.ts';
import type { DemoDelivery } from './demo-sender.ts';
import { handleAll } from './demo-handling.ts';
import { fixture } from '../../testing/fixtures.ts';
import { silentLogger } from '../shared/silent-logger.ts';
import { table } from '../shared/table.ts';

const secret = 'the demo signs with this';
const folder = mkdtempSync(join(tmpdir(), 'hookbox-demo-'));
const file = join(folder, 'inbox.db');

/** `npm run demo`: real signed HTTP from another process, and the inbox as it is in the file afterwards. */
async function demo(): Promise<boolean> {
  const deliveries = await receiveFromSender();
  console.log(`\nDeliveries, sent by another process over HTTP\n`);
  table(
    ['round', 'delivery', 'status', 'outcome', 'as promised'],
    deliveries.map((one) => [
      one.round,
      one.delivery,
      String(one.status),
      one.outcome,
      kept(one) ? 'yes' : `NO: ${one.expected}`,
    ]),
  );

  const stored = await readBack();
  console.log(`\nThe inbox, read back from ${file}\n`);
  table(
    ['seq', 'type', 'state', 'redelivered', 'bytes', 'entity'],
    stored.map((event) => [
      String(event.seq),
      event.type ?? '',
      event.state,
      String(event.redeliveries.count),
      String(event.body?.byteLength ?? 0),
      event.entity ?? '',
    ]),
  );
  if (!deliveries.every(kept) || !isAsPromised(stored)) return false;

  await using inbox = sqliteInbox(file);
  const handled = await handleAll(inbox);
  return handled && effectsHappenedOnce();
}

async function receiveFromSender(): Promise<readonly DemoDelivery[]> {
  await using inbox = sqliteInbox(file);
  await using receiver = createReceiver({ secret, inbox, logger: silentLogger });
  const app = new Hono();
  app.all('/webhooks', webhookHandler(receiver));
  const { promise: listening, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
  const url = `http://127.0.0.1:${await listening}/webhooks`;
  try {
    return await sender(url);
  } finally {
    server.close();
  }
}

function sender(url: string): Promise<readonly DemoDelivery[]> {
  // Runs as it is from the sources and from dist.
  const script = new URL(`demo-sender${extname(import.meta.url)}`, import.meta.url);
  const child = fork(script, { env: { ...process.env, DEMO_URL: url, SIGNING_SECRET: secret } });
  return new Promise((resolve, reject) => {
    child.once('message', (results) => resolve(results as DemoDelivery[])); // sent by demo-sender.ts
    child.once('exit', (code) => reject(new Error(`the sender ended with exit code ${code} and no results`)));
  });
}

async function readBack(): Promise<readonly StoredEvent[]> {
  await using inbox = sqliteInbox(file);
  return inbox.list();
}

/** What the handlers wrote through ctx.transaction: a row for each event that '*' took, and none twice. */
function effectsHappenedOnce(): boolean {
  const database = new Database(file, { readonly: true });
  const { effects, events } = database
    .prepare('SELECT count(*) AS effects, count(DISTINCT event_id) AS events FROM demo_effects')
    .get() as { effects: number; events: number }; // the columns of the statement
  database.close();
  console.log(`\nEffects written through ctx.transaction: ${effects}, for ${events} events.`);
  return effects === events && events === eventTypes.length + 1 - 2;
}

function kept(one: DemoDelivery): boolean {
  return `${one.status} ${one.outcome}` === one.expected;
}

/** Eleven events once each, all redelivered once, byte for byte as sent; and the unknown type. */
function isAsPromised(stored: readonly StoredEvent[]): boolean {
  const expected = [...eventTypes.map((type) => [type, 1] as const), ['edge/unknown-type', 0] as const];
  return (
    stored.length === expected.length &&
    expected.every(([name, redeliveries], index) => {
      const event = stored[index];
      return event?.redeliveries.count === redeliveries && event.body !== null && fixture(name).equals(event.body);
    })
  );
}

let success = false;
try {
  success = await demo();
  console.log(success ? '\nEverything is as promised.' : '\nSomething differs from the promise.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = success ? 0 : 1;
