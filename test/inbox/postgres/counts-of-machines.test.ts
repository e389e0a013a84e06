// @module-tag longest
/** Machines do not wait for each other, and no count is lost or doubled. */
import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { timeApart } from '../../../src/inbox/postgres/database-time.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { rejectedDeliveries, stats } from '../../../src/ops/stats.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { counted, DAY, HOUR, MINUTE, NOON, totalsOf } from '../../ops/counted.ts';
import { handled } from '../../ops/events-in-states.ts';
import { interferedPool, once } from './pools.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

const forged = { endpoint: 'default', reason: 'signature-mismatch', sha256: 'a', source: null, count: 1 };

const rejections = (kinds: number) => Array.from({ length: kinds }, (_, n) => ({ ...forged, bytes: n, at: NOON + n }));

async function machines(count: number): Promise<readonly Inbox[]> {
  const first = closedAfter(await schema().open());
  const others = Array.from({ length: count - 1 }, async () => closedAfter(schema().join()));
  return [first, ...(await Promise.all(others))];
}

/** A frozen machine holds rows that others need. */
async function frozen(statement: string): Promise<() => Promise<void>> {
  const client = await schema().pool.connect();
  const letGo = async (): Promise<void> => {
    await client.query('ROLLBACK');
    client.release();
  };
  let once: Promise<void> | undefined;
  const release = (): Promise<void> => (once ??= letGo());
  onTestFinished(release);
  await client.query('BEGIN');
  await client.query(statement);
  return release;
}

it('four coarsen at once what four count: every count stands in one place, and in the sum of all', async () => {
  const { pool, t } = schema();
  const all = await machines(4);
  const ended = new AbortController();
  const counting = all.map(async (inbox, machine) => {
    for (let round = 0; round < 10; round += 1) {
      const rows = Array.from({ length: 60 }, (_, n) => counted(NOON + n * MINUTE, 'stored', `type ${machine}`));
      await operationsOf(inbox).count([...rows, ...rows.map((row) => ({ ...row, detail: 'of all' }))]);
    }
  });
  const coarsening = all.map(async (inbox, machine) => {
    while (!ended.signal.aborted) await operationsOf(inbox).coarsen(NOON + machine * HOUR);
  });
  await Promise.all(counting);
  ended.abort();
  await Promise.all(coarsening);
  const [inbox] = all;
  if (inbox === undefined) throw new Error('there are four');
  const expected = ['stored of all 2400', ...all.map((_, machine) => `stored type ${machine} 600`)];
  expect(await totalsOf(inbox)).toEqual(expected);
  expect(await totalsOf(inbox, { since: NOON, until: NOON + DAY })).toEqual(expected);
  await operationsOf(inbox).coarsen(NOON + DAY);
  expect((await pool.query(`SELECT 1 FROM ${t.counts}`)).rowCount).toBe(0);
  expect(await totalsOf(inbox)).toEqual(expected);
  expect(await totalsOf(inbox, { since: NOON, until: NOON + HOUR })).toEqual(expected);
});

it.each(['lost', 'unanswered'] as const)(
  'a step of coarsening that is %s moves each row once',
  async (interference) => {
    const { pool, t, join } = schema();
    const [inbox] = await machines(1);
    if (inbox === undefined) throw new Error('there is one');
    const { interfere, seen } = once((text) => text.includes(`DELETE FROM ${t.counts}`), interference);
    const other = closedAfter(join(interferedPool(pool, interfere)));
    const rows = Array.from({ length: 2_500 }, (_, n) => counted(NOON + n, 'answer-ms', String(n)));
    await operationsOf(inbox).count(rows);
    await operationsOf(other).coarsen(NOON - DAY);
    expect(seen.count).toBeGreaterThan(1);
    const totals = await operationsOf(inbox).totals();
    expect(totals.map(({ count }) => count)).toEqual(rows.map(() => 1));
    expect((await pool.query(`SELECT 1 FROM ${t.counts}`)).rowCount).toBe(0);
  },
);

it.each(['lost', 'unanswered'] as const)(
  'what is counted and noted by a COMMIT that is %s counts once',
  async (interference) => {
    const { pool, open } = schema();
    let left = 2;
    const source = interferedPool(pool, (text) => (left > 0 && text === 'COMMIT' ? ((left -= 1), interference) : null));
    const inbox = closedAfter(await open(source));
    left = 0;
    await inbox.list();
    left = 1;
    await operationsOf(inbox).count([counted(NOON, 'answer-ms', '5', 3)]);
    expect(left).toBe(0);
    left = 1;
    await operationsOf(inbox).noteRejected(rejections(2));
    expect(left).toBe(0);
    expect(await totalsOf(inbox)).toEqual(['answer-ms 5 3', 'rejected signature-mismatch 2']);
    expect((await rejectedDeliveries(inbox)).map(({ count }) => count)).toEqual([1, 1]);
  },
);

it.each(['lost', 'unanswered'] as const)(
  'events are counted once, as they are stored once, when the COMMIT of their group is %s',
  async (interference) => {
    const { pool, open } = schema();
    let left = 0;
    const source = interferedPool(pool, (text) => (left > 0 && text === 'COMMIT' ? ((left -= 1), interference) : null));
    const inbox = closedAfter(await open(source));
    await inbox.list();
    left = 1;
    const events = [
      ...severalIncoming(5),
      incoming({ id: 'invalid', type: null, created: null, valid: false, body: '{}' }),
    ];
    await Promise.all(events.map((event) => inbox.accept(event, later())));
    expect(left).toBe(0);
    expect(await totalsOf(inbox)).toEqual(['dead invalid 1', 'stored invalid 1', 'stored order.created 5']);
  },
);

it('whoever has frozen with rows in hand keeps nobody from counting, storing, handling and noting, nor from the right sums', async () => {
  const { t } = schema();
  const [one, other] = await machines(2);
  if (one === undefined || other === undefined) throw new Error('there are two');
  await operationsOf(one).count([counted(NOON, 'answer-ms', '5')]);
  await operationsOf(one).noteRejected(rejections(3));
  const letGo = [
    await frozen(`SELECT * FROM ${t.counts} FOR UPDATE`),
    await frozen(`DELETE FROM ${t.rejected}`),
    await frozen(`INSERT INTO ${t.counts} (minute_ms, what, detail, count) VALUES (0, 'stored', 'of the frozen', 1)`),
  ];
  await operationsOf(other).count([counted(NOON, 'answer-ms', '5')]);
  await operationsOf(other).noteRejected(rejections(1_002));
  await handled(other, { outcome: 'processed' }, orderEvent('evt_1'));
  await operationsOf(other).coarsen(NOON - DAY);
  await operationsOf(other).gauges();
  const rejected = async () => (await rejectedDeliveries(one, 5_000)).reduce((sum, { count }) => sum + count, 0);
  expect(await totalsOf(one)).toEqual([
    'answer-ms 5 2',
    'handler-ms 1 1',
    'processed order.created 1',
    'rejected signature-mismatch 1005',
    'stored order.created 1',
    'type-ms order.created 1 1',
  ]);
  expect(await rejected()).toBeLessThanOrEqual(1_005);
  for (const done of letGo) await done();
  await operationsOf(one).coarsen(NOON - DAY);
  await operationsOf(one).noteRejected(rejections(1_002).slice(-1));
  expect((await totalsOf(one))[0]).toBe('answer-ms 5 2');
  expect(await rejectedDeliveries(one, 5_000)).toHaveLength(1_000);
});

it('four note the same kinds at once in any order: each kind is one line with all of them', async () => {
  const { pool, t } = schema();
  const all = await machines(4);
  const kinds = rejections(300);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      all.map((inbox, machine) => operationsOf(inbox).noteRejected(machine % 2 === 0 ? kinds : kinds.toReversed())),
    );
  }
  const [inbox] = all;
  if (inbox === undefined) throw new Error('there are four');
  const lines = await rejectedDeliveries(inbox, 1_000);
  expect(lines.map(({ count }) => count)).toEqual(kinds.map(() => 12));
  await operationsOf(inbox).noteRejected(kinds.slice(0, 1));
  expect((await pool.query(`SELECT 1 FROM ${t.rejected}`)).rowCount).toBe(300);
});

it('a flood of made-up kinds leaves a thousand rows, while it lasts', async () => {
  const { pool, t, open } = schema();
  const inbox = closedAfter(await open());
  const most: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const flood = rejections(500).map((kind) => ({ ...kind, source: `${round} ${kind.bytes}` }));
    await operationsOf(inbox).noteRejected(flood);
    most.push((await pool.query(`SELECT 1 FROM ${t.rejected}`)).rowCount ?? 0);
  }
  expect(most).toEqual([500, ...Array.from({ length: 19 }, () => 1_000)]);
});

it('a machine whose clock is off by hours and a few seconds sees what happened when by its own, in whole minutes', async () => {
  const { join } = schema();
  const [inbox] = await machines(1);
  if (inbox === undefined) throw new Error('there is one');
  const apart = 3 * HOUR - 7_000;
  const time = timeApart(apart);
  const other = closedAfter(join(undefined, time));
  await operationsOf(other).count([counted(NOON, 'answer-ms', '5'), counted(NOON + 59_999, 'answer-ms', '5')]);
  expect(await operationsOf(other).counts(NOON, NOON + MINUTE)).toEqual([counted(NOON, 'answer-ms', '5', 2)]);
  expect(await operationsOf(inbox).counts(NOON, NOON + DAY)).toEqual([counted(NOON + 3 * HOUR, 'answer-ms', '5', 2)]);
  await operationsOf(other).noteRejected(rejections(1));
  expect((await rejectedDeliveries(other))[0]?.lastAt).toEqual(new Date(NOON));
  expect((await rejectedDeliveries(inbox))[0]?.lastAt).toEqual(new Date(NOON + apart));
  const span = { since: new Date(NOON), until: new Date(NOON + HOUR), steps: 60 };
  expect((await stats(other, span)).totals.rejected).toBe(1);
  await other.accept(orderEvent('evt_1', { receivedAt: NOON - 90_000 }), later());
  expect((await operationsOf(other).gauges()).oldestPending).toMatchObject({ since: new Date(NOON - 90_000) });
  await operationsOf(other).coarsen(NOON + HOUR);
  expect(await totalsOf(other, { since: NOON, until: NOON + HOUR })).toEqual([
    'answer-ms 5 2',
    'rejected signature-mismatch 1',
  ]);
});
