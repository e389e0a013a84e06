// @module-tag longest
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { PostgresSource } from '../../../src/inbox/postgres/driver/connections.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { readiness } from '../../../src/ops/health.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool, proxiedClient, proxiedPool } from './pools.ts';
import { silentDoor } from './silent-door.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const REQUEST = { ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true };
const schema = schemaName();
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  await using inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.get(KEY);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(() => emptySchema(pool, schema));

/** Long compared with an answer. */
const ANSWER_MS = 1_000;

function hasty(source: PostgresSource<PoolClient>, answerMs = ANSWER_MS): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>(source, { ...SETTINGS, schema, answerMs });
}

/** Readiness depends on the inbox alone. */
const readyOf = (inbox: Inbox<PoolClient>) => readiness(inbox);

/** Clients never answer some queries, although Postgres may do them. */
function mute(fits: (text: string) => 'done' | 'lost' | null): { connect(): Promise<PoolClient> } {
  return proxiedPool(pool, (client) => ({
    async query(query) {
      const how = fits(query.text);
      if (how === null) return client.query(query);
      if (how === 'done') await client.query(query);
      return new Promise(() => {});
    },
  }));
}

describe('connections that all go silent, and nobody says so', () => {
  it.each(['hookbox has opened', 'of a pool of the merchant'])('%s are given up for new ones', async (whose) => {
    await using door = await silentDoor(await postgresUrl());
    const own = whose === 'hookbox has opened';
    const merchants = own ? null : await scratchPool({ connectionString: door.url });
    const inbox = hasty(merchants === null ? door.url : { pool: merchants });
    // More connections are idle than one call tries.
    await Promise.all(Array.from({ length: 8 }, () => inbox.get(KEY)));
    await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
    const before = door.opened();
    expect(before).toBeGreaterThan(4);
    door.silence();
    const events = severalIncoming(3, { receivedAt: START });
    const accepted = await Promise.all(events.map((event) => inbox.accept(event, later())));
    expect(accepted.map(({ result }) => result)).toEqual(['stored', 'stored', 'stored']);
    expect(door.opened()).toBeGreaterThan(before);
    expect(await readyOf(inbox)).toMatchObject({ ready: true });
    const claimed = await inbox.claim(REQUEST, 10);
    expect(claimed).not.toEqual([]);
    for (const { lease } of claimed) expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
    await inbox.close();
  });
});

it('a first look at the server that is not answered keeps nobody from another one', async () => {
  let asked = 0;
  await using inbox = hasty({ pool: mute(() => (asked++ === 0 ? 'lost' : null)) });
  const calls = [inbox.get(KEY), inbox.accept(incoming(), later()), inbox.claim(REQUEST, 1)] as const;
  const [, accepted] = await Promise.all(calls);
  expect(accepted).toMatchObject({ result: 'stored' });
});

it('a connection that is not opened in time is waited for no longer, and given back when it comes', async () => {
  const late = Promise.withResolvers<void>();
  const release = vi.fn();
  let asked = 0;
  const source = {
    async connect() {
      asked += 1;
      if (asked > 1) return pool.connect();
      await late.promise;
      const client = await pool.connect();
      return proxiedClient(client, {
        release(destroy) {
          release(destroy);
          client.release(destroy);
        },
      });
    },
  };
  await using inbox = hasty({ pool: source });
  expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
  late.resolve();
  await vi.waitUntil(() => release.mock.calls.length > 0, { timeout: 20_000 });
  expect(release.mock.calls).toEqual([[false]]);
});

describe('a COMMIT that is never answered', () => {
  it.each(['done', 'lost'] as const)('though it was %s: all is as if it had been answered', async (how) => {
    let isArmed = false;
    const quiet = mute((text) => {
      if (!isArmed || text !== 'COMMIT') return null;
      isArmed = false;
      return how;
    });
    const during = <T>(ask: () => Promise<T>): Promise<T> => {
      isArmed = true;
      return ask();
    };
    await using inbox = hasty({ pool: quiet });
    await inbox.get(KEY);
    expect(await during(() => inbox.accept(incoming({ receivedAt: START }), later()))).toMatchObject({
      result: 'stored',
    });
    expect((await inbox.get(KEY))?.redeliveries.count).toBe(0);
    const [claimed] = await during(() => inbox.claim(REQUEST, 1));
    if (claimed === undefined) throw new Error('nothing was claimed');
    expect(claimed).toMatchObject({ id: 'evt_1', attempt: 1 });
    const work = vi.fn(async (client: PoolClient) => {
      await client.query('SELECT 1');
      isArmed = true;
    });
    const ending = inbox.transaction(claimed.lease, work, { now: () => START, signal: new AbortController().signal });
    if (how === 'done') await ending;
    else await expect(ending).rejects.toThrow('was not committed');
    expect(work).toHaveBeenCalledOnce();
    const settled = await inbox.settle(claimed.lease, { outcome: 'processed' }, START);
    expect(settled).toBe(how === 'lost');
    expect(await inbox.attempts(KEY)).toMatchObject([{ number: 1, outcome: 'processed' }]);
  });
});

it('what a merchant asks in ctx.transaction may take as long as it takes', async () => {
  await using inbox = hasty({ pool });
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [claimed] = await inbox.claim(REQUEST, 1);
  if (claimed === undefined) throw new Error('nothing was claimed');
  const work = (client: PoolClient) => client.query('SELECT pg_sleep($1)', [(1.5 * ANSWER_MS) / 1_000]);
  await inbox.transaction(claimed.lease, work, { now: () => START, signal: new AbortController().signal });
  expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed' }]);
});

it('close answers, whatever does not', async () => {
  let isSilent = false;
  const inbox = hasty({ pool: mute(() => (isSilent ? 'lost' : null)) });
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [claimed] = await inbox.claim(REQUEST, 1);
  if (claimed === undefined) throw new Error('nothing was claimed');
  const signal = new AbortController().signal;
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const long = (): Promise<void> => {
    begun.resolve();
    return over.promise;
  };
  const ending = inbox.transaction(claimed.lease, long, { now: () => START, signal });
  await begun.promise;
  isSilent = true;
  const accepted = inbox.accept(incoming({ id: 'evt_2' }), later()).catch((failure: unknown) => failure);
  await inbox.close();
  expect(await accepted).toMatchObject({ name: 'InboxUnavailableError' });
  over.resolve();
  await expect(ending).rejects.toThrow('Query read timeout');
});

it('is not ready while deliveries are not answered, though a ping would be', async () => {
  let isSilent = false;
  const silent = interferedPool(pool, (text) => (isSilent && text.includes('place') ? 'silent' : null));
  await using inbox = hasty({ pool: silent }, 5_000);
  expect(await readyOf(inbox)).toMatchObject({ ready: true });
  isSilent = true;
  const accepted = inbox.accept(incoming(), later());
  await vi.waitUntil(async () => !(await readyOf(inbox)).ready, { timeout: 10_000 });
  expect(await readyOf(inbox)).toMatchObject({ ready: false, code: 'DEADLINE' });
  isSilent = false;
  expect(await accepted).toMatchObject({ result: 'stored' });
  expect(await readyOf(inbox)).toMatchObject({ ready: true });
});
