// @module-tag longest
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { tablesIn } from '../../../../src/inbox/postgres/sql/tables.ts';
import { signBody } from '../../../../src/signing/signature.ts';
import { bundledScript } from '../../../helpers/bundled-script.ts';
import { SECRET } from '../../../helpers/order-delivery.ts';
import { PostgresServer } from '../../../helpers/postgres-server.ts';
import { times } from '../../../helpers/times.ts';
import { START } from '../../../helpers/virtual-clock.ts';

const ORDERS = 24;
const CRASHES = times(20, 3);
const MOST_WAITING = 1_000;
/** Clocks of three receiving and three handling machines are ahead by these hours. */
const HOURS = [0, 5, -7, 3, -2, 11] as const;

/** It starts again after each kill. */
class Machine {
  readonly #start: () => ChildProcess;
  #process: ChildProcess | undefined;
  said = '';

  constructor(start: () => ChildProcess) {
    this.#start = start;
  }

  async run(): Promise<void> {
    const child = this.#start();
    this.#process = child;
    if (child.stdout === null) throw new Error('it says something');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    this.said = line;
  }

  async kill(): Promise<void> {
    this.said = '';
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

/** Sends each event until a machine acknowledges it. */
async function send(
  order: number,
  receivers: readonly Machine[],
  acknowledged: string[],
  isOver: () => Promise<boolean>,
): Promise<void> {
  for (let n = 0; !(await isOver()); n += 1) {
    const id = `${order}-${n}`;
    const created = new Date(START + n * 1_000).toISOString();
    const data = { object: 'order', id: `ord_${order}`, total: 42.5, currency: 'USD' };
    const body = JSON.stringify({ id, type: 'order.created', created, data });
    const headers = { 'content-type': 'application/json', 'x-signature': signBody(Buffer.from(body), SECRET) };
    for (;;) {
      const port = receivers[Math.floor(Math.random() * receivers.length)]?.said ?? '';
      const answer = await fetch(`http://127.0.0.1:${port || '1'}/`, { method: 'POST', headers, body })
        .then(async (response) => (await response.text(), response.status))
        .catch(() => 0);
      if (answer === 200) break;
      await delay(Math.random() * 50);
    }
    acknowledged.push(id);
  }
}

const NAME = `nothing is lost or doubled on one server with six machines: ${CRASHES} crashes of the server, ${CRASHES} of machines`;

it(NAME, { timeout: 600_000 }, async () => {
  await using server = await PostgresServer.start();
  const url = server.url();
  const pool = new Pool({ connectionString: url });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  await using inbox = postgresInbox(url);
  await inbox.list();
  // Without a unique constraint, so a double shows.
  await pool.query('CREATE TABLE shipments (at bigserial, event text NOT NULL)');

  const script = await bundledScript(new URL('shop-process.ts', import.meta.url));
  const machines = HOURS.map((hours, n) => {
    const role = n < 3 ? 'receive' : 'handle';
    const start = () =>
      spawn(process.execPath, [script, role, url, String(hours)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const machine = new Machine(start);
    onTestFinished(() => machine.kill());
    return machine;
  });
  await Promise.all(machines.map((machine) => machine.run()));

  const acknowledged: string[] = [];
  const over = new AbortController();
  const effects = async () =>
    (await pool.query<{ event: string }>('SELECT event FROM shipments ORDER BY at')).rows.map(({ event }) => event);
  const receivers = machines.slice(0, 3);
  // Handling is slower than receiving.
  const isAhead = async () => acknowledged.length - (await effects().catch(() => [])).length > MOST_WAITING;
  const sending = Array.from({ length: ORDERS }, (_, order) =>
    send(order, receivers, acknowledged, async () => {
      while (!over.signal.aborted && (await isAhead())) await delay(100);
      return over.signal.aborted;
    }),
  );
  /** A crash proves something only while work is under way. */
  async function isUnderLoad(): Promise<void> {
    const [before, done] = [acknowledged.length, (await effects()).length];
    await expect.poll(() => acknowledged.length, { interval: 20, timeout: 60_000 }).toBeGreaterThan(before + 20);
    await expect
      .poll(async () => (await effects().catch(() => [])).length, { interval: 20, timeout: 60_000 })
      .toBeGreaterThan(done + 10);
    await delay(Math.random() * 100);
  }
  for (let crash = 0; crash < CRASHES; crash += 1) {
    await isUnderLoad();
    await server.stop('immediate');
    await server.run();
    await isUnderLoad();
    const machine = machines[crash % machines.length];
    await machine?.kill();
    await machine?.run();
  }
  over.abort();
  await Promise.all(sending);

  const t = tablesIn('hookbox');
  const rerun = new Set<string>();
  for (;;) {
    const { rows } = await pool.query<{ id: string | null }>(
      `SELECT (SELECT id FROM ${t.events} AS events WHERE events.seq = shelf.seq) AS id FROM ${t.shelf} AS shelf
       UNION ALL (SELECT NULL FROM ${t.queue} LIMIT 1)`,
    );
    if (rows.length === 0) break;
    // After three kills, an event is dead by design.
    for (const { id } of rows) {
      if (id === null || rerun.has(id)) continue;
      const key = { endpoint: 'default', id };
      const event = await inbox.get(key);
      if (event === null) throw new Error(`${id} is gone`);
      expect(await inbox.rerun(key, event, Date.now())).toBe(true);
      rerun.add(id);
    }
    await delay(50);
  }

  const stored = (await pool.query<{ id: string }>(`SELECT id FROM ${t.events}`)).rows.map(({ id }) => id);
  const done = await effects();
  console.info(
    `${acknowledged.length} acknowledged, ${stored.length} stored, ${done.length} effects, ${rerun.size} reruns`,
  );
  expect(stored.toSorted()).toEqual(acknowledged.toSorted());
  expect(done.toSorted()).toEqual(acknowledged.toSorted());
  expect(rerun.size).toBeLessThan(CRASHES);
  const last = new Map<string, number>();
  for (const id of done.filter((id) => !rerun.has(id))) {
    const [order = '', n] = id.split('-');
    expect(Number(n), `${id} came after a later one of its order`).toBeGreaterThan(last.get(order) ?? -1);
    last.set(order, Number(n));
  }
});
