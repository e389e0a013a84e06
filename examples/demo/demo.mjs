// npm run demo: signed HTTP from another process, and the inbox afterwards; npm run demo -- --postgres for Postgres.
import '../../dist/src/cli/shared/require-node.js';
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import Database from 'better-sqlite3';
import { Hono } from 'hono';
import { createProcessor, createReceiver, eventTypes, PermanentError, rerun } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { sqliteInbox } from 'hookbox/sqlite';

const secret = 'the demo signs with this';
const COUNT = 'SELECT count(*) AS effects, count(DISTINCT event_id) AS events FROM demo_effects';

async function demo(store) {
  const deliveries = await receiveFromSender(store);
  const isKept = (one) => `${one.status} ${one.outcome}` === one.expected;
  console.log('\nDeliveries, sent by another process over HTTP\n');
  table(
    ['round', 'delivery', 'status', 'outcome', 'as promised'],
    deliveries.map((one) => [
      one.round,
      one.delivery,
      String(one.status),
      one.outcome,
      isKept(one) ? 'yes' : `NO: ${one.expected}`,
    ]),
  );

  const inbox = store.open();
  const stored = await inbox.list();
  console.log(`\nThe inbox, read back from ${store.place}\n`);
  table(
    ['seq', 'type', 'state', 'redelivered', 'bytes', 'entity'],
    stored.map((event) => [
      String(event.seq),
      event.type,
      event.state,
      String(event.redeliveries.count),
      String(event.body.byteLength),
      event.entity ?? '',
    ]),
  );
  const isRight = deliveries.every(isKept) && isStoredAsSent(stored) && (await handleAll(inbox, store));
  await inbox.close();
  if (!isRight) return false;

  const { effects, events } = await store.effects();
  console.log(`\nEffects written through ctx.transaction: ${effects}, for ${events} events.`);
  return effects === events && events === eventTypes.length + 1 - 2; // '*' handles all types but two
}

async function receiveFromSender(store) {
  const inbox = store.open();
  const receiver = createReceiver({ secret, inbox, logger: false });
  const app = new Hono();
  app.all('/webhooks', webhookHandler(receiver));
  const { promise: listening, resolve } = Promise.withResolvers();
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
  const DEMO_URL = `http://127.0.0.1:${await listening}/webhooks`;
  const env = { ...process.env, DEMO_URL, SIGNING_SECRET: secret };
  const sender = fork(new URL('sender.mjs', import.meta.url), { env });
  try {
    return await new Promise((resolve, reject) => {
      sender.once('message', resolve);
      sender.once('exit', (code) => reject(new Error(`the sender ended with exit code ${code} and no results`)));
    });
  } finally {
    server.close();
    await receiver.close();
    await inbox.close();
  }
}

/** Eleven events once each, all redelivered once, byte for byte as sent; and the unknown type. */
function isStoredAsSent(stored) {
  const expected = [...eventTypes.map((type) => [type, 1]), ['edge/unknown-type', 0]];
  return (
    stored.length === expected.length &&
    expected.every(([name, redeliveries], index) => {
      const body = readFileSync(new URL(`../../fixtures/${name}.json`, import.meta.url));
      return stored[index].redeliveries.count === redeliveries && body.equals(stored[index].body);
    })
  );
}

/** One handler fails twice and then succeeds. One event dies, and is rerun once its handler is fixed. */
async function handleAll(inbox, store) {
  let failuresLeft = 2;
  let isFixed = false;
  const processor = createProcessor({
    inbox,
    logger: false,
    processing: { retry: { baseMs: 50 } },
    handlers: {
      'inventory.low_stock': () => {
        if (failuresLeft-- > 0) throw new Error('the warehouse did not answer');
      },
      'order.failed': () => {
        if (!isFixed) throw new PermanentError('no account for this merchant');
      },
      '*': async (event, ctx) => {
        await ctx.transaction((connection) => store.writeEffect(connection, event.id));
      },
    },
  });
  await processor.start();
  await settled(inbox);
  console.log('\nAfter handling: one event failed twice before it succeeded, and one is dead\n');
  await show(inbox, await inbox.list());

  isFixed = true;
  const dead = (await inbox.list()).filter(({ state }) => state === 'dead');
  for (const event of dead) await rerun(inbox, event);
  await settled(inbox);
  await processor.close();
  console.log('\nThe dead event after its rerun\n');
  const events = await inbox.list();
  await show(
    inbox,
    events.filter(({ seq }) => dead.some((one) => one.seq === seq)),
  );

  const outcomes = {};
  for (const event of events) {
    outcomes[event.type] = (await inbox.attempts(event)).map(({ outcome }) => outcome).join(' ');
  }
  return (
    events.every(({ state }) => state === 'processed') &&
    dead.map(({ type }) => type).join() === 'order.failed' &&
    outcomes['inventory.low_stock'] === 'failed failed processed' &&
    outcomes['order.failed'] === 'failed processed' &&
    outcomes['order.created'] === 'processed'
  );
}

async function settled(inbox) {
  for (const giveUpAt = performance.now() + 20_000; ; await delay(20)) {
    const events = await inbox.list();
    if (events.every(({ state }) => state === 'processed' || state === 'dead')) return;
    if (performance.now() > giveUpAt) throw new Error('the handlers did not finish');
  }
}

async function show(inbox, events) {
  const rows = [];
  for (const event of events) {
    const attempts = (await inbox.attempts(event)).map(({ outcome, trigger, error }) => {
      return `${outcome}${trigger === 'manual' ? ' (rerun)' : ''}${error === null ? '' : `: ${error.message}`}`;
    });
    rows.push([String(event.seq), event.type, event.state, attempts.join(', ')]);
  }
  table(['seq', 'type', 'state', 'attempts'], rows);
}

function table(heads, rows) {
  const widths = heads.map((_, column) => Math.max(...[heads, ...rows].map((row) => row[column].length)));
  for (const row of [heads, ...rows]) {
    console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column])).join('  ')}`.trimEnd());
  }
}

function inSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'hookbox-demo-'));
  const file = join(folder, 'inbox.db');
  atEnd.push(() => rmSync(folder, { recursive: true, force: true }));
  return {
    place: file,
    open: () => sqliteInbox(file),
    writeEffect(database, id) {
      database.exec('CREATE TABLE IF NOT EXISTS demo_effects (event_id TEXT)');
      database.prepare('INSERT INTO demo_effects (event_id) VALUES (?)').run(id);
    },
    async effects() {
      const database = new Database(file, { readonly: true });
      const counted = database.prepare(COUNT).get();
      database.close();
      return counted;
    },
  };
}

/** A shop's Postgres, with a table of the shop beside the inbox. */
async function inPostgres() {
  const [{ DemoPostgres }, { Client }, { postgresInbox }] = await Promise.all([
    import('./postgres.mjs'),
    import('pg'),
    import('hookbox/postgres'),
  ]);
  const server = new DemoPostgres();
  atEnd.push(() => server.stop());
  await server.start();
  const query = async (text) => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows[0];
  };
  await query('CREATE TABLE demo_effects (event_id text NOT NULL)');
  return {
    place: `Postgres on port ${server.port}`,
    open: () => postgresInbox(server.url),
    writeEffect: (client, id) => client.query({ text: 'INSERT INTO demo_effects VALUES ($1)', values: [id] }),
    async effects() {
      const { effects, events } = await query(COUNT);
      return { effects: Number(effects), events: Number(events) };
    },
  };
}

const atEnd = [];
let tidied;
const tidy = () => (tidied ??= Promise.all(atEnd.map((undo) => undo())));
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, () => void tidy().finally(() => process.exit(code)));
}

let success = false;
try {
  const options = process.argv.slice(2).join(' ');
  if (options !== '' && options !== '--postgres') {
    throw new Error('npm run demo accepts only this argument: -- --postgres');
  }
  success = await demo(options === '' ? inSqlite() : await inPostgres());
  console.log(success ? '\nEverything is as promised.' : '\nA result is not as promised.');
} catch (failure) {
  // A signal makes the demo fail as well.
  if (tidied === undefined) console.error(`The demo failed: ${failure.message}`);
} finally {
  await tidy();
}
process.exitCode = success ? 0 : 1;
