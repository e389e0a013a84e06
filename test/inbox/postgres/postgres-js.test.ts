import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
// @ts-expect-error: an example, in JavaScript
import { postgresJsPool } from '../../../examples/postgres-js/pool.mjs';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { PostgresConnection, PostgresPool } from '../../../src/inbox/postgres/driver/connections.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { freePort } from '../../helpers/free-port.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { testWorkQueue } from '../../processing/work-queue.conformance.ts';
import { testInbox } from '../conformance.ts';

interface JsPool extends PostgresPool {
  end(): Promise<unknown>;
}

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let admin: Pool;
let pool: JsPool;

function poolOf(url: string, options = {}): JsPool {
  return postgresJsPool(url, options) as JsPool;
}

beforeAll(async () => {
  admin = new Pool({ connectionString: await postgresUrl() });
  pool = poolOf(await postgresUrl());
  await using inbox = inboxOnPostgres({ pool }, { ...SETTINGS, schema });
  await inbox.list();
  await admin.query(`CREATE TABLE ${orders} (id text)`);
});

afterAll(async () => {
  await pool.end();
  await dropSchema(admin, schema);
  await admin.end();
});

let emptied = Promise.resolve();

function empty(): Inbox<never> {
  emptied = emptied.then(() => emptySchema(admin, schema));
  const connect = () => emptied.then(() => pool.connect());
  return inboxOnPostgres({ pool: { connect } }, { ...SETTINGS, schema }) as Inbox<never>;
}

testInbox('the inbox on postgres.js', empty);
testWorkQueue('the work queue on postgres.js', empty);

describe('ctx.transaction on postgres.js', () => {
  beforeEach(async () => {
    await emptySchema(admin, schema);
    await admin.query(`TRUNCATE ${orders}`);
  });

  async function ran(work: (client: PostgresConnection) => unknown) {
    await using inbox = inboxOnPostgres<PostgresConnection>({ pool }, { ...SETTINGS, schema });
    await inbox.accept(incoming({ receivedAt: START }), later());
    const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
    if (event === undefined) throw new Error('nothing was claimed');
    const attempt = { now: () => START, signal: new AbortController().signal };
    const ended = await inbox.transaction(event.lease, work, attempt).then(
      () => 'committed',
      (failure: unknown) => String(failure),
    );
    const { rows } = await admin.query<{ id: string }>(`SELECT id FROM ${orders} ORDER BY id`);
    return { ended, written: rows.map(({ id }) => id).join(), state: (await inbox.get(KEY))?.state };
  }

  const insert = (client: PostgresConnection, id: string) =>
    client.query({ text: `INSERT INTO ${orders} VALUES ($1)`, values: [id] });

  it('commits what the function writes with the event', async () => {
    const work = (client: PostgresConnection) => insert(client, 'one');
    expect(await ran(work)).toEqual({ ended: 'committed', written: 'one', state: 'processed' });
  });

  it('rolls back what a function has written that fails', async () => {
    const work = async (client: PostgresConnection): Promise<void> => {
      await insert(client, 'one');
      throw new Error('no stock');
    };
    expect(await ran(work)).toEqual({ ended: 'Error: no stock', written: '', state: 'processing' });
  });

  it('makes a savepoint of a transaction inside, and sends no COMMIT that stands alone', async () => {
    const nested = async (client: PostgresConnection): Promise<void> => {
      await insert(client, 'one');
      await client.query({ text: 'BEGIN' });
      await insert(client, 'two');
      await client.query({ text: 'ROLLBACK' });
    };
    expect(await ran(nested)).toEqual({ ended: 'committed', written: 'one', state: 'processed' });
    await emptySchema(admin, schema);
    const ending = async (client: PostgresConnection): Promise<void> => {
      await insert(client, 'two');
      await client.query({ text: 'COMMIT' }).catch(() => {});
    };
    expect(await ran(ending)).toMatchObject({ ended: expect.stringContaining('COMMIT'), written: 'one' });
  });

  it.each(['before it asks again', 'while it asks'])(
    'sends nothing through another connection: lost %s',
    async (when) => {
      const work = async (client: PostgresConnection): Promise<void> => {
        await insert(client, 'one');
        const { rows } = await client.query({ text: 'SELECT pg_backend_pid() AS pid' });
        const { pid } = rows[0] as { pid: number };
        const end = () => admin.query('SELECT pg_terminate_backend($1)', [pid]);
        const asking = when === 'while it asks' ? client.query({ text: 'SELECT pg_sleep(60)' }) : end();
        const behind = ['two', 'three', 'four'].map((id) => insert(client, id));
        if (when === 'while it asks') await end();
        await Promise.allSettled([asking, ...behind]);
        await delay(500); // postgres.js connects again
        await insert(client, 'five').catch(() => {});
        await insert(client, 'six');
      };
      const { ended, written, state } = await ran(work);
      expect(ended).toMatch(/was not committed/);
      expect([written, state]).toEqual(['', 'processing']);
    },
  );

  it('passes values and returns rows as pg does', async () => {
    const text = `SELECT $1::int AS n, $2::bytea AS bytes, $3::text[] AS texts, $4::boolean AS yes, $5::text AS none,
      $6::jsonb AS json, $7::int[][] AS grid, $8::bytea[] AS blobs, $9::text[] IS NOT DISTINCT FROM ARRAY['NULL', NULL] AS same`;
    const lists = [[[1], [2]], [Buffer.of(0, 255)], ['NULL', null]];
    const values = [3, Buffer.from('é'), ['a"b\\', '{}', ''], true, undefined, { a: [1] }, ...lists];
    const rows: unknown[] = [];
    await ran(async (client) => rows.push(...(await client.query({ text, values })).rows));
    const [first, ...others] = rows;
    expect(others).toEqual([]);
    expect(first).toEqual({
      n: 3,
      bytes: Buffer.from('é'),
      texts: ['a"b\\', '{}', ''],
      yes: true,
      none: null,
      json: { a: [1] },
      grid: [[1], [2]],
      blobs: [Buffer.of(0, 255)],
      same: true,
    });
  });
});

describe('the pool of postgres.js', () => {
  it('opens no more connections than it may, and replaces a broken one', async () => {
    const small = poolOf(await postgresUrl(), { max: 1 });
    onTestFinished(async () => {
      await small.end();
    });
    const pidOf = async (client: PostgresConnection): Promise<unknown> =>
      (await client.query({ text: 'SELECT pg_backend_pid() AS pid' })).rows[0];
    const first = await small.connect();
    const pid = await pidOf(first);
    const waits = small.connect();
    first.release?.();
    const second = await waits;
    expect(await pidOf(second)).toEqual(pid);
    const waitsToo = small.connect();
    second.release?.(true);
    const third = await waitsToo;
    expect(await pidOf(third)).not.toEqual(pid);
    await expect(second.query({ text: 'SELECT 1' })).rejects.toThrow('Connection terminated');
    third.release?.();
  });

  it('says where nobody answers, and what a role lacks', async () => {
    const away = poolOf(`postgres://hookbox@127.0.0.1:${await freePort()}/postgres`, { backoff: 0 });
    await using inbox = postgresInbox({ pool: away });
    await expect(inbox.list()).rejects.toThrow('the connection to Postgres failed (ECONNREFUSED)');
    const url = new URL(await postgresUrl());
    url.pathname = 'nowhere';
    const nowhere = poolOf(url.href);
    await using other = postgresInbox({ pool: nowhere });
    await expect(other.list()).rejects.toMatchObject({ code: 'CANNOT_OPEN' });
    await Promise.all([away.end(), nowhere.end()]);
  });
});
