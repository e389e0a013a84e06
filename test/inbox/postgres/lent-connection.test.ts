import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING, type Lease } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { gatedPool, proxiedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
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
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

async function claimed(inbox: Inbox<PoolClient>): Promise<Lease> {
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  return event.lease;
}

const attempt = () => ({ now: () => START, signal: new AbortController().signal });

async function written(): Promise<number> {
  return (await pool.query(`SELECT FROM ${orders}`)).rows.length;
}

const insert = (client: PoolClient) => client.query(`INSERT INTO ${orders} VALUES ('ord_1')`);

describe('a function that gives its connection back', () => {
  const ways: readonly (readonly [string, (client: PoolClient) => unknown])[] = [
    ['release()', (client) => client.release()],
    ['release(true)', (client) => client.release(true)],
    ['end()', (client) => Reflect.apply(Reflect.get(client, 'end') as () => unknown, client, [])],
  ];

  it.each(ways)('with %s keeps it until its transaction is over', async (_, giveBack) => {
    const only = await scratchPool({ max: 1 });
    const atCommit = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    let isInside = false;
    const gated = gatedPool(only, (text) => {
      if (text !== 'COMMIT' || !isInside) return null;
      atCommit.resolve();
      return mayCommit.promise;
    });
    await using inbox = open(gated);
    const lease = await claimed(inbox);
    const work = async (client: PoolClient) => {
      await insert(client);
      await giveBack(client);
      await insert(client);
      isInside = true;
    };
    const transaction = inbox.transaction(lease, work, attempt());
    await atCommit.promise;
    // The next user of the connection would be in that transaction.
    expect([only.idleCount, only.totalCount]).toEqual([0, 1]);
    const beside = inbox.accept(incoming({ id: 'important', entity: null, receivedAt: START }), later());
    mayCommit.resolve();
    await transaction;
    expect(await beside).toMatchObject({ result: 'stored' });
    expect([await written(), (await inbox.get(KEY))?.state]).toEqual([2, 'processed']);
  });

  it('through what another call answers with, which is the same client, does neither', async () => {
    await using inbox = open(pool);
    const lease = await claimed(inbox);
    const work = (client: PoolClient) => {
      const answered = client.on('notice', () => {});
      expect(answered).toBe(client);
      answered.release();
      return insert(client);
    };
    await inbox.transaction(lease, work, attempt());
    expect((await inbox.get(KEY))?.state).toBe('processed');
  });

  it('by a callback is answered', async () => {
    await using inbox = open(pool);
    const lease = await claimed(inbox);
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (client: PoolClient) => Reflect.apply(Reflect.get(client, 'end') as () => unknown, client, [resolve]);
    await inbox.transaction(lease, (client) => (end(client), promise), attempt());
    expect((await inbox.get(KEY))?.state).toBe('processed');
  });
});

it('a connection is a client of pg in all else', async () => {
  await using inbox = open(pool);
  const lease = await claimed(inbox);
  const work = async (client: PoolClient) => {
    // oxlint-disable-next-line typescript/unbound-method -- people do this, and pg lets them
    const { query } = client;
    expect(client.constructor.name).toBe('Client');
    expect(client.escapeIdentifier('a"b')).toBe('"a""b"');
    const byCallback = Promise.withResolvers<number>();
    client.query('SELECT 1', (_, { rows }) => byCallback.resolve(rows.length));
    expect(await byCallback.promise).toBe(1);
    return (await query('SELECT 2 AS two')).rows;
  };
  expect(await inbox.transaction(lease, work, attempt())).toEqual([{ two: 2 }]);
});

it.each(['commits', 'fails'])('when a function %s, a query that it has kept back is not sent any more', async (end) => {
  const only = await scratchPool({ max: 1 });
  await using inbox = open(only);
  const lease = await claimed(inbox);
  const kept: { client?: PoolClient; query?: PoolClient['query'] } = {};
  const work = async (client: PoolClient) => {
    // oxlint-disable-next-line typescript/unbound-method -- people do this, and pg lets them
    Object.assign(kept, { client, query: client.query });
    if (end === 'fails') throw new Error('it fails');
  };
  await inbox.transaction(lease, work, attempt()).catch(() => {});
  expect(() => kept.client?.query(`INSERT INTO ${orders} VALUES ('late')`)).toThrow(/has ended.*Await every query/);
  expect(() => kept.query?.(`INSERT INTO ${orders} VALUES ('late')`)).toThrow(/has ended/);
  expect(() => kept.client?.release()).not.toThrow();
  expect([await written(), only.idleCount]).toEqual([0, 1]);
});

it('a delivery whose transaction somebody else has ended is not taken for stored', async () => {
  const ended: string[] = [];
  let isArmed = false;
  const source = proxiedPool(pool, (client) => ({
    async query(asked) {
      const result = await client.query(asked);
      if (!isArmed || ended.length > 0 || !asked.text.includes('ON CONFLICT')) return result;
      ended.push((await client.query('ROLLBACK')).command);
      return result;
    },
  }));
  await using inbox = open(source);
  await inbox.get(KEY);
  isArmed = true;
  expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
  expect(ended).toEqual(['ROLLBACK']);
  expect(await inbox.list()).toMatchObject([{ id: 'evt_1', redeliveries: { count: 0 } }]);
});
