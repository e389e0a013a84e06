import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { EVERYTHING, type Lease } from '../../src/inbox/work.ts';
import { PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox as threaded } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { emptiedInbox } from '../helpers/emptied-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testLatest } from './latest.conformance.ts';
import { testLeases } from './leases.conformance.ts';
import { testOptionsByType, testTraces } from './options-by-type.conformance.ts';
import { testToldCrashes } from './told-crashes.conformance.ts';
import { testRates } from './rates.conformance.ts';
import { testScope } from './scope.conformance.ts';
import { testSteps } from './steps.conformance.ts';
import { START } from '../helpers/virtual-clock.ts';
import { testStoredAsRunning, testWorkQueue } from './work-queue.conformance.ts';

/** What opens inboxes, for each suite anew: an inbox that was emptied remembers its claims. */
const inboxes: readonly (readonly [name: string, opener: () => () => Inbox])[] = [
  ['the work queue in memory', () => memoryInbox],
  ['the work queue in a file of its own', () => () => sqliteInbox(scratchFile())],
  ['the work queue in a file that a thread writes', () => emptiedInbox((file) => threaded(file))],
];
const suites = [
  testWorkQueue,
  testStoredAsRunning,
  testScope,
  testLeases,
  testOptionsByType,
  testRates,
  testTraces,
  testToldCrashes,
  testSteps,
  testLatest,
];
for (const [name, opener] of inboxes) for (const testSuite of suites) testSuite(name, opener());

// The statements are those of a file of its own; the connection begins, commits and may be lent.
const merchants = "the work queue among a merchant's tables, on their open connection";
testWorkQueue(merchants, () => sqliteInbox({ database: merchantDatabase() }));
testStoredAsRunning(merchants, () => sqliteInbox({ database: merchantDatabase() }));

it('10,000 events behind one that fails cost a claim no more than a few statements', async () => {
  let statements = 0;
  const database = new Database(scratchFile(), { verbose: () => void (statements += 1) });
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await inbox.announce({ endpoints: '*', types: '*' }, START, null);
  const behind = Array.from({ length: 10_000 }, (_, n) => incoming({ id: `evt_${n}`, receivedAt: START }));
  await Promise.all(behind.map((event) => inbox.accept(event, later())));

  const request = { leaseMs: 1_000, ...EVERYTHING, ordered: true } as const;
  const error = { name: 'Error', message: 'fails', stack: null };
  const costs: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const now = START + round * 100;
    statements = 0;
    const [failing, ...others] = await inbox.claim({ ...request, now }, 10);
    expect([failing?.id, others]).toEqual(['evt_0', []]);
    if (failing === undefined) throw new Error('nothing was claimed');
    expect(await inbox.claim({ ...request, now }, 10)).toEqual([]);
    expect(await inbox.settle(failing.lease, { outcome: 'retry', error, dueAt: now + 100 }, now)).toBe(true);
    expect(await inbox.claim({ ...request, now }, 10)).toEqual([]);
    expect(await inbox.nextDue({ endpoints: '*', types: '*' })).toBe(now + 100);
    costs.push(statements);
  }
  expect(Math.max(...costs.slice(1))).toBeLessThan(100);

  await inbox.accept(incoming({ id: 'other', entity: 'other', receivedAt: START + 1_950 }), later());
  statements = 0;
  expect(await inbox.claim({ ...request, now: START + 1_950 }, 10)).toMatchObject([{ id: 'other' }]);
  expect(statements).toBeLessThan(50);
});

it('10,000 events that wait when the clock is set back are moved in many short transactions, each once', async () => {
  // On a slow machine, a claim adds the time that it waited to each due time.
  vi.spyOn(Date, 'now').mockReturnValue(START);
  onTestFinished(() => void vi.restoreAllMocks());
  let statements = 0;
  let most = 0;
  const database = new Database(scratchFile(), {
    verbose: (sql) => {
      if (String(sql).startsWith('BEGIN')) statements = 0;
      most = Math.max(most, (statements += 1));
    },
  });
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  const hour = 3_600_000;
  const types = ['order.created', 'order.ready', 'cart.abandoned'];
  const events = Array.from({ length: 10_000 }, (_, n) =>
    incoming({ id: `evt_${n}`, entity: `ord_${n}`, type: types[n % 3] ?? '', receivedAt: START + hour }),
  );
  await Promise.all(events.map((event) => inbox.accept(event, later())));
  const request = { leaseMs: 1_000, ...EVERYTHING, ordered: true } as const;
  const [first] = await inbox.claim({ ...request, now: START + hour }, 1);
  if (first === undefined) throw new Error('nothing was claimed');
  await inbox.settle(first.lease, { outcome: 'interrupted' }, START + hour);
  database.exec(`UPDATE hookbox_events SET due_ms = due_ms + seq * 720, failures = 1 WHERE seq % 2 = 0`);

  most = 0;
  expect(await inbox.claim({ ...request, now: START }, 1)).toHaveLength(1);
  expect(most).toBeLessThan(1_100);
  const due = database.prepare('SELECT due_ms FROM hookbox_events ORDER BY seq').pluck().all() as number[];
  const wrong = due.flatMap((ms, n) => {
    const seq = n + 1;
    const backoff = seq % 2 === 0 ? seq * 720 : 0;
    const soon = 60_000;
    return ms === START + backoff || (backoff < soon && ms >= START && ms < START + soon) ? [] : [{ seq, ms }];
  });
  expect(wrong).toEqual([]);
});

it('a claim that has waited for the database while the clock was set takes the time of when it is made', async () => {
  const file = scratchFile();
  const database = new Database(file);
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await using elsewhere = sqliteInbox(file);
  const request = { leaseMs: 1_000, ...EVERYTHING, ordered: true } as const;
  const hour = 3_600_000;
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [claimed] = await elsewhere.claim({ ...request, now: START }, 1);
  if (claimed === undefined) throw new Error('nothing was claimed');

  database.exec('BEGIN'); // the merchant's own: a claim on this connection waits for its end
  const claiming = inbox.claim({ ...request, now: START }, 1);
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + hour);
  onTestFinished(() => void vi.restoreAllMocks());
  await elsewhere.renew([claimed.lease], START + hour, 1_000);
  database.exec('ROLLBACK');
  expect(await claiming).toEqual([]);
  expect(await inbox.nextDue(EVERYTHING)).toBe(START + hour + 1_000);
});

it.each<[string, (inbox: Inbox, lease: Lease, now: number) => Promise<unknown>]>([
  [
    'a settlement',
    (inbox, lease, now) => {
      const error = { name: 'Error', message: 'fails', stack: null };
      return inbox.settle(lease, { outcome: 'retry', error, dueAt: now + 10_800_000 }, now);
    },
  ],
  ['a renewal', (inbox, lease, now) => inbox.renew([lease], now, 10_800_000)],
  ['an announcement', (inbox, _, now) => inbox.announce(EVERYTHING, now, null)],
  [
    'a rerun',
    (inbox, _, now) => {
      const content = { type: 'order.created', created: { ms: START, ns: 0 }, entity: null };
      return inbox.rerun({ endpoint: 'default', id: 'dead' }, content, now);
    },
  ],
])('%s that has waited while the clock was set back does not have it made good twice', async (_, move) => {
  const file = scratchFile();
  const database = new Database(file);
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await using elsewhere = sqliteInbox(file);
  const request = { leaseMs: 10_800_000, ...EVERYTHING, ordered: true } as const;
  const hour = 3_600_000;
  const then = START + hour;
  for (const id of ['held', 'retried', 'dead']) {
    await inbox.accept(incoming({ id, entity: id, receivedAt: then }), later());
  }
  const [held, retried, dead] = await elsewhere.claim({ ...request, now: then }, 3);
  if (held === undefined || retried === undefined || dead === undefined) throw new Error('nothing was claimed');
  const error = { name: 'Error', message: 'fails', stack: null };
  await elsewhere.settle(retried.lease, { outcome: 'retry', error, dueAt: then + 2 * hour }, then);
  await elsewhere.settle(dead.lease, { outcome: 'dead', reason: 'failed', error }, then);

  database.exec('BEGIN'); // the merchant's own: what this connection is to write waits for its end
  const moving = move(inbox, held.lease, then);
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() - hour);
  onTestFinished(() => void vi.restoreAllMocks());
  await elsewhere.claim({ ...request, types: [], now: START }, 1);
  database.exec('ROLLBACK');
  await moving;
  await elsewhere.claim({ ...request, types: [], now: START }, 1);
  const times = database.prepare('SELECT id, max(due_ms, coalesce(lease_until_ms, 0)) FROM hookbox_events').raw().all();
  const late = new Map(times as [string, number][]);
  const near = (ms: number | undefined, expected: number) => Math.abs((ms ?? 0) - expected) < 60_000;
  expect([near(late.get('retried'), START + 2 * hour), near(late.get('held'), START + 3 * hour)]).toEqual([true, true]);
});

it('no statement reads the whole table of events: what is handled costs the same after a million as after ten', async () => {
  const seen = new Set<string>();
  const database = new Database(scratchFile(), { verbose: (sql) => void seen.add(String(sql)) });
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  seen.clear();

  const key = (id: string) => ({ endpoint: 'default', id });
  const request = { endpoints: '*', leaseMs: 1_000, ordered: true } as const;
  const error = { name: 'Error', message: 'fails', stack: null };
  const content = { type: 'order.created', created: { ms: START, ns: 0 }, entity: 'a' };
  await inbox.announce({ endpoints: '*', types: ['order.created'] }, START, null);
  for (const [id, entity] of ['a', 'a', 'a', 'b', 'c', 'd'].entries()) {
    await inbox.accept(incoming({ id: `evt_${id}`, entity, receivedAt: START }), later());
    await inbox.accept(incoming({ id: `evt_${id}`, entity, body: 'other', receivedAt: START }), later());
  }
  await inbox.accept(incoming({ id: 'untaken', type: 'order.refunded', entity: 'a', receivedAt: START }), later());
  for (const types of ['*', ['order.created', 'order.ready']] as const) {
    for (let now = START + 1; now < START + 6_000; now += 1_100) {
      const claimed = await inbox.claim({ ...request, types, now }, 10);
      await inbox.renew(
        claimed.map(({ lease }) => lease),
        now,
        1_000,
      );
      const [one, two, three, four] = claimed;
      if (one) await inbox.settle(one.lease, { outcome: 'retry', error, dueAt: now }, now);
      if (two) await inbox.settle(two.lease, { outcome: 'processed' }, now);
      if (three) await inbox.settle(three.lease, { outcome: 'dead', reason: 'failed', error }, now);
      if (three) await inbox.rerun(key(three.id), content, now);
      if (four) await inbox.settle(four.lease, { outcome: 'interrupted' }, now);
      await inbox.nextDue({ endpoints: '*', types });
    }
  }
  for (const id of ['f_1', 'f_2', 'f_3']) await inbox.accept(incoming({ id, entity: 'f', receivedAt: START }), later());
  for (const quietMs of [60_000, 0]) {
    const latest = { '*': { quietMs, maxMs: quietMs } };
    await inbox.claim({ ...request, types: '*', now: START + 9_000, latest }, 10);
  }
  await inbox.claim({ ...request, types: '*', now: START - 60_000 }, 10);
  const last = await inbox.claimOne(key('evt_0'), { ...request, types: '*', now: START + 20_000 });
  if (typeof last !== 'string') {
    const attempt = { now: () => START + 20_000, signal: new AbortController().signal };
    await inbox.transaction(last.lease, () => {}, attempt);
    await inbox.settle(last.lease, { outcome: 'committed', error }, START + 20_000);
  }
  const processor = { name: '1-a', startedAt: START };
  await inbox.announce(
    { endpoints: '*', types: ['order.ready'] },
    START + 2 * PRESENT_MS,
    START + PRESENT_MS,
    processor,
  );
  await inbox.processors(START + 2 * PRESENT_MS);
  await inbox.leave(processor.name);
  await inbox.prune('*', START + 30_000, 10);
  await inbox.get(key('evt_0'));
  await inbox.attempts(key('evt_0'));
  await inbox.list({ after: 3 });

  const statements = [...seen].filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(sql));
  expect(statements.length).toBeGreaterThan(100);
  const scans = statements.flatMap((sql) => {
    const plan = database.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
    return plan
      .filter(({ detail }) => /^SCAN (?!json_each|types|endpoints|CONSTANT|\()/.test(detail))
      .filter(({ detail }) => !/INDEX hookbox_events_leased/.test(detail))
      .filter(({ detail }) => !/hookbox_(handling|processors)/.test(detail))
      .filter(({ detail }) => !/hookbox_migrations/.test(detail))
      .map(({ detail }) => `${detail}: ${sql.replaceAll(/\s+/g, ' ').slice(0, 160)}`);
  });
  expect([...new Set(scans)]).toEqual([]);
});
