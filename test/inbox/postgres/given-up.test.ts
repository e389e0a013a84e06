// @module-tag postgres
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient, PoolConfig } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock, type Clock } from '../../../src/host/clock.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { createReceiver, type ReceiverOptions } from '../../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../../helpers/order-delivery.ts';
import { dropSchema, postgresUrl, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';

/** A minute lasts a fifth of a second. */
const FASTER = 300;
const startedAt = Date.now();
const faster: Clock = {
  now: () => startedAt + (Date.now() - startedAt) * FASTER,
  after(ms, callback) {
    const timer = setTimeout(callback, ms / FASTER);
    return () => clearTimeout(timer);
  },
};

/** Anything that does not hang has ended by then. */
const PATIENT_MS = 1_000 * FASTER;

const never = (): Promise<never> => new Promise<never>(() => {});

async function shop(settings: PoolConfig) {
  const schema = schemaName();
  const orders = `${quoted(schema)}.orders`;
  const apart = await scratchPool({ max: 2 });
  const name = `hookbox ${schema}`;
  const pool = await scratchPool({ ...settings, application_name: name });
  onTestFinished(() => dropSchema(apart, schema));
  const inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.list();
  await apart.query(`CREATE TABLE ${orders} (id text PRIMARY KEY); INSERT INTO ${orders} VALUES ('locked')`);
  const backends = async () => {
    const asked = 'SELECT state, wait_event_type AS waits FROM pg_stat_activity WHERE application_name = $1';
    return (await apart.query<{ state: string; waits: string | null }>(asked, [name])).rows;
  };
  return { inbox, pool, apart, orders, schema, backends };
}

type Work = (client: PoolClient, id: string) => unknown;

function receiverOn(
  { inbox }: Pick<Awaited<ReturnType<typeof shop>>, 'inbox'>,
  work: Work,
  processing: NonNullable<ReceiverOptions['processing']> = {},
  clock = faster,
) {
  const { logger, lines } = recordedLog();
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger,
    clock,
    ordering: false,
    processing: { leaseMs: 600_000, retry: { attempts: 3, baseMs: 1, maxMs: 1 }, ...processing },
    handlers: { '*': (event, ctx) => ctx.transaction((client) => work(client, event.id)) },
  });
  return { receiver, lines };
}

async function send(receiver: ReturnType<typeof receiverOn>['receiver'], count: number): Promise<void> {
  const deliveries = Array.from({ length: count }, (_, n) => receiver.receive(orderDelivery(`evt_${n}`)));
  for (const outcome of await Promise.all(deliveries)) expect(outcome).toMatchObject({ status: 200 });
}

async function states(inbox: Awaited<ReturnType<typeof shop>>['inbox']): Promise<readonly string[]> {
  return [...new Set((await inbox.list()).map(({ state }) => state))];
}

describe('handlers that ask the pool of their inbox inside of ctx.transaction', () => {
  it.each<[string, PoolConfig, number | undefined]>([
    ['of the usual size', {}, undefined],
    ['of the usual size, with more handlers than connections', {}, 30],
    ['of three', { max: 3 }, undefined],
    ['of two', { max: 2 }, undefined],
  ])('do not lock each other up on a pool %s', async (_, settings, concurrency) => {
    const { pool, orders, ...rest } = await shop(settings);
    const work: Work = async (client, id) => {
      await client.query(`INSERT INTO ${orders} VALUES ($1)`, [id]);
      await pool.query('SELECT pg_sleep(0.01)');
    };
    const { receiver } = receiverOn(rest, work, concurrency === undefined ? {} : { concurrency }, systemClock);
    await receiver.start();
    await send(receiver, 30);
    await expect.poll(() => states(rest.inbox)).toEqual(['processed']);
    await receiver.close();
    const attempts = await Promise.all(Array.from({ length: 30 }, (_, n) => rest.inbox.attempts(key(n))));
    expect(attempts.flat().map(({ outcome }) => outcome)).toEqual(Array.from({ length: 30 }, () => 'processed'));
    await rest.inbox.close();
  });
});

const key = (n: number) => ({ endpoint: 'default', id: `evt_${n}` });

describe('an attempt that is given up', () => {
  it('of a pool of one, whose function waits for the pool, leaves it to others, and says why', async () => {
    const { pool, inbox, backends } = await shop({ max: 1 });
    let calls = 0;
    const work: Work = async () => {
      calls += 1;
      if (calls === 1) await pool.query('SELECT 1');
    };
    const { receiver, lines } = receiverOn({ inbox }, work, { timeoutMs: PATIENT_MS });
    await receiver.start();
    await send(receiver, 1);
    await expect.poll(() => states(inbox)).toEqual(['processed']);
    await receiver.close();
    expect(await inbox.attempts(key(0))).toMatchObject([
      {
        outcome: 'failed',
        error: {
          message: expect.stringContaining(
            'The function was probably waiting for a connection from the same exhausted pool',
          ),
        },
      },
      { outcome: 'processed' },
    ]);
    expect(lines.filter(({ facts }) => facts['code'] === 'GIVEN_UP')).toMatchObject([
      {
        facts: { id: 'evt_0', err: { message: expect.stringContaining('a connection from the same exhausted pool') } },
      },
    ]);
    await inbox.close();
    expect((await backends()).length).toBeLessThanOrEqual(1);
  });

  it('inline on a pool of one does so, too', async () => {
    const { pool, inbox } = await shop({ max: 1 });
    let calls = 0;
    const work: Work = async () => {
      calls += 1;
      if (calls === 1) await pool.query('SELECT 1');
    };
    const { receiver } = receiverOn({ inbox }, work, { mode: 'inline', timeoutMs: PATIENT_MS });
    expect(await receiver.receive(orderDelivery('evt_0'))).toMatchObject({ status: 500 });
    expect(await receiver.receive(orderDelivery('evt_0'))).toMatchObject({ status: 200 });
    await receiver.close();
    await inbox.close();
  });

  it('whose function never ends holds neither a connection nor a slot, however many there were', async () => {
    const { inbox, backends, pool } = await shop({ max: 4 });
    const { receiver, lines } = receiverOn({ inbox }, never, { retry: { attempts: 1 }, concurrency: 5 });
    await receiver.start();
    await send(receiver, 10);
    expect((await backends()).length).toBeLessThanOrEqual(4);
    await expect.poll(() => states(inbox)).toEqual(['dead']);
    // Deliveries and settlements had connections of their own.
    expect(lines.map(({ message }) => message)).not.toContain('cannot renew leases');
    await receiver.close();
    expect(pool.totalCount).toBeLessThanOrEqual(4);
    const reasons = await Promise.all(Array.from({ length: 10 }, (_, n) => inbox.attempts(key(n))));
    expect(reasons.flat().map(({ error }) => error?.message)).toContainEqual(
      expect.stringContaining('a call outside Postgres'),
    );
    await inbox.close();
  });

  it('of an inbox on a URL gives each connection back to it: it goes on after more than it has', async () => {
    const schema = schemaName();
    const apart = await scratchPool({ max: 1 });
    onTestFinished(() => dropSchema(apart, schema));
    const inbox = postgresInbox(await postgresUrl(), { schema, listen: false });
    const { logger } = recordedLog();
    const receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger,
      clock: faster,
      ordering: false,
      processing: { leaseMs: 600_000, retry: { attempts: 1 } },
      handlers: { '*': (_, ctx) => ctx.transaction(never) },
    });
    await receiver.start();
    await send(receiver, 25);
    await expect.poll(async () => [...new Set((await inbox.list()).map(({ state }) => state))]).toEqual(['dead']);
    expect(await receiver.receive(orderDelivery('evt_more'))).toMatchObject({ status: 200 });
    await receiver.close();
    await inbox.close();
  });

  it('whose statement waits for a lock leaves no process of the server behind that would take the lock', async () => {
    const { inbox, apart, orders, backends } = await shop({ max: 4 });
    const holder = await apart.connect();
    await holder.query(`BEGIN; SELECT FROM ${orders} WHERE id = 'locked' FOR UPDATE`);
    const work: Work = (client) => client.query(`DELETE FROM ${orders} WHERE id = 'locked'`);
    const { receiver } = receiverOn({ inbox }, work, { retry: { attempts: 2, baseMs: 1, maxMs: 1 } });
    await receiver.start();
    await send(receiver, 1);
    await expect.poll(() => states(inbox)).toEqual(['dead']);
    await expect.poll(async () => (await backends()).filter(({ waits }) => waits === 'Lock')).toEqual([]);
    await holder.query('ROLLBACK');
    holder.release();
    expect((await apart.query(`SELECT FROM ${orders}`)).rows).toHaveLength(1);
    const [first] = await inbox.attempts(key(0));
    expect(first?.error?.message).toContain('a statement that Postgres has not finished');
    await receiver.close();
    await inbox.close();
  });

  it('whose handler did not wait for its transaction ends as well', async () => {
    const { inbox } = await shop({ max: 4 });
    const { logger } = recordedLog();
    const receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger,
      clock: faster,
      processing: { leaseMs: 600_000, retry: { attempts: 1 } },
      handlers: { '*': (_, ctx) => void ctx.transaction(never) },
    });
    await receiver.start();
    await send(receiver, 1);
    await expect.poll(() => states(inbox)).toEqual(['dead']);
    await receiver.close();
    await inbox.close();
  });

  it('because its processor closes holds up neither that nor the end of the pool', async () => {
    const { inbox, pool, backends } = await shop({ max: 4 });
    const begun = vi.fn();
    const work: Work = () => (begun(), never());
    const { receiver } = receiverOn({ inbox }, work);
    await receiver.start();
    await send(receiver, 1);
    await vi.waitFor(() => expect(begun).toHaveBeenCalled());
    await receiver.close();
    await inbox.close();
    expect(await endedPool(pool)).toBe('ended');
    await expect.poll(backends).toEqual([]);
  });

  it('sends nothing more through the client that its function still has', async () => {
    const { inbox, orders, apart } = await shop({ max: 4 });
    const goOn = Promise.withResolvers<void>();
    const heard: unknown[] = [];
    const work: Work = async (client) => {
      await client.query(`INSERT INTO ${orders} VALUES ('one')`);
      await goOn.promise;
      try {
        await client.query(`INSERT INTO ${orders} VALUES ('two')`);
      } catch (failure) {
        heard.push(failure);
      }
    };
    const { receiver } = receiverOn({ inbox }, work, { retry: { attempts: 1 } });
    await receiver.start();
    await send(receiver, 1);
    await expect.poll(() => states(inbox)).toEqual(['dead']);
    goOn.resolve();
    await expect.poll(() => String(heard)).toMatch(/has ended.*was not sent/);
    expect((await apart.query(`SELECT FROM ${orders}`)).rows).toHaveLength(1);
    await receiver.close();
    await inbox.close();
  });
});

/** A pool waits for each client at its end. */
async function endedPool(pool: Pool): Promise<string> {
  const late = delay(10_000, 'late', { ref: false });
  const ended = pool.end().then(() => 'ended');
  // The helper ends the pool after the test.
  pool.end = async () => {};
  return Promise.race([ended, late]);
}
