import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { proxiedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  await using inbox = open(pool);
  await inbox.get(KEY);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(() => emptySchema(pool, schema));

function open(source: { connect(): Promise<PoolClient> }): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

/** Records `synchronous_commit` at each COMMIT. */
async function watched() {
  const only = await scratchPool({ max: 1 });
  const seen: unknown[] = [];
  const source = proxiedPool(only, (client) => ({
    async query(asked) {
      if (asked.text === 'COMMIT') {
        const { rows } = await client.query<{ now: string }>(`SELECT current_setting('synchronous_commit') AS now`);
        seen.push(rows[0]?.now);
      }
      return client.query(asked);
    },
  }));
  return { inbox: open(source), only, seen };
}

async function workWith(inbox: Inbox<PoolClient>, inside: string): Promise<void> {
  await inbox.accept(incoming({ receivedAt: START }), later());
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const attempt = { now: () => START, signal: new AbortController().signal };
  await inbox.transaction(event.lease, (client) => client.query(inside), attempt);
  await inbox.accept(incoming({ id: 'evt_2', receivedAt: START }), later());
}

describe('a connection of the pool on which somebody has set synchronous_commit', () => {
  it.each([
    ['off', 'on'],
    ['local', 'local'],
    ['remote_apply', 'remote_apply'],
  ])('to %s: everything commits with %s', async (left, expected) => {
    const { inbox, only, seen } = await watched();
    await inbox.get(KEY);
    await only.query(`SET synchronous_commit = ${left}`);
    seen.length = 0;
    await workWith(inbox, 'SELECT 1');
    expect(seen.length).toBeGreaterThan(4);
    expect(new Set(seen)).toEqual(new Set([expected]));
    await inbox.close();
  });

  it.each(['SET', 'SET LOCAL'])(
    'to off by %s in ctx.transaction: that is committed with on, and what comes after',
    async (set) => {
      const { inbox, seen } = await watched();
      await workWith(inbox, `${set} synchronous_commit = off`);
      expect(new Set(seen)).toEqual(new Set(['on']));
      await inbox.close();
    },
  );
});

describe('a connection of the pool that somebody has left', () => {
  it.each([
    ['in a transaction that has failed', 'BEGIN; SELECT 1 / 0'],
    ['in one that only reads', 'BEGIN READ ONLY; SELECT 1'],
  ])('%s is dropped for another one', async (_, left) => {
    const only = await scratchPool({ max: 1 });
    await using inbox = open(only);
    await inbox.get(KEY);
    const leave = async (): Promise<void> => {
      const client = await only.connect();
      await client.query(left).catch(() => {});
      client.release();
    };
    await leave();
    expect(await inbox.accept(incoming({ receivedAt: START }), later())).toMatchObject({ result: 'stored' });
    await leave();
    const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
    if (event === undefined) throw new Error('nothing was claimed');
    await leave();
    const attempt = { now: () => START, signal: new AbortController().signal };
    expect(await inbox.transaction(event.lease, () => 'done', attempt)).toBe('done');
    expect((await inbox.get(KEY))?.state).toBe('processed');
  });

  it('with another role is not asked twice', async () => {
    const role = schemaName();
    await pool.query(`CREATE ROLE ${role}`);
    onTestFinished(async () => {
      await pool.query(`DROP ROLE ${role}`);
    });
    const only = await scratchPool({ max: 1 });
    await using inbox = open(only);
    await inbox.get(KEY);
    await only.query(`SET ROLE ${role}`);
    await expect(inbox.accept(incoming(), later())).rejects.toMatchObject({ code: 'FAILED' });
    expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
  });
});
