/** All machines follow the database's clock at once, also after a fail-over. */
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { CLOCK, databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import type { Session } from '../../../src/inbox/postgres/driver/session.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { rerunEvents } from '../../../src/ops/act-on-events.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { interferedPool, type Interference, rewrittenPool } from './pools.ts';

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
  // The time took 150 ms to arrive.
  time.clock?.observe(ms - 150, now - 300, now + 50);
  expect(time.toDatabase(0)).toBe(before);
});

/** The call waits for a connection while the machine's clock is set. */
async function askedWhile(setMs: number, ask: (inbox: Inbox<PoolClient>) => Promise<unknown>): Promise<void> {
  let gate: Promise<unknown> = Promise.resolve();
  const { now } = Date;
  const inbox = machine({ connect: () => gate.then(() => pool.connect()) });
  try {
    await inbox.list();
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const asked = ask(inbox);
    await new Promise((resolve) => setTimeout(resolve, 20));
    Date.now = () => now() + setMs;
    opened.resolve();
    await asked;
  } finally {
    Date.now = now;
    await inbox.close();
  }
}

const HOUR_MS = 3_600_000;

it.each([-HOUR_MS, HOUR_MS])(
  'the clock of a machine that is set by %i ms while it waits to write does not move what it writes',
  async (setMs) => {
    await using inbox = machine();
    for (const id of ['retried', 'renewed', 'rerun', 'acted on', 'claimed']) {
      await store(inbox as Inbox<never>, { ...orderEvent(id), receivedAt: Date.now() });
    }
    const [retried, renewed, ...dead] = await inbox.claim(request(), 4);
    if (retried === undefined || renewed === undefined) throw new Error('nothing was claimed');
    const error = { name: 'Error', message: 'fails', stack: null };
    for (const { lease } of dead) await inbox.settle(lease, { outcome: 'dead', reason: 'failed', error }, Date.now());
    const asks: readonly ((inbox: Inbox<PoolClient>) => Promise<unknown>)[] = [
      (late) => late.settle(retried.lease, { outcome: 'retry', error, dueAt: Date.now() + 600_000 }, Date.now()),
      (late) => late.renew([renewed.lease], Date.now(), 15_000),
      (late) => late.claim(request(), 1),
      (late) => late.rerun(orderEvent('rerun'), orderEvent('rerun'), Date.now()),
      (late) => rerunEvents(late, [{ endpoint: 'default', id: 'acted on' }], { actor: 'ada', now: Date.now() }),
      (late) => late.accept(incoming({ id: 'received', entity: null, receivedAt: Date.now() }), later()),
    ];
    for (const ask of asks) await askedWhile(setMs, ask);
    const t = tablesIn(schema);
    const { rows } = await pool.query<{ id: string; due: number; until: number | null; ended: number | null }>(`
      SELECT id, (due_ms - ms)::float8 AS due, (lease_until_ms - ms)::float8 AS until,
        (SELECT max(ended_ms) - ms FROM ${t.attempts} AS attempts WHERE attempts.seq = queue.seq)::float8 AS ended
      FROM ${t.queue} AS queue JOIN ${t.events} AS events USING (seq), (${CLOCK}) AS now ORDER BY queue.seq`);
    const minutes = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 60_000) + 0);
    expect(rows.map(({ id, due, until, ended }) => [id, minutes(due), minutes(until), minutes(ended)])).toEqual([
      ['retried', 10, null, 0],
      ['renewed', 0, 0, null],
      ['rerun', 0, null, 0],
      ['acted on', 0, null, 0],
      ['claimed', 0, 0, null],
      ['received', 0, null, null],
    ]);
    const { rows: latest } = await pool.query<{ ms: number }>(
      `SELECT (latest_ms - ms)::float8 AS ms FROM ${t.clock}, (${CLOCK}) AS now`,
    );
    expect(minutes(latest[0]?.ms ?? Infinity)).toBe(0);
  },
);
