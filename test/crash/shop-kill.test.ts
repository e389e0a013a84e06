// @module-tag long
import Database from 'better-sqlite3';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Hono } from 'hono';
import { buildEvent } from 'hookbox/testing';
import { previewBulk, runBulk } from 'hookbox/ops';
import { createSandbox } from 'hookbox/sandbox';
import { sqliteInbox } from 'hookbox/sqlite';
import { signBody, type EventType } from 'hookbox';
import { expect, it, onTestFinished } from 'vitest';
import { serveApp } from '../adapters/served-app.ts';
import { freePort } from '../helpers/free-port.ts';
import { times } from '../helpers/times.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECRET = 'the secret of the shop';
const KILLS = times(40, 8);
const ORDERS = times(1_000, 200);
const PRODUCTS = 10;
const FIGURES = times(100, 30);
const SHORTAGES = 6;
const BY = { actor: 'ada', reason: 'the shop was killed' };
/** How many handlers of one process can be between an act and its mark. */
const CONCURRENCY = 10;

interface Sent {
  readonly id: string;
  readonly body: string;
}

it(`examples/shop-drizzle: after ${KILLS} kills the numbers add up`, async () => {
  const provider = await startProvider();
  const sandbox = createSandbox({ clock: 'real' });
  onTestFinished(() => sandbox.close());
  await using service = await serveApp(new Hono().all('*', (c) => sandbox.fetch(c.req.raw, c.env)));
  const { file, start } = await shop({
    PROVIDER_URL: provider.url,
    SERVICE_URL: new URL(service.url).origin,
    API_KEY: sandbox.apiKey,
  });
  const events = burst();
  const left = new Map(events.map((sent) => [sent.id, sent]));
  let server = await start();
  const deliver = async (): Promise<void> => {
    for (let sent = next(left); sent !== undefined; sent = next(left)) {
      const { id, body } = sent;
      const headers = { 'Content-Type': 'application/json', 'X-Signature': signBody(body, SECRET) };
      const answer = await fetch(server.url, { method: 'POST', headers, body }).catch(() => null);
      await answer?.body?.cancel();
      // A lost answer is sent again, as the service does.
      if (answer?.status !== 200) left.set(id, sent);
      if (answer === null) await sleep(20);
    }
  };
  const deliveries = Promise.all(Array.from({ length: 8 }, deliver));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await sleep(100 + Math.random() * 400);
    provider.mode = (['up', 'failing', 'away'] as const)[kill % 3] ?? 'up';
    server.kill();
    await server.ended;
    server = await start();
  }
  provider.mode = 'up';
  await deliveries;

  const database = new Database(file, { readonly: true });
  onTestFinished(() => void database.close());
  const unsettled = database.prepare("SELECT count(*) FROM hookbox_events WHERE state <> 'processed'").pluck();
  const poisoned = "SELECT count(*) FROM hookbox_events WHERE state = 'dead' AND dead_reason <> 'crashed'";
  await using inbox = sqliteInbox(file);
  const operate = async (): Promise<unknown> => {
    // Who was running at three kills is dead, so an operator reruns it.
    const { id } = await previewBulk(inbox, 'rerun', { states: ['dead'], deadReasons: ['crashed'] }, BY);
    await runBulk(inbox, id, BY);
    return unsettled.get();
  };
  await expect.poll(operate, { timeout: 60_000, interval: 500 }).toBe(0);
  expect(database.prepare(poisoned).pluck().get()).toBe(0);

  const count = (query: string): unknown => database.prepare(query).pluck().get();
  expect(count('SELECT count(*) FROM hookbox_events')).toBe(events.length);
  expect(count("SELECT count(*) || ' ' || sum(total) FROM orders")).toBe(`${ORDERS} ${sum(ORDERS)}.0`);
  expect(database.prepare('SELECT product, quantity FROM stock ORDER BY product').all()).toEqual(
    Array.from({ length: PRODUCTS }, (_, n) => ({ product: `prd_${n}`, quantity: FIGURES })),
  );
  for (const path of ['mail', 'points'] as const) {
    const done = provider.done[path];
    expect(done.size).toBe(ORDERS);
    const repeated = [...done.values()].reduce((all, each) => all + each - 1, 0);
    expect(repeated).toBeLessThanOrEqual(KILLS * CONCURRENCY);
  }
  const placed = sandbox.orders.list().length;
  expect(placed).toBeGreaterThanOrEqual(SHORTAGES);
  expect(placed).toBeLessThanOrEqual(SHORTAGES + KILLS);
  const superseded = Number(count("SELECT count(*) FROM hookbox_attempts WHERE outcome = 'superseded'"));
  expect(superseded).toBeGreaterThan(0);
  console.info(`${superseded} of ${PRODUCTS * FIGURES} figures were superseded, ${placed} orders placed`);
}, 240_000);

function next(left: Map<string, Sent>): Sent | undefined {
  const [first] = left.values();
  if (first !== undefined) left.delete(first.id);
  return first;
}

function sum(count: number): number {
  return (count * (count + 1)) / 2;
}

function burst(): Sent[] {
  const sent = (type: EventType, created: number, data: object): Sent => {
    const event = buildEvent(type, { created: new Date(Date.UTC(2026, 0, 1) + created).toISOString(), data });
    return { id: event.id, body: JSON.stringify(event) };
  };
  const events: Sent[] = [];
  for (let n = 1; n <= ORDERS; n += 1) {
    events.push(sent('order.created', n, { id: `ord_${n}`, total: n }));
    events.push(sent('order.ready', n + 1, { id: `ord_${n}` }));
  }
  for (let n = 1; n <= FIGURES; n += 1) {
    for (let product = 0; product < PRODUCTS; product += 1) {
      events.push(sent('inventory.updated', n, { product_id: `prd_${product}`, current_quantity: n }));
    }
  }
  for (let n = 0; n < SHORTAGES; n += 1) {
    events.push(sent('inventory.low_stock', n, { product_id: 'prod_country_loaf', location_id: 'loc_bakery_pier' }));
  }
  return events;
}

/** Counts what it did by the idempotency key. While it fails or is away, it did nothing. */
async function startProvider() {
  const done = { mail: new Map<string, number>(), points: new Map<string, number>() };
  const provider = { url: '', done, mode: 'up' as 'up' | 'failing' | 'away' };
  const app = new Hono().post('/:path', (c) => {
    if (provider.mode === 'away') return c.body(null, 503, { 'Retry-After': '1' });
    if (provider.mode === 'failing') return c.body(null, 500);
    const key = c.req.header('idempotency-key') ?? '';
    const acts = c.req.param('path') === 'mail' ? done.mail : done.points;
    acts.set(key, (acts.get(key) ?? 0) + 1);
    return c.body(null, 204);
  });
  const served = await serveApp(app);
  onTestFinished(() => served.close());
  provider.url = new URL(served.url).origin;
  return provider;
}

async function shop(env: Readonly<Record<string, string>>) {
  // Inside the package, so that its own name resolves.
  mkdirSync(join(ROOT, 'dist/examples'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'dist/examples/shop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['server.mjs', 'handlers.mjs', 'tables.mjs']) {
    const code = readFileSync(join(ROOT, 'examples/shop-drizzle', name), 'utf8');
    writeFileSync(join(folder, name), faster(code));
  }
  const file = join(folder, 'shop.db');
  const port = await freePort();
  const start = async () => {
    const child = spawn(process.execPath, ['server.mjs'], {
      cwd: folder,
      env: {
        ...process.env,
        ...env,
        SIGNING_SECRET: SECRET,
        OPS_PASSWORD: 'a password',
        HOOKBOX_DB: file,
        PORT: String(port),
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await isOpen(child);
    return { url: `http://127.0.0.1:${port}/webhooks`, ended: once(child, 'exit'), kill: () => child.kill('SIGKILL') };
  };
  return { file, start };
}

/** The waits of the example are those of a real shop. */
function faster(code: string): string {
  return code
    .replace('probeMs: 30_000', 'probeMs: 200')
    .replace('wait * 1_000', 'wait * 200')
    .replace(
      'inbox, handlers }',
      `inbox, handlers, processing: { leaseMs: 500, concurrency: ${CONCURRENCY}, retry: { attempts: 20, baseMs: 20, maxMs: 200 } } }`,
    );
}

async function isOpen(child: ChildProcess): Promise<void> {
  let output = '';
  while (!output.includes('the shop is open')) {
    const [chunk] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    output += chunk.toString();
  }
}
