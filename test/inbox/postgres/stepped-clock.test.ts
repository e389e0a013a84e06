/** The clock of the database is set, or another server takes over: all who work on it follow at once. */
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import type { Session } from '../../../src/inbox/postgres/driver/session.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { interferedPool, type Interference } from './interfered-pool.ts';
import { rewrittenPool } from './rewritten-pool.ts';

const schema = schemaName();
const STEP_MS = 40_000;
let pool: Pool;
/** how far the database's clock was set */
let step = 0;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  pool.on('error', () => {});
  await using inbox = machine();
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});
beforeEach(async () => {
  step = 0;
  await emptySchema(pool, schema);
});

const stepping = () =>
  rewrittenPool(pool, (text) => text.replaceAll('clock_timestamp()', `(clock_timestamp() + interval '${step} ms')`));

function machine(source: { connect(): Promise<PoolClient> } = stepping()) {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema, prepares: false, time: databaseTime() });
}

const request = () => ({ ...EVERYTHING, now: Date.now(), leaseMs: 15_000, ordered: true });

it('nobody who has begun since takes over what is claimed by who was there before', async () => {
  await using old = machine();
  await old.accept(incoming({ receivedAt: Date.now() }), later());
  step = STEP_MS;
  const [claimed] = await old.claim(request(), 1);
  expect(claimed).toMatchObject({ attempt: 1 });
  await using young = machine();
  expect(await young.claim(request(), 1)).toEqual([]);
  expect(await young.attempts(incoming())).toEqual([]);
});

it('nor what they have renewed', async () => {
  await using old = machine();
  await old.accept(incoming({ receivedAt: Date.now() }), later());
  const leases = (await old.claim(request(), 1)).map(({ lease }) => lease);
  step = STEP_MS;
  expect(await old.renew(leases, Date.now(), 15_000)).toEqual(leases);
  await using young = machine();
  expect(await young.claim(request(), 1)).toEqual([]);
});

it('a lease that is given after the clock was set back lasts as long as it should', async () => {
  await using old = machine();
  await old.accept(incoming({ receivedAt: Date.now() }), later());
  step = -STEP_MS;
  expect(await old.claim(request(), 1)).toHaveLength(1);
  await using young = machine();
  const due = (await young.nextDue(EVERYTHING)) ?? Infinity;
  expect(due - Date.now()).toBeLessThan(STEP_MS);
});

it('who has lost a connection asks for the time again, whatever it asks for next', async () => {
  let interference: Interference = null;
  await using old = machine(
    interferedPool(stepping(), (text) => {
      if (interference === null || !text.includes('body')) return null;
      const now = interference;
      interference = null;
      return now;
    }),
  );
  await old.accept(incoming({ receivedAt: Date.now() }), later());
  step = STEP_MS;
  await using young = machine();
  await young.accept(incoming({ id: 'evt_2', receivedAt: Date.now() }), later());
  interference = 'lost';
  const stored = await old.get({ endpoint: 'default', id: 'evt_2' });
  expect(interference).toBe(null);
  expect(Math.abs((stored?.receivedAt.getTime() ?? 0) - Date.now())).toBeLessThan(STEP_MS / 2);
});

it('a slow answer moves no time that may be right', async () => {
  const time = databaseTime();
  const ms = Date.now() + 3_600_000;
  await time.follow({ row: async () => ({ ms }) } as unknown as Session); // the one thing that is asked of it
  const before = time.toDatabase(0);
  const now = performance.now();
  // As of 150 ms ago, which took so long to get here.
  time.clock?.heard(ms - 150, now - 300, now + 50);
  expect(time.toDatabase(0)).toBe(before);
});
