/** A lease counts from when it was granted, also after a wait for a connection. */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';

const schema = schemaName();
const { queue } = tablesIn(schema);
const LEASE_MS = 60_000;
const WAIT_MS = 1_000;
let pool: Pool;
/** of one connection */
let small: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  small = new Pool({ connectionString: await postgresUrl(), max: 1 });
  await using inbox = machine(pool);
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await Promise.all([pool.end(), small.end()]);
});
beforeEach(() => emptySchema(pool, schema));

const machine = (source: Pool) =>
  inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema, time: databaseTime() });
const request = () => ({ ...EVERYTHING, now: Date.now(), leaseMs: LEASE_MS, ordered: true });

/** The request begins while the one connection is busy. */
async function whileBusy<T>(ask: () => Promise<T>): Promise<{ answer: T; freeAt: number }> {
  const busy = await small.connect();
  const asked = ask();
  await delay(WAIT_MS);
  const { rows } = await busy.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  busy.release();
  return { answer: await asked, freeAt: rows[0]?.ms ?? Infinity };
}

async function grantedAt(): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(`SELECT lease_until_ms::float8 AS ms FROM ${queue}`);
  expect(rows).toHaveLength(1);
  return (rows[0]?.ms ?? 0) - LEASE_MS;
}

it.each(['claim', 'claimOne'] as const)('a %s that waits for a connection counts from when it had one', async (how) => {
  await using inbox = machine(small);
  const event = incoming({ receivedAt: Date.now() });
  await inbox.accept(event, later());
  const claim = async () => (how === 'claim' ? inbox.claim(request(), 1) : [await inbox.claimOne(event, request())]);
  const { answer, freeAt } = await whileBusy(claim);
  expect(answer).toMatchObject([{ id: event.id, attempt: 1 }]);
  expect(await grantedAt()).toBeGreaterThan(freeAt - WAIT_MS / 2);
});

it('so does a renewal', async () => {
  await using inbox = machine(small);
  await inbox.accept(incoming({ receivedAt: Date.now() }), later());
  const leases = (await inbox.claim(request(), 1)).map(({ lease }) => lease);
  const { answer, freeAt } = await whileBusy(() => inbox.renew(leases, Date.now(), LEASE_MS));
  expect(answer).toEqual(leases);
  expect(await grantedAt()).toBeGreaterThan(freeAt - WAIT_MS / 2);
});
