import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { proxiedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const REQUEST = { ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true };
const schema = schemaName();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  pool.on('error', () => {});
  await using inbox = on(pool);
  await inbox.get(KEY);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(() => emptySchema(pool, schema));

function on(source: { connect(): Promise<PoolClient> }): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

it.each(['0A000', '25006'])(
  'a pool whose connections have stayed with a standby, which says %s, comes to the primary by itself',
  async (code) => {
    const one = await scratchPool({ max: 1 });
    const ofStandby = new WeakSet<PoolClient>();
    let isStandby = true;
    const source = proxiedPool(one, (client) => {
      if (isStandby) ofStandby.add(client);
      return {
        async query(asked) {
          if (!ofStandby.has(client) || !asked.text.startsWith('BEGIN')) return client.query(asked);
          throw Object.assign(new Error('cannot set transaction read-write mode during recovery'), { code });
        },
      };
    });
    await using inbox = on(source);
    await inbox.nextDue(EVERYTHING).catch(() => {});
    isStandby = false;
    expect(await inbox.accept(incoming({ receivedAt: START }), later())).toMatchObject({ result: 'stored' });
    expect(await inbox.claim(REQUEST, 1)).toMatchObject([{ id: 'evt_1' }]);
  },
);

it('what a newer version has added to a table is no reason to fail, nor to drop a connection', async () => {
  const own = schemaName();
  onTestFinished(() => dropSchema(pool, own));
  const one = await scratchPool({ max: 1 });
  await using inbox = inboxOnPostgres<PoolClient>({ pool: one }, { ...SETTINGS, schema: own });
  const bulks = async (): Promise<readonly unknown[]> => [
    await inbox.operations?.bulks({ limit: 5 }),
    await inbox.operations?.bulk(1),
  ];
  const before = await bulks();
  let dropped = 0;
  one.on('remove', () => {
    dropped += 1;
  });
  await pool.query(`ALTER TABLE ${tablesIn(own).bulks} ADD COLUMN of_a_newer_version text`);
  expect(await bulks()).toEqual(before);
  expect(dropped).toBe(0);
});

it('a role that only reads unless told otherwise works as any other', async () => {
  const role = schemaName();
  await pool.query(
    `CREATE ROLE ${role} LOGIN; ALTER ROLE ${role} SET default_transaction_read_only = on;
     GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role};
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${role}`,
  );
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const url = new URL(await postgresUrl());
  url.username = role;
  const reading = await scratchPool({ connectionString: url.href });
  await using inbox = on(reading);
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [claimed] = await inbox.claim(REQUEST, 1);
  if (claimed === undefined) throw new Error('nothing was claimed');
  const work = (client: PoolClient) => client.query('SELECT 1');
  await inbox.transaction(claimed.lease, work, { now: () => START, signal: new AbortController().signal });
  expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed' }]);
});

it('a read whose BEGIN is refused asks nothing more of its connection once somebody else may have it', async () => {
  let isRefused = false;
  let held = 0;
  const strays: string[] = [];
  const source = proxiedPool(pool, (client) => {
    held += 1;
    let isOurs = true;
    return {
      async query(asked) {
        if (!isOurs) strays.push(asked.text);
        if (isRefused && asked.text.startsWith('BEGIN')) {
          isRefused = false;
          throw Object.assign(new Error('refused by the test'), { code: '54000' });
        }
        const result = await client.query(asked);
        await delay(5); // so that the next statement comes later
        return result;
      },
      release(destroy) {
        isOurs = false;
        held -= 1;
        client.release(destroy);
      },
    };
  });
  await using inbox = on(source);
  await inbox.accept(incoming({ receivedAt: START }), later());
  isRefused = true;
  await expect(inbox.list()).rejects.toThrow('54000');
  expect(held).toBe(0);
  await delay(100);
  expect(strays).toEqual([]);
});

it('a list goes by nothing that it knows of a server that is gone, whose last numbers its successor gives out again', async () => {
  const one = await scratchPool({ max: 1, application_name: schema });
  await using inbox = on(one);
  await using other = on(pool);
  const t = tablesIn(schema);
  for (const id of ['a', 'b', 'c']) await inbox.accept(incoming({ id }), later());
  expect(await inbox.list()).toHaveLength(3);
  // The successor lacks the last two events, and the connections are gone.
  await pool.query(
    `DELETE FROM ${t.queue} WHERE seq > 1; DELETE FROM ${t.events} WHERE seq > 1;
     ALTER TABLE ${t.events} ALTER COLUMN seq RESTART WITH 2`,
  );
  const { promise: gone, resolve: removed } = Promise.withResolvers<void>();
  one.on('remove', () => removed());
  await pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [schema]);
  await gone;
  // The third event is committed before the second one.
  const slow = await pool.connect();
  onTestFinished(() => slow.release());
  const columns = 'endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body';
  await slow.query(
    `BEGIN; INSERT INTO ${t.events} (${columns})
     SELECT endpoint, 'd', type, created_ms, created_ns, entity, slot, verified, received_ms, body FROM ${t.events}`,
  );
  await other.accept(incoming({ id: 'e' }), later());
  const listed = inbox.list({ after: 1, limit: 1 });
  await Promise.race([listed, delay(200)]);
  await slow.query('COMMIT');
  expect((await listed).map(({ id }) => id)).toEqual(['d']);
});
