import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { expect, it } from 'vitest';
import { isInstance, TransactionError } from '../../../src/errors.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { EVERYTHING, type ClaimedEvent } from '../../../src/inbox/work.ts';
import { incoming } from '../../helpers/incoming-event.ts';
import { PostgresServer } from '../../helpers/postgres-server.ts';
import { times } from '../../helpers/times.ts';

const ENTITIES = 8;
const LEASE_MS = 4_000;
const ERROR = { name: 'Error', message: 'the connection was lost', stack: null };

const NAME = 'a server that crashes under load loses nothing that was acknowledged, and doubles no effect';

it(NAME, { timeout: 240_000 }, async () => {
  await using server = await PostgresServer.start();
  const url = server.url();
  await using setup = postgresInbox(url);
  await setup.announce(EVERYTHING, Date.now(), null);
  const pool = new Pool({ connectionString: url });
  pool.on('error', () => {});
  await pool.query('CREATE TABLE orders (at bigserial, id text NOT NULL)');

  const acknowledged: string[] = [];
  const is = { over: false, quiet: false };

  /** A machine that receives: what it is not answered for, it sends again. */
  async function receiving(machine: number): Promise<void> {
    await using inbox = postgresInbox(url);
    for (let n = 0; !is.over; n += 1) {
      const id = `${machine}-${n % ENTITIES}-${n}`;
      const entity = `order::${machine}-${n % ENTITIES}`;
      const event = incoming({ id, entity, created: { ms: n, ns: 0 }, receivedAt: Date.now() });
      for (;;) {
        const accepted = await inbox.accept(event, performance.now() + 5_000).catch(() => null);
        if (accepted !== null) break;
        await delay(20);
      }
      acknowledged.push(id);
      await delay(2);
    }
  }

  /** A machine that handles: its effect is written with the end of the attempt. */
  async function handling(): Promise<void> {
    await using inbox = postgresInbox<PoolClient>({ pool: handlers });
    const run = async ({ lease, id }: ClaimedEvent): Promise<void> => {
      const attempt = { now: () => Date.now(), signal: new AbortController().signal };
      try {
        await inbox.transaction(lease, (client) => client.query('INSERT INTO orders (id) VALUES ($1)', [id]), attempt);
      } catch (failure) {
        if (isInstance(failure, TransactionError)) return;
        for (;;) {
          const retry = { outcome: 'retry', error: ERROR, dueAt: Date.now() } as const;
          const isSettled = await inbox.settle(lease, retry, Date.now()).catch(() => null);
          if (isSettled !== null) return;
          await delay(20);
        }
      }
    };
    while (!is.quiet) {
      const request = { ...EVERYTHING, now: Date.now(), leaseMs: LEASE_MS, ordered: true };
      const claimed = await inbox.claim(request, 5).catch(() => []);
      if (claimed.length === 0) await delay(10);
      await Promise.all(claimed.map(run));
    }
  }
  const handlers = new Pool({ connectionString: url, max: 10 });
  handlers.on('error', () => {});

  const receivers = [0, 1, 2].map(receiving);
  const processors = [0, 1, 2].map(handling);
  for (let crash = 0; crash < times(20, 3); crash += 1) {
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { interval: 20 }).toBeGreaterThan(before + 20);
    await delay(Math.random() * 200);
    await server.stop('immediate');
    await server.run();
  }
  await delay(300);
  is.over = true;
  await Promise.all(receivers);
  await expect.poll(() => setup.nextDue(EVERYTHING).catch(() => 0), { timeout: 40_000, interval: 100 }).toBeNull();
  is.quiet = true;
  await Promise.all(processors);

  const { rows } = await pool.query<{ id: string }>('SELECT id FROM orders ORDER BY at');
  await pool.end();
  await handlers.end();
  expect(acknowledged.length).toBeGreaterThan(50);
  const stored: string[] = [];
  for (let after = 0; ;) {
    const page = await setup.list({ after, limit: 1_000 });
    expect(page.filter(({ state }) => state !== 'processed')).toEqual([]);
    stored.push(...page.map(({ id }) => id));
    after = page.at(-1)?.seq ?? after;
    if (page.length === 0) break;
  }
  expect(stored.toSorted()).toEqual(acknowledged.toSorted());
  expect(rows.map(({ id }) => id).toSorted()).toEqual(acknowledged.toSorted());
  const orderOf = (id: string): readonly [string, number] => {
    const [machine, entity, n] = id.split('-');
    return [`${machine}-${entity}`, Number(n)];
  };
  const last = new Map<string, number>();
  for (const { id } of rows) {
    const [entity, n] = orderOf(id);
    expect(n, id).toBeGreaterThan(last.get(entity) ?? -1);
    last.set(entity, n);
  }
});
