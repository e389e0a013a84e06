import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { quoted, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { createReceiver } from '../../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../../helpers/order-delivery.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { interferedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  pool.on('error', () => {});
  await using inbox = open(pool);
  await inbox.get(KEY);
  await pool.query(`CREATE TABLE ${orders} (id text)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${orders}`);
});

function open(source: { connect(): Promise<PoolClient> }): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema, time: databaseTime() });
}

async function handled<Client>(
  inbox: Inbox<Client>,
  work: (client: Client) => unknown,
  comesToBe: 'dead' | 'processed',
): Promise<{ failed: number; dead: number; reasons: readonly (string | undefined)[]; codes: readonly unknown[] }> {
  const told = { failed: 0, dead: 0 };
  const { logger, lines } = recordedLog();
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger,
    processing: { retry: { attempts: 3, baseMs: 1, maxMs: 1 } },
    handlers: { '*': (_, ctx) => ctx.transaction(work as never) },
    onFailed: () => void (told.failed += 1),
    onDead: () => void (told.dead += 1),
  });
  await receiver.start();
  expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ kind: 'stored' });
  await expect.poll(async () => (await inbox.get(KEY))?.state).toBe(comesToBe);
  await receiver.close();
  const attempts = await inbox.attempts(KEY);
  return {
    ...told,
    reasons: attempts.map(({ outcome, error }) => (outcome === 'failed' ? error?.message : outcome)),
    codes: lines.flatMap(({ facts }) => (facts['code'] === undefined ? [] : [facts['code']])),
  };
}

interface Asking {
  query(asked: { readonly text: string }): Promise<unknown>;
}

const insert = (client: Asking) => client.query({ text: `INSERT INTO ${orders} VALUES ('lost')` });

describe('a function whose connection Postgres ends', () => {
  const ways: readonly (readonly [string, string, (client: Asking) => Promise<unknown>])[] = [
    [
      '25P03',
      'idle-in-transaction timeout',
      async (client) => {
        await client.query({ text: `SET LOCAL idle_in_transaction_session_timeout = 30` });
        await insert(client);
        await delay(200);
        await insert(client);
      },
    ],
    [
      '25P03',
      'the same, and the function asks for nothing more',
      async (client) => {
        await client.query({ text: `SET LOCAL idle_in_transaction_session_timeout = 30` });
        await insert(client);
        await delay(200);
      },
    ],
    [
      '25P04',
      'transaction timeout',
      async (client) => {
        await insert(client);
        await client.query({ text: `SET LOCAL transaction_timeout = 30` });
        await client.query({ text: 'SELECT pg_sleep(10)' });
      },
    ],
    [
      '57P01',
      'an administrator',
      async (client) => {
        await insert(client);
        await client.query({ text: 'SELECT pg_terminate_backend(pg_backend_pid())' });
      },
    ],
    [
      '57P01',
      'an administrator, which the function does not mind',
      async (client) => {
        await insert(client);
        await client.query({ text: 'SELECT pg_terminate_backend(pg_backend_pid())' }).catch(() => {});
      },
    ],
  ];

  describe.each(['a pool', 'a URL'])('of %s', (source) => {
    it.each(ways)('has failed, with %s, each time, and its event is dead after the last: %s', async (code, _, work) => {
      await using inbox = (
        source === 'a pool' ? open(pool) : postgresInbox(await postgresUrl(), { schema, listen: false })
      ) as Inbox<Asking>;
      const end = await handled(inbox, work, 'dead');
      expect(end).toMatchObject({ failed: 2, dead: 1, codes: ['NOT_COMMITTED', 'NOT_COMMITTED', 'NOT_COMMITTED'] });
      expect(end.reasons).toEqual(Array.from({ length: 3 }, () => expect.stringContaining(`(${code})`)));
      expect((await pool.query(`SELECT FROM ${orders}`)).rows).toHaveLength(0);
    });
  });

  it('has failed also where a time-out of its own ends what hookbox writes behind it', async () => {
    await using inbox = open(pool);
    const work = async (client: PoolClient) => {
      await insert(client);
      await client.query('SET LOCAL lock_timeout = 20');
      const other = await pool.connect();
      await other.query(`BEGIN; SELECT FROM ${tablesIn(schema).slots} FOR UPDATE`);
      setTimeout(() => void other.query('ROLLBACK').finally(() => other.release()), 200);
    };
    const end = await handled(inbox, work, 'dead');
    expect(end).toMatchObject({ failed: 2, dead: 1 });
    expect(end.reasons[0]).toContain('(55P03)');
  });
});

it('a connection that is lost before the function has begun does not count', async () => {
  let lost = 0;
  let calls = 0;
  const unlucky = interferedPool(pool, (text) => {
    if (!text.includes('.effects (seq, fence)') || lost >= 9) return null;
    lost += 1;
    return 'lost';
  });
  await using inbox = open(unlucky);
  const work = (client: PoolClient) => {
    calls += 1;
    return insert(client);
  };
  const end = await handled(inbox, work, 'processed');
  expect(end).toMatchObject({
    failed: 0,
    dead: 0,
    reasons: ['interrupted', 'interrupted', 'interrupted', 'processed'],
  });
  expect([calls, lost]).toEqual([1, 9]);
});
