// @module-tag long
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { Scope } from '../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { prepareNamedStatements } from '../../src/inbox/sqlite/sql/named-statements.ts';
import { pauseType } from '../../src/ops/pauses.ts';
import { planOf } from '../ops/query-plan.ts';
import { countedDatabase, mostOf, type CountedTransaction } from './counted-database.ts';
import { START } from '../helpers/virtual-clock.ts';

const CREATED: Scope = { endpoints: ['default'], types: ['order.created'] };
const READY: Scope = { endpoints: ['default'], types: ['order.ready'] };
const REQUEST = { leaseMs: 1_000, ordered: true, now: START };
const ERROR = { name: 'Error', message: 'fails', stack: null };
/** At some microseconds each, this is well under 50 ms. */
const MOST_STATEMENTS = 2_000;
const MOST_ROWS = 3_000;

type Parts = Parameters<typeof incoming>[0];

async function storeMany(inbox: Inbox, count: number, parts: (n: number) => Parts): Promise<readonly IncomingEvent[]> {
  const events = Array.from({ length: count }, (_, n) =>
    incoming({ id: `evt_${n}`, receivedAt: START, created: { ms: START + n, ns: 0 }, ...parts(n) }),
  );
  for (let at = 0; at < count; at += 5_000) {
    await Promise.all(events.slice(at, at + 5_000).map((event) => inbox.accept(event, later())));
  }
  return events;
}

async function announceAll(inbox: Inbox, scope: Scope, now: number, ignoreBefore: number | null): Promise<number> {
  let count = 0;
  for (let more = true; more;) {
    const step = await inbox.announce(scope, now, ignoreBefore);
    for (const one of step.ignored) count += one.count;
    ({ more } = step);
  }
  return count;
}

/** The work of each transaction, with a backlog and with one four times as long. */
async function withBacklogs(
  prepare: (inbox: Inbox, count: number) => Promise<void>,
  work: (inbox: Inbox, count: number) => Promise<void>,
): Promise<readonly [small: readonly CountedTransaction[], large: readonly CountedTransaction[]]> {
  const measured: (readonly CountedTransaction[])[] = [];
  for (const count of [1_500, 6_000]) {
    const { database, take } = countedDatabase();
    await using inbox = sqliteInbox({ database });
    await prepare(inbox, count);
    take();
    await work(inbox, count);
    measured.push(take());
  }
  const [small = [], large = []] = measured;
  return [small, large];
}

function expectBounded([small, large]: readonly [readonly CountedTransaction[], readonly CountedTransaction[]]): void {
  const [least, most] = [mostOf(small), mostOf(large)];
  expect(most.statements).toBeLessThanOrEqual(MOST_STATEMENTS);
  expect(most.rows).toBeLessThanOrEqual(MOST_ROWS);
  expect(most.statements).toBeLessThanOrEqual(least.statements * 1.1);
  expect(most.rows).toBeLessThanOrEqual(least.rows * 1.1);
}

describe('no transaction grows with the backlog:', { timeout: 120_000 }, () => {
  it('putting away what nobody handles of one entity', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await storeMany(inbox, count, () => ({ entity: 'order' }));
        await inbox.claim({ ...REQUEST, ...READY }, 10);
      },
      async (inbox, count) => {
        expect(await announceAll(inbox, READY, START + PRESENT_MS, START)).toBe(count);
      },
    );
    expectBounded(measured);
    expect(measured[1].length).toBeGreaterThan(measured[0].length * 3);
  });

  it('what waits for an older event of its entity', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await inbox.announce(READY, START, null);
        await storeMany(inbox, count, () => ({ entity: 'order', type: 'order.ready' }));
        expect(await inbox.claim({ ...REQUEST, ...READY }, 10)).toHaveLength(1);
        expect(await inbox.claim({ ...REQUEST, ...READY }, 10)).toEqual([]);
      },
      async (inbox) => {
        expect(await announceAll(inbox, READY, START + 1, null)).toBe(0);
        expect(await inbox.claim({ ...REQUEST, ...READY, now: START + 2_000 }, 10)).toHaveLength(1);
      },
    );
    expectBounded(measured);
  });

  it('a burst of which only the newest runs', async () => {
    const latest = { '*': { quietMs: 0, maxMs: 0 } };
    const measured = await withBacklogs(
      async (inbox, count) => {
        await inbox.announce(READY, START, null);
        await storeMany(inbox, count, () => ({ entity: 'order', type: 'order.ready' }));
        // Indexes them.
        await inbox.announce(READY, START, null);
      },
      async (inbox, count) => {
        const claimed = await inbox.claim({ ...REQUEST, ...READY, latest }, 10);
        expect(claimed.map(({ id }) => id)).toEqual([`evt_${count - 1}`]);
      },
    );
    expectBounded(measured);
    // Of the claim, all in all: some for each two hundred.
    expect(mostOf(measured[1]).statements).toBeLessThan(100);
  });

  it('those whose taker has gone behind others that wait', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await inbox.announce(CREATED, START, null);
        await storeMany(inbox, count, () => ({ entity: 'order' }));
        await inbox.claim({ ...REQUEST, ...CREATED }, 10);
        await inbox.claim({ ...REQUEST, ...CREATED }, 10);
      },
      async (inbox, count) => {
        const now = START + IGNORE_AFTER_MS;
        await inbox.claim({ ...REQUEST, ...READY, now }, 10);
        expect(await announceAll(inbox, READY, now, now - PRESENT_MS)).toBe(count - 1);
      },
    );
    expectBounded(measured);
  });

  it('looking at what has arrived, and the claim of one of a long queue', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await inbox.announce(CREATED, START, null);
        await storeMany(inbox, count, () => ({ entity: 'order' }));
      },
      async (inbox) => {
        expect(await inbox.claim({ ...REQUEST, ...CREATED }, 10)).toHaveLength(1);
        expect(await inbox.claim({ ...REQUEST, ...CREATED }, 10)).toEqual([]);
      },
    );
    expectBounded(measured);
  });

  it('leases that ran out', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await storeMany(inbox, count, (n) => ({ entity: `order ${n}` }));
        for (let left = count; left > 0; left -= 500) {
          expect(await inbox.claim({ ...REQUEST, ...CREATED }, 500)).toHaveLength(500);
        }
      },
      async (inbox) => {
        expect(await inbox.claim({ ...REQUEST, ...CREATED, now: START + 2_000 }, 10)).toHaveLength(1);
        const key = { endpoint: 'default', id: 'evt_9' };
        expect(await inbox.claimOne(key, { ...REQUEST, ...CREATED, now: START + 2_000 })).toMatchObject({
          id: 'evt_9',
        });
      },
    );
    expectBounded(measured);
  });

  it('types that a sender has invented', async () => {
    const every: Scope = { endpoints: '*', types: '*' };
    const measured = await withBacklogs(
      async (inbox, count) => {
        await storeMany(inbox, count, (n) => ({ entity: null, type: `invented.${n}` }));
        await inbox.claim({ ...REQUEST, ...READY }, 10);
      },
      async (inbox, count) => {
        expect(await inbox.claim({ ...REQUEST, ...every }, 10)).toHaveLength(10);
        expect(await announceAll(inbox, READY, START + PRESENT_MS, START)).toBe(count - 10);
      },
    );
    expectBounded(measured);
  });

  it('retention', async () => {
    const measured = await withBacklogs(
      async (inbox, count) => {
        await storeMany(inbox, count, () => ({ entity: null }));
        for (let left = count; left > 0; left -= 500) {
          const claimed = await inbox.claim({ ...REQUEST, ...CREATED }, 500);
          await Promise.all(claimed.map(({ lease }) => inbox.settle(lease, { outcome: 'processed' }, START)));
        }
      },
      async (inbox) => {
        expect(await inbox.prune(['default'], START + 1, 100)).toBeGreaterThan(0);
      },
    );
    const [[small], [large]] = measured;
    expect(large?.rows).toBeLessThanOrEqual(600);
    expect(small).toBeDefined();
  });
});

describe('no transaction grows with the bodies:', { timeout: 120_000 }, () => {
  const COUNT = 200;
  const body = Buffer.alloc(100_000, 'a');
  const MOST_LARGE = 30;

  async function stored(parts: (n: number) => Parts) {
    const counted = countedDatabase();
    const inbox = sqliteInbox({ database: counted.database });
    onTestFinished(() => inbox.close());
    await inbox.announce(CREATED, START, null);
    for (let at = 0; at < COUNT; at += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => at + n).map((n) => {
          const about = { id: `evt_${n}`, receivedAt: START, created: { ms: START + n, ns: 0 }, body };
          return inbox.accept(incoming({ ...about, ...parts(n) }), later());
        }),
      );
    }
    const known = (now = START): Promise<unknown> =>
      inbox.claim({ ...REQUEST, endpoints: ['nowhere'], types: '*', now }, 1);
    return { ...counted, inbox, known };
  }

  const own = (n: number): Parts => ({ entity: `order ${n}` });
  const shared = (): Parts => ({ entity: 'order' });

  function expectSmall(transactions: readonly CountedTransaction[]): void {
    expect(Math.max(...transactions.map(({ written }) => written))).toBeLessThanOrEqual(MOST_LARGE);
    expect(transactions.reduce((sum, { written }) => sum + written, 0)).toBeGreaterThanOrEqual(COUNT - 1);
  }

  it('looking at what has arrived', async () => {
    const { inbox, take } = await stored(own);
    take();
    expect(await inbox.claim({ ...REQUEST, ...CREATED }, 1)).toHaveLength(1);
    expectSmall(take());
  });

  it('setting aside what waits for an older event', async () => {
    const { inbox, take, known } = await stored(shared);
    await known();
    await inbox.claim({ ...REQUEST, ...CREATED }, 1);
    take();
    expect(await inbox.claim({ ...REQUEST, ...CREATED }, 1)).toEqual([]);
    expectSmall(take());
  });

  it('putting away what nobody handles, and what waits behind it', async () => {
    for (const parts of [own, shared]) {
      const { inbox, take, known } = await stored(parts);
      await known();
      await inbox.claim({ ...REQUEST, ...CREATED }, 1);
      await inbox.claim({ ...REQUEST, ...CREATED, types: ['order.none'] }, 1);
      const now = START + IGNORE_AFTER_MS;
      take();
      await known(now);
      expect(await announceAll(inbox, READY, now, now - PRESENT_MS)).toBe(COUNT - 1);
      expectSmall(take());
    }
  });

  it('looking again at what was set aside, when its taker has gone', async () => {
    const { inbox, take, known } = await stored(shared);
    await known();
    await inbox.claim({ ...REQUEST, ...CREATED }, 1);
    await inbox.claim({ ...REQUEST, ...CREATED }, 1);
    take();
    await announceAll(inbox, READY, START + PRESENT_MS, null);
    expectSmall(take());
  });

  it('leases that ran out', async () => {
    const { inbox, take } = await stored(own);
    expect(await inbox.claim({ ...REQUEST, ...CREATED }, COUNT)).toHaveLength(COUNT);
    take();
    await inbox.claim({ ...REQUEST, ...CREATED, now: START + 2_000 }, 1);
    expectSmall(take());
  });

  it('a clock that was set back', async () => {
    const { take, known } = await stored(own);
    await known();
    take();
    await known(START - 60 * 60_000);
    expectSmall(take());
  });

  it('but small ones are still looked at together', async () => {
    const { inbox, take } = await stored((n) => ({ ...own(n), body: '{}' }));
    take();
    await inbox.claim({ ...REQUEST, ...CREATED }, 1);
    expect(mostOf(take()).statements).toBeLessThan(30);
  });
});

it('an event costs the same to claim and to settle behind 400 of its entity that nobody handles as behind 20,000', async () => {
  const fastest: number[] = [];
  for (const count of [400, 20_000]) {
    await using inbox = sqliteInbox(scratchFile());
    await inbox.announce(READY, START, null);
    await storeMany(inbox, count, () => ({ entity: 'order' }));
    await storeMany(inbox, 40, (n) => ({
      id: `ready_${n}`,
      entity: 'order',
      type: 'order.ready',
      created: { ms: START + 50_000 + n, ns: 0 },
    }));
    await inbox.claim({ ...REQUEST, endpoints: ['nowhere'], types: '*' }, 10);
    const times: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const from = performance.now();
      const [claimed] = await inbox.claim({ ...REQUEST, ...READY }, 1);
      if (claimed === undefined) throw new Error('nothing was claimed');
      await inbox.settle(claimed.lease, { outcome: 'dead', reason: 'failed', error: ERROR }, START);
      times.push(performance.now() - from);
    }
    fastest.push(Math.min(...times));
  }
  const [few = 0, many = 0] = fastest;
  expect(many / few).toBeLessThan(5);
}, 60_000);

it('a claim for one endpoint does the same with or without a backlog of another', async () => {
  const costs: CountedTransaction[] = [];
  for (const backlog of [0, 10_000]) {
    const { database, take } = countedDatabase();
    await using inbox = sqliteInbox({ database });
    const other: Scope = { endpoints: ['other'], types: ['order.created'] };
    await inbox.announce(other, START, null);
    await storeMany(inbox, backlog, (n) => ({ endpoint: 'other', entity: n % 2 === 0 ? null : 'order' }));
    await inbox.claim({ ...REQUEST, endpoints: ['nowhere'], types: '*' }, 10);
    await inbox.accept(incoming({ id: 'here', receivedAt: START }), later());
    await inbox.nextDue(CREATED);
    for (const types of [['order.created'], '*'] as const) {
      take();
      await inbox.claim({ ...REQUEST, endpoints: ['default'], types }, 1);
      costs.push(mostOf(take()));
    }
  }
  expect(costs.slice(2)).toEqual(costs.slice(0, 2));
});

it('an index names what is due of an endpoint and type, and nothing of others is read on the way', async () => {
  const { database } = countedDatabase();
  await sqliteInbox({ database }).close();
  const ready = "FROM hookbox_events WHERE state = 'pending' AND parked = 0 AND endpoint = ? AND due_ms <= ?";
  const plan = (sql: string): string => planOf(database, sql).join('; ');
  expect(plan(`SELECT seq ${ready} ORDER BY due_ms, seq LIMIT 10`)).toMatch(
    /^SEARCH hookbox_events USING (COVERING )?INDEX hookbox_events_due_of_endpoint \(endpoint=\? AND due_ms<\?\)$/,
  );
  expect(plan(`SELECT seq ${ready} AND type = ? ORDER BY due_ms, seq LIMIT 10`)).toMatch(
    /^SEARCH hookbox_events USING (COVERING )?INDEX hookbox_events_due_of_type \(endpoint=\? AND type=\? AND due_ms<\?\)$/,
  );
});

it('where the front of an entity is looked for, what yields is not read on the way', async () => {
  const { database } = countedDatabase();
  await sqliteInbox({ database }).close();
  const asked: string[] = [];
  const prepare = (sql: string) => {
    asked.push(sql);
    return database.prepare(sql);
  };
  const { queue } = prepareNamedStatements({ prepare } as unknown as SqliteDatabase);
  const entity = { entity: 'order', endpoint: 'default' };
  queue.frontOfEntity.get(entity);
  queue.nextOfEntity.all(entity);
  expect(asked).toHaveLength(2);
  for (const sql of asked) {
    const plan = planOf(database, sql);
    expect(plan).toContain(
      'SEARCH hookbox_events USING INDEX hookbox_events_waiting (entity=? AND endpoint=? AND yields=?)',
    );
    expect(plan.join('; ')).not.toMatch(/TEMP B-TREE|LIST SUBQUERY/);
  }
});

it.each([
  ['paused', {}],
  ['full', { room: { held: 0 } }],
  ['above its rate', { rates: { held: { count: 1, perMs: 60_000 } } }],
] as const)('a claim beside many events of a type that is %s does no more than beside few', async (which, request) => {
  const measured = await withBacklogs(
    async (inbox, count) => {
      if (which === 'paused') await pauseType(inbox, 'held', { actor: 'ada', now: START }, { unseen: true });
      await storeMany(inbox, count, (n) => ({ type: 'held', entity: `order_${n}` }));
      if (which === 'above its rate') await inbox.claim({ endpoints: '*', types: ['held'], ...REQUEST, ...request }, 1);
      const due = incoming({ id: 'due', type: 'order.ready', receivedAt: START + 1_000 });
      await inbox.accept(due, later());
      await inbox.announce({ endpoints: '*', types: '*' }, START, null);
    },
    async (inbox) => {
      const every = { endpoints: '*', types: '*', ...REQUEST, ...request, now: START + 2_000 } as const;
      for (let look = 0; look < 20; look += 1) await inbox.announce(every, START, null);
      expect((await inbox.claim(every, 10)).map(({ id }) => id)).toEqual(['due']);
    },
  );
  expectBounded(measured);
});

it('more than two thousand parked events with the lowest numbers keep nobody from being looked at again', async () => {
  await using inbox = sqliteInbox(scratchFile());
  const carts: Scope = { endpoints: ['default'], types: ['cart.abandoned'] };
  await inbox.announce(CREATED, START, null);
  await inbox.announce(carts, START, null);
  await inbox.announce(READY, START, null);
  await inbox.accept(incoming({ id: 'blocking', entity: 'blocked', created: at(0), receivedAt: START }), later());
  await storeMany(inbox, 2_500, (n) => ({ entity: 'blocked', type: 'order.ready', created: at(n + 1) }));
  const cart = { id: 'cart', type: 'cart.abandoned', entity: 'freed', created: at(0), receivedAt: START };
  await inbox.accept(incoming(cart), later());
  const freed = { id: 'freed', type: 'order.ready', entity: 'freed', created: at(1), receivedAt: START };
  await inbox.accept(incoming(freed), later());
  expect(await inbox.claim({ ...REQUEST, ...READY }, 10)).toEqual([]);

  for (let round = 1; round <= 3; round += 1) {
    const now = START + PRESENT_MS + round;
    await inbox.announce(CREATED, now, null);
    await announceAll(inbox, READY, now, null);
    const claimed = await inbox.claim({ ...REQUEST, ...READY, now }, 10);
    expect(claimed.map(({ id }) => id)).toEqual(round === 1 ? ['freed'] : []);
  }
});

function at(ms: number): { readonly ms: number; readonly ns: number } {
  return { ms: START + ms, ns: 0 };
}
