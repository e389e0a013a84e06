// @module-tag long
// @module-tag repeated
// @module-tag dear
import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { silent } from '../helpers/silent-logger.ts';
import { times } from '../helpers/times.ts';
import { endpoint } from '../sender/endpoint.ts';

const KILLS = times(50, 10);
const SECRET = 'the secret of those who are killed';

interface Kept {
  readonly event: string;
  readonly state: string;
  readonly tries: number;
  readonly dueAt: number | null;
}

function read(file: string) {
  const database = new Database(file);
  const all = <Row>(sql: string) => database.prepare<[], Row>(sql).all();
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(database.pragma('foreign_key_check')).toEqual([]);
  const events = all<{ body: Buffer }>('SELECT body FROM events ORDER BY seq');
  const tries = all<{ event: string; number: number }>(`SELECT e.id AS event, t.number
    FROM tries t JOIN deliveries d ON d.id = t.delivery JOIN events e ON e.seq = d.event ORDER BY t.number`);
  const found = {
    events: events.map(({ body }) => JSON.parse(body.toString()) as { id: string; type: string; data: EventData }),
    orders: all<{ id: string; status: string; paid: number }>(
      'SELECT id, status, submitted_ms IS NOT NULL AS paid FROM orders',
    ),
    charges: all<{ id: string }>('SELECT order_id AS id FROM charges').map(({ id }) => id),
    stock: all<{ product: string; quantity: number }>(
      "SELECT product_id AS product, quantity FROM stock WHERE location_id = 'loc_coffee_hayes'",
    ),
    deliveries: all<Kept>(`SELECT e.id AS event, d.state, d.tries, due.at AS dueAt
      FROM deliveries d JOIN events e ON e.seq = d.event
      LEFT JOIN due ON due.kind = 'delivery' AND due.subject = CAST(d.id AS TEXT)`),
    tries: Map.groupBy(tries, ({ event }) => event),
  };
  database.close();
  return found;
}

interface EventData {
  readonly id?: string;
  readonly status?: string;
  readonly product_id?: string;
  readonly location_id?: string;
  readonly previous_quantity?: number;
  readonly current_quantity?: number;
}
type Found = ReturnType<typeof read>;

/** Each event has its effect, and each effect its event. */
function expectEffectsAndEvents({ events, orders, charges, stock }: Found): void {
  const statuses = new Map<string, string[]>();
  for (const { type, data } of events.filter(({ type }) => type.startsWith('order.'))) {
    expect(data.status).toBe(type.slice('order.'.length));
    statuses.set(data.id ?? '', [...(statuses.get(data.id ?? '') ?? []), data.status ?? '']);
  }
  const moves = ['created', 'confirmed', 'ready', 'completed'];
  const expected = orders.map(({ id, status }) => [id, moves.slice(0, moves.indexOf(status) + 1)] as const);
  expect(statuses).toEqual(new Map(expected));

  const paid = orders.filter((order) => order.paid === 1).map(({ id }) => id);
  expect(charges.toSorted()).toEqual(paid.toSorted());
  for (const { id, status, paid } of orders) if (paid === 0) expect(status, id).toBe('created');

  for (const { product, quantity } of stock) {
    const told = events.filter(({ type, data }) => type === 'inventory.updated' && data.product_id === product);
    for (const [at, { data }] of told.slice(1).entries()) {
      expect(data.previous_quantity, `${product}: an effect without its event`).toBe(told[at]?.data.current_quantity);
    }
    if (told.length > 0) expect(told.at(-1)?.data.current_quantity, product).toBe(quantity);
  }
}

it(`a sandbox that is killed ${KILLS} times under load has told of all it has done, and delivers on where it was`, async () => {
  const file = scratchFile();
  const script = await bundledScript(new URL('ordering-process.ts', import.meta.url));
  const came = new Map<string, { requests: number; taken: number }>();
  let isGood = false;
  await using server = await endpoint(({ body }) => {
    const { id } = JSON.parse(String(body)) as { id: string };
    const seen = came.get(id) ?? { requests: 0, taken: 0 };
    // Some fail until the end, so that tries wait during each kill.
    const isTaken = isGood || id.charCodeAt(id.length - 1) % 5 !== 0;
    came.set(id, { requests: seen.requests + 1, taken: seen.taken + (isTaken ? 1 : 0) });
    return isTaken ? 200 : 500;
  });

  let before = new Map<string, Kept>();
  /** Sent, and killed before it was written down. */
  const cutOff = new Set<string>();
  for (let round = 1; round <= KILLS; round += 1) {
    const requestsBefore = new Map([...came].map(([id, { requests }]) => [id, requests]));
    await killUnderLoad(script, file, server.url, () => came.size);
    const about = `kill ${round}`;
    const found = read(file);
    expectEffectsAndEvents(found);

    const kept = new Map(found.deliveries.map((delivery) => [delivery.event, delivery]));
    expect(
      found.events.map(({ id }) => id).filter((id) => !kept.has(id)),
      `${about}: an event without its delivery`,
    ).toEqual([]);
    expect(
      [...came.keys()].filter((id) => !kept.has(id)),
      `${about}: delivered and not committed`,
    ).toEqual([]);
    for (const [event, { state, tries, dueAt }] of kept) {
      const seen = came.get(event) ?? { requests: 0, taken: 0 };
      const numbers = (found.tries.get(event) ?? []).map(({ number }) => number);
      expect(numbers, `${about}: ${event}`).toEqual(Array.from({ length: tries }, (_, at) => at + 1));
      expect(state === 'waiting', `${about}: ${event} is ${state}`).toBe(dueAt !== null);
      if (state === 'delivered') expect(seen.taken, `${about}: ${event} was never taken`).toBeGreaterThan(0);
      // A delivery that was sent but not written down was cut off by a kill.
      expect(seen.requests).toBeGreaterThanOrEqual(tries);
      expect(seen.requests - tries).toBeLessThanOrEqual(round);
      if (seen.requests > tries) cutOff.add(event);

      const earlier = before.get(event);
      if (earlier === undefined) continue;
      expect(tries, `${about}: ${event} was begun anew`).toBeGreaterThanOrEqual(earlier.tries);
      const isAsItWas = earlier.state === 'delivered' || (earlier.tries === tries && earlier.tries > 1);
      if (isAsItWas) {
        expect({ state, tries, dueAt }, `${about}: ${event}`).toEqual({ ...earlier, event: undefined });
        expect(seen.requests, `${about}: ${event} came again`).toBe(requestsBefore.get(event));
      }
    }
    before = kept;
  }

  // Otherwise the test proves nothing.
  const waiting = [...before.values()].filter(({ state, tries }) => state === 'waiting' && tries === 2);
  expect(before.size).toBeGreaterThan(KILLS * 15);
  expect(waiting.length).toBeGreaterThan(KILLS);
  expect(cutOff.size).toBeGreaterThan(KILLS / 10);

  isGood = true;
  const sandbox = createSandbox({ file, webhooks: [{ to: server.url, secret: SECRET }], logger: silent });
  await sandbox.advance('2 d');
  await sandbox.close();
  const end = read(file);
  expectEffectsAndEvents(end);
  expect(end.deliveries.filter(({ state }) => state !== 'delivered')).toEqual([]);
  expect(new Set(came.keys())).toEqual(new Set(end.events.map(({ id }) => id)));
  console.info(`${end.orders.length} orders, ${end.events.length} events, ${cutOff.size} deliveries cut off by kills`);
}, 300_000);

async function killUnderLoad(script: string, file: string, url: string, sent: () => number): Promise<void> {
  const enough = sent() + 16 + Math.random() * 12;
  const child = spawn(process.execPath, [script, file, url], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'close');
  const looks = setInterval(() => {
    if (sent() < enough) return;
    clearInterval(looks);
    setTimeout(() => child.kill('SIGKILL'), Math.random() * 20);
  }, 2);
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  clearInterval(looks);
  expect({ code, signal }, 'it ended by itself').toEqual({ code: null, signal: 'SIGKILL' });
}
