import '../shared/require-node.ts';
import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhookHandler } from '../../../adapters/hono.ts';
import { messageOf } from '../../errors.ts';
import { eventTypes } from '../../events/event-types.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { createReceiver } from '../../receive/receiver.ts';
import type { DemoDelivery } from './demo-sender.ts';
import { handleAll } from './demo-handling.ts';
import { sqliteStore, type DemoStore } from './demo-store.ts';
import { fixture } from '../../testing/fixtures.ts';
import { tell } from '../shared/output.ts';
import { table } from '../shared/table.ts';

const secret = 'the demo signs with this';

/** `npm run demo`: real signed HTTP from another process, and the inbox as it is kept afterwards. */
async function demo(store: DemoStore): Promise<boolean> {
  const deliveries = await receiveFromSender(store);
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

  const stored = await readBack(store);
  console.log(`\nThe inbox, read back from ${store.place}\n`);
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

  await using inbox = store.open();
  const handled = await handleAll(inbox, store);
  return handled && effectsHappenedOnce(store);
}

async function receiveFromSender(store: DemoStore): Promise<readonly DemoDelivery[]> {
  await using inbox = store.open();
  await using receiver = createReceiver({ secret, inbox, logger: false });
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

async function readBack(store: DemoStore): Promise<readonly StoredEvent[]> {
  await using inbox = store.open();
  return inbox.list();
}

/** What the handlers wrote through ctx.transaction: a row for each event that '*' took, and none twice. */
async function effectsHappenedOnce(store: DemoStore): Promise<boolean> {
  const { effects, events } = await store.effects();
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

/** Asked for by `npm run demo -- --postgres`: a server of its own. */
async function opened(): Promise<DemoStore> {
  const asked = process.argv.slice(2);
  if (asked.length === 0) {
    const store = sqliteStore();
    left.push(store);
    return store;
  }
  if (asked.join(' ') !== '--postgres') throw new Error('npm run demo accepts only this argument: -- --postgres');
  const { DemoServer } = await import('./postgres-server.ts');
  const { postgresStore } = await import('./postgres-store.ts');
  const server = new DemoServer();
  left.push(server);
  return postgresStore(server);
}

/** What is taken away again, however the demo ends. */
const left: AsyncDisposable[] = [];
let tidied: Promise<unknown> | undefined;
const tidy = (): Promise<unknown> => (tidied ??= Promise.all(left.map((one) => one[Symbol.asyncDispose]())));
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => void tidy().finally(() => process.exit(code)));
}

let success = false;
try {
  success = await demo(await opened());
  console.log(success ? '\nEverything is as promised.' : '\nA result is not as promised.');
} catch (failure) {
  // What fails because it was told to end is no news.
  if (tidied === undefined) tell(`The demo failed: ${messageOf(failure)}`);
} finally {
  await tidy();
}
process.exitCode = success ? 0 : 1;
