// @module-tag postgres
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { PRESENT_MS } from '../../../src/inbox/rules/processors.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { movesOf } from '../../../src/inbox/postgres/moves.ts';
import { tableNames, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { times } from '../../helpers/times.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool } from './pools.ts';
import { planFaults } from './plan-faults.ts';

const schema = schemaName();
const t = tablesIn(schema);
const ERROR = { name: 'Error', message: 'fails', stack: null };
const seen = new Set<string>();
let asked = 0;
/** no COMMIT is answered */
let isLossy = false;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  await using inbox = counted();
  await inbox.list();
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

function counted(): Inbox<PoolClient> {
  const source = interferedPool(pool, (text) => {
    seen.add(text);
    asked += 1;
    return isLossy && text === 'COMMIT' ? 'unanswered' : null;
  });
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

const key = (id: string) => ({ endpoint: 'default', id });

async function everything(inbox: Inbox<PoolClient>): Promise<void> {
  const request = { leaseMs: 1_000, ordered: true } as const;
  const content = { type: 'order.created', created: { ms: START, ns: 0 }, entity: 'a' };
  await inbox.announce({ endpoints: '*', types: ['order.created'] }, START, null);
  for (const [id, entity] of ['a', 'a', 'a', 'b', 'c', 'd'].entries()) {
    await inbox.accept(incoming({ id: `evt_${id}`, entity, receivedAt: START }), later());
    await inbox.accept(incoming({ id: `evt_${id}`, entity, body: 'other', receivedAt: START }), later());
  }
  await inbox.accept(incoming({ id: 'untaken', type: 'order.refunded', entity: 'a', receivedAt: START }), later());
  for (const types of ['*', ['order.created', 'order.ready']] as const) {
    for (const endpoints of ['*', ['default']] as const) {
      for (let now = START + 1; now < START + 4_000; now += 1_100) {
        const rates = { 'order.created': { count: 1_000, perMs: 1_000 } };
        const claimed = await inbox.claim({ ...request, endpoints, types, now, ...(types === '*' && { rates }) }, 10);
        await inbox.renew(
          claimed.map(({ lease }) => lease),
          now,
          1_000,
        );
        const [one, two, three, four] = claimed;
        if (one) await inbox.settle(one.lease, { outcome: 'retry', error: ERROR, dueAt: now }, now);
        if (two) await inbox.settle(two.lease, { outcome: 'processed' }, now);
        if (three) await inbox.settle(three.lease, { outcome: 'dead', reason: 'failed', error: ERROR }, now);
        if (three) await inbox.rerun(key(three.id), content, now);
        if (four) await inbox.settle(four.lease, { outcome: 'interrupted' }, now);
        await inbox.nextDue({ endpoints, types });
      }
    }
  }
  for (const id of ['f_1', 'f_2', 'f_3']) await inbox.accept(incoming({ id, entity: 'f', receivedAt: START }), later());
  for (const quietMs of [60_000, 0]) {
    const latest = { '*': { quietMs, maxMs: quietMs } };
    await inbox.claim({ ...request, endpoints: '*', types: '*', now: START + 9_000, latest }, 10);
  }
  const now = START + 10_000;
  isLossy = true;
  const lost = [
    inbox.claim({ ...request, ...EVERYTHING, now }, 10),
    inbox.accept(incoming({ id: 'started', entity: 'e', receivedAt: now }), later(), { ...request, now }),
  ];
  expect((await Promise.allSettled(lost)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isLossy = false;
  expect(await inbox.claim({ ...request, ...EVERYTHING, now }, 10)).not.toEqual([]);
  await inbox.claim({ ...request, ...EVERYTHING, now: START - 60_000 }, 10); // by a clock that was set back
  const last = await inbox.claimOne(key('evt_0'), { ...request, ...EVERYTHING, now: START + 20_000 });
  if (typeof last !== 'string') {
    const attempt = { now: () => START + 20_000, signal: new AbortController().signal };
    await inbox.transaction(last.lease, () => {}, attempt);
    await inbox.settle(last.lease, { outcome: 'committed', error: ERROR }, START + 20_000);
  }
  await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 2 * PRESENT_MS, START + PRESENT_MS);
  await inbox.unhandled(START + 2 * PRESENT_MS);
  await inbox.ignoredSince(EVERYTHING, START, START + 2 * PRESENT_MS);
  await inbox.ignoredSince({ endpoints: ['default'], types: ['order.created'] }, START, START + 2 * PRESENT_MS);
  await inbox.prune('*', START + 30_000, 10);
  await inbox.get(key('evt_0'));
  await inbox.attempts(key('evt_0'));
  await inbox.list({ after: 3 });
}

const scans = () =>
  // After the clock was set back, due times are moved once.
  planFaults(
    pool,
    t,
    [...seen].filter((text) => text !== movesOf(t).moveDue),
  );

it('no statement reads a whole table, whatever the statistics say', async () => {
  await using inbox = counted();
  await everything(inbox);
  expect(seen.size).toBeGreaterThan(50);
  await emptySchema(pool, schema);
  // Statistics of an almost empty inbox.
  await pool.query(`ANALYZE ${tableNames.map((name) => t[name]).join(', ')}`);
  expect(await scans()).toEqual([]);
  await inbox.accept(incoming(), later());
  await pool.query(`VACUUM (ANALYZE) ${t.events}, ${t.queue}`);
  expect(await scans()).toEqual([]);
  const many = Array.from({ length: times(9_000, 2_000) }, (_, n) => incoming({ id: `m${n}`, entity: `m${n}` }));
  await Promise.all(many.map((event) => inbox.accept(event, later())));
  expect(await scans()).toEqual([]);
  await pool.query(`ANALYZE ${tableNames.map((name) => t[name]).join(', ')}`);
  expect(await scans()).toEqual([]);
});

it('many events behind one that fails cost a claim no more than a few statements', async () => {
  await emptySchema(pool, schema);
  await using inbox = counted();
  await inbox.announce(EVERYTHING, START, null);
  const behind = Array.from({ length: times(10_000, 1_000) }, (_, n) =>
    incoming({ id: `evt_${n}`, receivedAt: START }),
  );
  await Promise.all(behind.map((event) => inbox.accept(event, later())));
  const request = { leaseMs: 1_000, ...EVERYTHING, ordered: true } as const;
  const costs: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const now = START + round * 100;
    asked = 0;
    const [failing, ...others] = await inbox.claim({ ...request, now }, 10);
    expect([failing?.id, others]).toEqual(['evt_0', []]);
    if (failing === undefined) throw new Error('nothing was claimed');
    expect(await inbox.claim({ ...request, now }, 10)).toEqual([]);
    expect(await inbox.settle(failing.lease, { outcome: 'retry', error: ERROR, dueAt: now + 100 }, now)).toBe(true);
    expect(await inbox.claim({ ...request, now }, 10)).toEqual([]);
    expect(await inbox.nextDue(EVERYTHING)).toBe(now + 100);
    costs.push(asked);
  }
  // The first round parks the events.
  expect(Math.max(...costs.slice(1))).toBeLessThan(80);
  expect(costs[0]).toBeLessThan(behind.length);
});

it('many events that another machine has locked cost a claim no more than a few statements', async () => {
  await emptySchema(pool, schema);
  await using inbox = counted();
  await inbox.announce(EVERYTHING, START, null);
  const behind = Array.from({ length: 900 }, (_, n) => incoming({ id: `evt_${n}`, receivedAt: START }));
  await Promise.all(behind.map((event) => inbox.accept(event, later())));
  await inbox.accept(incoming({ id: 'free', entity: 'another', receivedAt: START + 1 }), later());
  const other = await pool.connect();
  try {
    await other.query(
      `BEGIN; SELECT slot FROM ${t.slots} WHERE slot = (SELECT slot FROM ${t.queue} LIMIT 1) FOR UPDATE`,
    );
    asked = 0;
    const request = { leaseMs: 1_000, ...EVERYTHING, ordered: true, now: START + 2 } as const;
    expect((await inbox.claim(request, 1)).map(({ id }) => id)).toEqual(['free']);
    expect(asked).toBeLessThan(30);
  } finally {
    await other.query('ROLLBACK');
    other.release();
  }
});
