import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING, type ClaimedEvent } from '../../../src/inbox/work.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool, once, type Interference, proxiedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const REQUEST = { ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true };
const ERROR = { name: 'Error', message: 'no such order', stack: null };
const schema = schemaName();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  pool.on('error', () => {});
  await using inbox = open();
  await inbox.get(KEY);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(() => emptySchema(pool, schema));

function open(interfere?: (text: string) => Interference): Inbox<PoolClient> {
  const source = interfere === undefined ? pool : interferedPool(pool, interfere);
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

/** Its connections fail only during `during`. */
function unlucky(fits: (text: string) => boolean, interference: Exclude<Interference, null>, times?: number) {
  const { seen, interfere } = once(fits, interference, times);
  let armed = false;
  const inbox = open((text) => (armed ? interfere(text) : null));
  const during = async <T>(ask: () => Promise<T>): Promise<T> => {
    armed = true;
    try {
      return await ask();
    } finally {
      armed = false;
    }
  };
  return { inbox, seen, during, [Symbol.asyncDispose]: () => inbox.close() };
}

async function claimed(inbox: Inbox<PoolClient>): Promise<ClaimedEvent> {
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim(REQUEST, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  return event;
}

describe('what another transaction came in between of', () => {
  const codes = ['40001', '40P01', '23505', '55P03'];
  const places: readonly (readonly [string, (text: string) => boolean])[] = [
    ['at a statement', (text) => /^\s*(SELECT|UPDATE|INSERT|WITH|DELETE)/.test(text)],
    ['at COMMIT', (text) => text === 'COMMIT'],
  ];

  it.each(codes.flatMap((code) => places.map(([place, fits]) => [code, place, fits] as const)))(
    '%s %s is tried again, until it is done',
    async (code, _, fits) => {
      await using faulty = unlucky(fits, { code }, 2);
      const { inbox, during } = faulty;
      await inbox.get(KEY);
      const event = incoming({ receivedAt: START });
      expect(await during(() => inbox.accept(event, later()))).toMatchObject({ result: 'stored' });
      const other = incoming({ body: 'other', receivedAt: START });
      expect(await during(() => inbox.accept(other, later()))).toMatchObject({ conflict: true });
      const [claimed] = await during(() => inbox.claim(REQUEST, 1));
      if (claimed === undefined) throw new Error('nothing was claimed');
      expect(await during(() => inbox.renew([claimed.lease], START, 1_000))).toEqual([claimed.lease]);
      const dead = { outcome: 'dead', reason: 'failed', error: ERROR } as const;
      expect(await during(() => inbox.settle(claimed.lease, dead, START))).toBe(true);
      expect(await during(() => inbox.rerun(KEY, event, START))).toBe(true);
      expect(await during(() => inbox.claimOne(KEY, REQUEST))).toMatchObject({ attempt: 2 });
      expect(await inbox.attempts(KEY)).toHaveLength(1);
      expect((await inbox.get(KEY))?.redeliveries.count).toBe(1);
    },
  );

  it('is given up at some time, in words without what was sent', async () => {
    await using faulty = unlucky(() => true, { code: '40001' }, Infinity);
    const { inbox, during } = faulty;
    await inbox.get(KEY);
    const failing = during(() => inbox.accept(incoming({ body: 'a secret body' }), later()));
    const failure: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(InboxUnavailableError);
    expect(failure).toMatchObject({ code: 'FAILED', message: 'Postgres: refused by the test (40001)' });
    expect(JSON.stringify(failure)).not.toContain('secret');
  });
});

describe('a connection that is lost', () => {
  it.each<[string, Interference]>([
    ['before Postgres has done it', 'lost'],
    ['after Postgres has done it', 'unanswered'],
  ])('%s: a delivery is stored once, and is no redelivery', async (_, interference) => {
    await using faulty = unlucky((text) => text === 'COMMIT', interference ?? 'lost');
    const { inbox, during, seen } = faulty;
    await inbox.get(KEY);
    const events = severalIncoming(3);
    const accepted = await during(() => Promise.all(events.map((event) => inbox.accept(event, later()))));
    expect(seen.count).toBeGreaterThan(1);
    expect(accepted.map(({ result }) => result)).toEqual(['stored', 'stored', 'stored']);
    const stored = await inbox.list();
    expect(stored.map(({ id, redeliveries }) => [id, redeliveries.count])).toEqual(events.map(({ id }) => [id, 0]));
  });

  it.each<[string, Interference]>([
    ['before COMMIT', 'lost'],
    ['after COMMIT', 'unanswered'],
  ])('%s: a claim has its lease, and no attempt counts as a crash', async (_, interference) => {
    await using faulty = unlucky((text) => text === 'COMMIT', interference ?? 'lost');
    const { inbox, during } = faulty;
    await inbox.accept(incoming({ receivedAt: START }), later());
    const [claimed] = await during(() => inbox.claim(REQUEST, 1));
    expect(claimed).toMatchObject({ id: 'evt_1', attempt: 1 });
    if (claimed === undefined) throw new Error('nothing was claimed');
    expect(await inbox.settle(claimed.lease, { outcome: 'processed' }, START)).toBe(true);
    expect(await inbox.attempts(KEY)).toMatchObject([{ number: 1, outcome: 'processed' }]);
  });

  it.each<[string, Interference]>([
    ['before COMMIT', 'lost'],
    ['after COMMIT', 'unanswered'],
  ])('%s: a settlement is written once, and says so', async (_, interference) => {
    await using faulty = unlucky((text) => text === 'COMMIT', interference ?? 'lost');
    const { inbox, during } = faulty;
    const { lease } = await claimed(inbox);
    const retry = { outcome: 'retry', error: ERROR, dueAt: START + 5 } as const;
    expect(await during(() => inbox.settle(lease, retry, START))).toBe(true);
    expect(await inbox.attempts(KEY)).toHaveLength(1);
    expect(await inbox.nextDue(EVERYTHING)).toBe(START + 5);
  });

  it('by an administrator who ends all of them costs nothing but another connection', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const killer = new Pool({ connectionString: await postgresUrl(), max: 1 });
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
      AND query LIKE '%${schema}%'`;
    await killer.query(end);
    expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
    await killer.query(end);
    await killer.end();
    expect(await inbox.accept(incoming({ id: 'evt_2' }), later())).toMatchObject({ result: 'stored' });
    expect(await inbox.list()).toHaveLength(2);
  });
});

describe('a pooler that does not keep prepared statements', () => {
  it.each(['26000', '42P05'])('is noticed by %s, and nothing is prepared any more', async (code) => {
    const named: string[] = [];
    const source = proxiedPool(pool, (client) => ({
      query(query) {
        if (query.name === undefined) return client.query(query);
        named.push(query.name);
        return Promise.reject(Object.assign(new Error('no such statement'), { code }));
      },
    }));
    await using inbox = inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
    const { lease } = await claimed(inbox);
    expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
    expect(named).toHaveLength(1);
  });
});

it('a pooler that is found out at the end of ctx.transaction does not have the function run again', async () => {
  let isArmed = false;
  const source = proxiedPool(pool, (client) => ({
    query: (query) =>
      client.query(isArmed && query.name !== undefined ? { text: 'EXECUTE of_another_connection' } : query),
  }));
  await using inbox = inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
  const { lease } = await claimed(inbox);
  const work = vi.fn(() => {
    isArmed = true;
  });
  await inbox.transaction(lease, work, { now: () => START, signal: new AbortController().signal });
  expect(work).toHaveBeenCalledOnce();
  expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed' }]);
});

it('one delivery that Postgres refuses takes nothing else down', async () => {
  let refusals = 0;
  await using faulty = unlucky((text) => text.includes('place'), { code: '54000' }, 1);
  const { inbox, during } = faulty;
  await inbox.get(KEY);
  const accepted = await during(() =>
    Promise.allSettled(severalIncoming(3).map((event) => inbox.accept(event, later()))),
  );
  for (const { status } of accepted) if (status === 'rejected') refusals += 1;
  expect(refusals).toBe(0);
  expect(await inbox.list()).toHaveLength(3);
});

it('whoever closes it waits for what is under way', async () => {
  const inbox = open();
  await inbox.accept(incoming({ receivedAt: START }), later());
  const claiming = inbox.claim(REQUEST, 1);
  const heard = vi.fn();
  const settled = claiming.then(heard);
  await inbox.close();
  expect(heard).toHaveBeenCalled();
  await settled;
  await expect(inbox.claim(REQUEST, 1)).rejects.toMatchObject({ code: 'CLOSED' });
  await expect(inbox.list()).rejects.toMatchObject({ code: 'CLOSED' });
});

/** Each try is lost, and so is each check of its result. */
describe('what was not heard of at all', () => {
  const TRIES = 3;
  const PROCESSED = { outcome: 'processed' } as const;
  const retry = { outcome: 'retry', error: ERROR, dueAt: START + 5 } as const;
  const isCommit = (text: string): boolean => text === 'COMMIT';

  async function fails(asking: Promise<unknown>): Promise<void> {
    await expect(asking).rejects.toMatchObject({ name: 'InboxUnavailableError', code: 'FAILED' });
  }

  it.each(['lost', 'unanswered'] as const)(
    'of a claim whose COMMITs are %s is given back by the next one',
    async (interference) => {
      await using faulty = unlucky(isCommit, interference, TRIES);
      const { inbox, during } = faulty;
      const events = severalIncoming(3, { receivedAt: START });
      await Promise.all(events.map((event) => inbox.accept(event, later())));
      await fails(during(() => inbox.claim(REQUEST, 3)));
      const [first, ...others] = await inbox.claim({ ...REQUEST, now: START + 1 }, 3);
      const isDone = interference === 'unanswered';
      expect(first).toMatchObject({ id: 'evt_0', attempt: isDone ? 2 : 1, failures: 0 });
      expect(others).toEqual([]);
      const before = await inbox.attempts({ ...KEY, id: 'evt_0' });
      expect(before.map(({ outcome }) => outcome)).toEqual(isDone ? ['interrupted'] : []);
    },
  );

  it('of a claim is given back by one for another event as well, and leases that were heard of stand', async () => {
    await using faulty = unlucky(isCommit, 'unanswered', TRIES);
    const { inbox, during } = faulty;
    const { lease } = await claimed(inbox);
    const other = { ...KEY, id: 'evt_2' };
    await inbox.accept(incoming({ id: other.id, entity: 'order::ord_2', receivedAt: START }), later());
    await fails(during(() => inbox.claimOne(other, REQUEST)));
    expect(await inbox.claimOne(KEY, REQUEST)).toBe('busy');
    expect(await inbox.attempts(other)).toMatchObject([{ outcome: 'interrupted' }]);
    expect(await inbox.settle(lease, PROCESSED, START)).toBe(true);
    expect(await inbox.claimOne(other, REQUEST)).toMatchObject({ attempt: 2 });
    expect(await inbox.attempts(other)).toHaveLength(1);
  });

  it('of a claim waits for its transaction, should that be under way still', async () => {
    const waiting: Promise<unknown>[] = [];
    const release = Promise.withResolvers<void>();
    let isArmed = false;
    const source = proxiedPool(pool, (client) => ({
      ...(isArmed && waiting.length === 0 && { release() {} }),
      query(query) {
        if (!isArmed || query.text !== 'COMMIT') return client.query(query);
        const lost = new Error('Connection terminated unexpectedly');
        // Its server still holds the transaction.
        if (waiting.length === 0) {
          waiting.push(release.promise.then(() => client.query(query)).finally(() => client.release()));
        }
        return Promise.reject(lost);
      },
    }));
    await using inbox = inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
    await inbox.accept(incoming({ receivedAt: START }), later());
    isArmed = true;
    const failing = inbox.claim(REQUEST, 1);
    await vi.waitUntil(() => waiting.length > 0, { timeout: 20_000 });
    setTimeout(release.resolve, 300);
    await fails(failing);
    isArmed = false;
    expect(await inbox.claim(REQUEST, 1)).toMatchObject([{ attempt: 2 }]);
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'interrupted' }]);
    await Promise.all(waiting);
  });

  it.each([
    ['what it was asked for again', retry, true],
    ['something else', PROCESSED, false],
  ] as const)('of a settlement that is written is %s', async (_, asked, expected) => {
    await using faulty = unlucky(isCommit, 'unanswered', TRIES);
    const { inbox, during } = faulty;
    const { lease } = await claimed(inbox);
    await fails(during(() => inbox.settle(lease, retry, START)));
    expect(await inbox.settle(lease, asked, START)).toBe(expected);
    expect(await inbox.settle({ ...lease }, retry, START)).toBe(false);
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'failed' }]);
  });

  it('of a settlement that is not written is written when it is asked for again', async () => {
    await using faulty = unlucky(isCommit, 'lost', TRIES);
    const { inbox, during } = faulty;
    const { lease } = await claimed(inbox);
    await fails(during(() => inbox.settle(lease, PROCESSED, START)));
    expect(await inbox.settle(lease, PROCESSED, START)).toBe(true);
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed' }]);
  });
});
