import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Acceptance } from '../../../src/inbox/event.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { slotOf, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { gatedPool, interferedPool, type Interference } from './pools.ts';
import { blockedBy, withLateCommit } from './late-commit.ts';

const schema = schemaName();
const { queue, redeliveries, slots } = tablesIn(schema);
const start = { now: START, leaseMs: 1_000, ordered: true } as const;
const request = { ...EVERYTHING, ...start };
const key = { endpoint: 'default', id: 'evt_1' };
let pool: Pool;

const machine = (source: { connect(): Promise<PoolClient> } = pool) =>
  inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });

const arrive = (inbox: Inbox<PoolClient>, parts: Parameters<typeof incoming>[0] = {}): Promise<Acceptance> =>
  inbox.accept(incoming({ receivedAt: START, ...parts }), later(), start);

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  pool.on('error', () => {});
  await using inbox = machine();
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});
beforeEach(() => emptySchema(pool, schema));

function disturbed(interference: Interference, next: { times: number }): Inbox<PoolClient> {
  return machine(interferedPool(pool, (text) => (text === 'COMMIT' && (next.times -= 1) >= 0 ? interference : null)));
}

async function leases(): Promise<number | null> {
  const { rowCount } = await pool.query(`SELECT 1 FROM ${queue} WHERE lease_until_ms IS NOT NULL`);
  return rowCount;
}

it.each<['lost' | 'unanswered', number]>([
  ['lost', 1],
  ['unanswered', 1],
  ['unanswered', 2],
])('its caller has the lease when the COMMIT is %s (%i times)', async (interference, times) => {
  await using inbox = disturbed(interference, { times });
  const { result, started } = await arrive(inbox);
  expect(result).toBe('stored');
  if (started === undefined) throw new Error('it was not started');
  expect(await leases()).toBe(1);
  expect(await inbox.settle(started, { outcome: 'processed' }, START + 10)).toBe(true);
  expect(await inbox.attempts(key)).toMatchObject([{ number: 1, outcome: 'processed' }]);
});

it('a lease whose caller got no answer is given back by the next claim, and no crash', async () => {
  const next = { times: Infinity };
  await using inbox = disturbed('unanswered', next);
  await expect(arrive(inbox)).rejects.toMatchObject({ code: 'FAILED' });
  next.times = 0;
  expect(await leases()).toBe(1);
  // Until then, no other event is stored as running.
  expect((await arrive(inbox, { id: 'evt_2', entity: 'other' })).started).toBeUndefined();
  const claimed = await inbox.claim({ ...request, now: START + 10 }, 10);
  expect(
    claimed.map(({ id, failures }) => [id, failures]).toSorted((a, b) => String(a).localeCompare(String(b))),
  ).toEqual([
    ['evt_1', 0],
    ['evt_2', 0],
  ]);
  expect(await inbox.attempts(key)).toMatchObject([{ number: 1, outcome: 'interrupted' }]);
});

it('a lease that ran out before the repeated COMMIT was answered is not the caller’s any more', async () => {
  await using other = machine();
  let isFirst = true;
  const source = interferedPool(pool, (text) => {
    if (text !== 'COMMIT' || !isFirst) return null;
    isFirst = false;
    return 'unanswered';
  });
  let isTaken = false;
  await using inbox = machine(
    gatedPool(source, (text) => {
      if (isFirst || isTaken || !text.startsWith('BEGIN')) return null;
      isTaken = true;
      return other.claim({ ...request, now: START + 2_000 }, 1);
    }),
  );
  const { result, started } = await arrive(inbox);
  expect([result, started]).toEqual(['stored', undefined]);
  expect(await leases()).toBe(1);
  expect(await inbox.attempts(key)).toMatchObject([{ outcome: 'crashed' }]);
});

it('nor is one that ran out and that nobody has claimed since', async () => {
  await using other = machine();
  let isFirst = true;
  const source = interferedPool(pool, (text) => {
    if (text !== 'COMMIT' || !isFirst) return null;
    isFirst = false;
    return 'unanswered';
  });
  let isReleased = false;
  await using inbox = machine(
    gatedPool(source, (text) => {
      if (isFirst || isReleased || !text.startsWith('BEGIN')) return null;
      isReleased = true;
      return other.claim({ ...request, types: ['elsewhere'], now: START + 2_000 }, 1);
    }),
  );
  const { result, started } = await arrive(inbox);
  expect([result, started, await leases()]).toEqual(['stored', undefined, 0]);
});

it('a known event that cannot be written beside it takes no lease from its caller', async () => {
  await using inbox = machine();
  await arrive(inbox, { id: 'known', entity: 'other' });
  await pool.query(`
    CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no'; END$$;
    CREATE TRIGGER no_write BEFORE INSERT ON ${redeliveries} EXECUTE FUNCTION ${schema}.refuse()`);
  const [fresh, known] = await Promise.allSettled([arrive(inbox), arrive(inbox, { id: 'known', entity: 'other' })]);
  await pool.query(`DROP FUNCTION ${schema}.refuse CASCADE`);
  expect(fresh).toMatchObject({ value: { result: 'stored', started: { superseded: false } } });
  expect(known).toMatchObject({ reason: { code: 'FAILED' } });
});

it('of one entity only one runs when two machines store at the same time, and the other is stored', async () => {
  const atCommit = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isHeld = true;
  await using slow = machine(
    gatedPool(pool, (text) => {
      if (text !== 'COMMIT' || !isHeld) return null;
      isHeld = false;
      atCommit.resolve();
      return goOn.promise;
    }),
  );
  await using quick = machine();
  const first = arrive(slow, { id: 'first' });
  await atCommit.promise;
  const second = await arrive(quick, { id: 'second' });
  expect([second.result, second.started]).toEqual(['stored', undefined]);
  expect(await quick.claim(request, 1)).toEqual([]);
  goOn.resolve();
  const { started } = await first;
  if (started === undefined) throw new Error('it was not started');
  expect(await quick.claim(request, 1)).toEqual([]);
  await slow.settle(started, { outcome: 'processed' }, START + 10);
  expect((await quick.claim(request, 1)).map(({ id }) => id)).toEqual(['second']);
});

it.each([
  { entity: 'order', ordered: true },
  { entity: 'order', ordered: false },
  { entity: null, ordered: true },
])('another machine holds its slot: it is stored for a claim ($entity, ordered: $ordered)', async (how) => {
  const { entity, ordered } = how;
  await using inbox = machine();
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(`SELECT 1 FROM ${slots} WHERE slot = $1 FOR UPDATE`, [slotOf('default', entity, 'evt_1')]);
  const event = incoming({ receivedAt: START, entity });
  const waiting = await inbox.accept(event, later(), { ...start, ordered });
  const beside = await arrive(inbox, { id: 'evt_2', entity: 'other' });
  await client.query('COMMIT');
  client.release();
  expect([waiting.result, waiting.started]).toEqual(['stored', undefined]);
  expect(beside.started).toBeDefined();
  expect((await inbox.claim({ ...request, ordered }, 2)).map(({ id }) => id)).toEqual(['evt_1']);
});

it('of those that arrive together, the first of each entity runs', async () => {
  await using inbox = machine();
  const ids = ['a1', 'b1', 'a2', 'b2', 'a1', 'none', 'none too'];
  const accepted = await Promise.all(
    ids.map((id) => arrive(inbox, { id, entity: id.startsWith('none') ? null : (id[0] ?? '') })),
  );
  expect(accepted.map(({ result }) => result)).toEqual([
    'stored',
    'stored',
    'stored',
    'stored',
    'duplicate',
    'stored',
    'stored',
  ]);
  expect(accepted.map(({ started }) => started !== undefined)).toEqual([true, true, false, false, false, true, true]);
  const distinct = new Set(accepted.flatMap(({ started }) => (started === undefined ? [] : [started.fence])));
  expect(distinct.size).toBe(4);
  expect(await inbox.claim(request, 10)).toEqual([]);
});

it.each([['order'], [null]])(
  'a claim gives back a lease whose COMMIT is still under way without its connection (entity: %s)',
  (entity) =>
    withLateCommit(pool, schema, async (late) => {
      await using inbox = machine(late.pool);
      await inbox.list();
      late.loseNext();
      await expect(arrive(inbox, { entity })).rejects.toMatchObject({ code: 'FAILED' });
      expect(await leases()).toBe(0);
      late.reconnect();
      const claiming = inbox.claim({ ...request, now: START + 10 }, 1);
      await late.waitedFor(claiming);
      await late.release();
      expect(await claiming).toMatchObject([{ id: 'evt_1', attempt: 2, failures: 0 }]);
      expect(await inbox.attempts(key)).toMatchObject([{ number: 1, outcome: 'interrupted' }]);
    }),
);

it('a claim that gives back several waits for all their slots at once, and holds none meanwhile', async () => {
  const next = { times: Infinity };
  await using inbox = disturbed('unanswered', next);
  const [low, high] = ['one', 'other']
    .map((entity) => ({ entity, slot: slotOf('default', entity, '') }))
    .sort((a, b) => a.slot - b.slot);
  if (low === undefined || high === undefined) throw new Error('there are two');
  const lost = [high, low].map(({ entity }) => arrive(inbox, { id: entity, entity }));
  expect((await Promise.allSettled(lost)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  next.times = 0;
  expect(await leases()).toBe(2);
  const client = await pool.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await client.query('BEGIN');
  await client.query(`SELECT 1 FROM ${slots} WHERE slot = $1 FOR UPDATE`, [low.slot]);
  const claiming = inbox.claim({ ...request, now: START + 10 }, 2);
  try {
    await blockedBy(pool, rows[0]?.pid ?? 0, claiming);
    await client.query(`SELECT 1 FROM ${slots} WHERE slot = $1 FOR UPDATE NOWAIT`, [high.slot]);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  expect(await claiming).toHaveLength(2);
});

it('a new event is answered at once when a known one that arrived with it has to wait', async () => {
  let isKnown = false;
  const atBegin = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let begun = 0;
  await using inbox = machine(
    gatedPool(pool, (text) => {
      if (!isKnown || !text.startsWith('BEGIN')) return null;
      begun += 1;
      if (begun !== 2) return null;
      atBegin.resolve();
      return goOn.promise;
    }),
  );
  await arrive(inbox, { id: 'known', entity: 'other' });
  isKnown = true;
  const known = arrive(inbox, { id: 'known', entity: 'other' });
  const fresh = arrive(inbox, { id: 'fresh' });
  await atBegin.promise;
  try {
    const accepted = await Promise.race([fresh, delay(2_000, null)]);
    if (accepted?.started === undefined) throw new Error('it was not started in time');
    expect(await inbox.settle(accepted.started, { outcome: 'processed' }, START + 10)).toBe(true);
  } finally {
    goOn.resolve();
  }
  expect(await known).toMatchObject({ result: 'duplicate' });
});
