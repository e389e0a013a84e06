import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { pgSchema, text } from 'drizzle-orm/pg-core';
import knex from 'knex';
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import QueryStream from 'pg-query-stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let pool: Pool;
let pipelined: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  // As hookbox opens the connections of a URL.
  pipelined = new Pool({ connectionString: await postgresUrl(), pipeline: true });
  await using inbox = open(pool);
  await inbox.get(KEY);
  await pool.query(`CREATE TABLE ${orders} (id text PRIMARY KEY)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await Promise.all([pool.end(), pipelined.end()]);
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${orders}`);
});

function open(source: Pool): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

async function ran(source: Pool, work: (client: PoolClient) => unknown) {
  await using inbox = open(source);
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  let isUnused = false;
  const unused = () => (isUnused = true);
  const attempt = { now: () => START, signal: new AbortController().signal, unused };
  const ended = await inbox.transaction(event.lease, work, attempt).then(
    () => 'committed',
    (failure: unknown) => failure,
  );
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${orders} ORDER BY id`);
  return { ended, written: rows.map(({ id }) => id).join(), state: (await inbox.get(KEY))?.state, isUnused };
}

interface Orm {
  insert(id: string): Promise<unknown>;
  transaction(work: (inside: Orm) => Promise<unknown>): Promise<unknown>;
  /** as at the end of a program */
  close?(): Promise<unknown>;
}

const table = pgSchema(schema).table('orders', { id: text('id').primaryKey() });

function byDrizzle(database: Pick<ReturnType<typeof drizzle>, 'insert' | 'transaction' | 'execute'>): Orm {
  return {
    insert: async (id) => {
      await database.insert(table).values({ id });
      await database.execute(drizzleSql`SELECT 1`);
    },
    transaction: (work) => database.transaction((inside) => work(byDrizzle(inside))),
  };
}

interface Tables {
  orders: { id: string };
}

function kyselyOn(client: PoolClient): Kysely<Tables> {
  const one = { connect: async () => client as unknown as PostgresPoolClient, end: async () => client.release() };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: one }) }).withSchema(schema);
}

function byKysely(database: Kysely<Tables>): Orm {
  return {
    insert: (id) => database.insertInto('orders').values({ id }).execute(),
    transaction: (work) => database.transaction().execute((inside) => work(byKyselyInside(inside))),
    close: () => database.destroy(),
  };
}

/** Has no nested transactions. */
const byKyselyInside = (database: Kysely<Tables>): Orm => ({
  insert: (id) => database.insertInto('orders').values({ id }).execute(),
  transaction: (work) => work(byKyselyInside(database)),
});

const builder = knex({ client: 'pg' });

function byKnex(client: PoolClient): Orm {
  return {
    insert: (id) => builder('orders').withSchema(schema).insert({ id }).connection(client),
    transaction: (work) => builder.transaction((inside) => work(byKnexInside(inside)), { connection: client } as never),
  };
}

function byKnexInside(database: knex.Knex.Transaction): Orm {
  return {
    insert: (id) => database('orders').withSchema(schema).insert({ id }),
    transaction: (work) => database.transaction((inside) => work(byKnexInside(inside))),
  };
}

const orms: readonly (readonly [string, (client: PoolClient) => Orm])[] = [
  ['Drizzle', (client) => byDrizzle(drizzle(client))],
  ['Kysely', (client) => byKysely(kyselyOn(client))],
  ['Knex', byKnex],
];

describe.each(orms)('the transactions of %s inside of ctx.transaction', (_, on) => {
  describe.each([
    ['a pool', () => pool],
    ['a pool that pipelines', () => pipelined],
  ])('on %s', (_, source) => {
    it('commit with it', async () => {
      const end = await ran(source(), async (client) => {
        const orm = on(client);
        await orm.insert('a');
        await orm.transaction(async (inside) => {
          await inside.insert('b');
          await inside.transaction((within) => within.insert('c'));
        });
        await orm.insert('d');
        await orm.close?.();
      });
      expect(end).toEqual({ ended: 'committed', written: 'a,b,c,d', state: 'processed', isUnused: false });
    });

    it('take back what they did, when that is caught', async () => {
      const end = await ran(source(), async (client) => {
        const orm = on(client);
        await orm.insert('a');
        const failing = orm.transaction(async (inside) => {
          await inside.insert('gone');
          await inside.insert('a');
        });
        await expect(failing).rejects.toThrow();
        await orm.insert('b');
      });
      expect(end).toEqual({ ended: 'committed', written: 'a,b', state: 'processed', isUnused: false });
    });

    it('and nothing is committed when the function fails', async () => {
      const end = await ran(source(), async (client) => {
        const orm = on(client);
        await orm.transaction((inside) => inside.insert('a'));
        throw new Error('the function fails');
      });
      expect(end).toMatchObject({ ended: new Error('the function fails'), written: '', state: 'processing' });
    });
  });
});

it('a query that Kysely compiles is one of the transaction', async () => {
  const end = await ran(pool, async (client) => {
    const { sql, parameters } = kyselyOn(client).insertInto('orders').values({ id: 'a' }).compile();
    await client.query(sql, [...parameters]);
  });
  expect(end).toEqual({ ended: 'committed', written: 'a', state: 'processed', isUnused: false });
});

it('a stream of rows is one of the transaction', async () => {
  const seen: unknown[] = [];
  const end = await ran(pool, async (client) => {
    await client.query(`INSERT INTO ${orders} SELECT i::text FROM generate_series(1, 3) AS i`);
    for await (const row of client.query(new QueryStream(`SELECT id FROM ${orders} ORDER BY id`))) seen.push(row);
  });
  expect(seen).toEqual([{ id: '1' }, { id: '2' }, { id: '3' }]);
  expect(end).toEqual({ ended: 'committed', written: '1,2,3', state: 'processed', isUnused: false });
});

it('a stream that would commit is not sent', async () => {
  const end = await ran(pool, async (client) => {
    await client.query(`INSERT INTO ${orders} VALUES ('a')`);
    for await (const row of client.query(new QueryStream('COMMIT'))) expect(row).toBeUndefined();
  });
  expect(end).toMatchObject({ ended: { code: 'ENDED_EARLY' }, written: '', state: 'processing' });
});

it.each<[string, boolean, (client: PoolClient) => unknown]>([
  ['nothing', true, () => {}],
  ['a query of Drizzle that is not awaited', true, (client) => void drizzle({ client }).select().from(table)],
  ['a read', false, (client) => client.query(`SELECT id FROM ${orders}`)],
])('a function that does %s is reported as unused: %s', async (_, isUnused, work) => {
  expect(await ran(pool, async (client) => void (await work(client)))).toMatchObject({ ended: 'committed', isUnused });
});
