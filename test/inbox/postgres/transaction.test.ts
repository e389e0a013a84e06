import type { PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pool } from 'pg';
import { TransactionError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { COMMITTED_BY_ITSELF } from '../../../src/inbox/rules/attempt.ts';
import { EVERYTHING, type ClaimedEvent } from '../../../src/inbox/work.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { createReceiver } from '../../../src/receive/receiver.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../../helpers/order-delivery.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool, once } from './pools.ts';

const LEASE_MS = 1_000;
const KEY = { endpoint: 'default', id: 'evt_1' };
const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  await using inbox = open();
  await inbox.get(KEY);
  await pool.query(`
    CREATE TABLE ${orders} (id text, CONSTRAINT only_once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE ${quoted(schema)}.strict_orders (id text PRIMARY KEY)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${orders}, ${quoted(schema)}.strict_orders`);
});

function open(source: { connect(): Promise<PoolClient> } = pool): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

async function claimed(inbox: Inbox<PoolClient>, now = START): Promise<ClaimedEvent> {
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now, leaseMs: LEASE_MS, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  return event;
}

const attempt = (now = START) => ({ now: () => now, signal: new AbortController().signal });
const insert = async (client: PoolClient, id = 'ord_1'): Promise<string> => {
  await client.query(`INSERT INTO ${orders} VALUES ($1)`, [id]);
  return id;
};

async function written(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${orders} ORDER BY id`);
  return rows.map(({ id }) => id);
}

async function markers(): Promise<number> {
  return (await pool.query(`SELECT 1 FROM ${tablesIn(schema).effects}`)).rows.length;
}

async function stateOf(inbox: Inbox<PoolClient>): Promise<readonly unknown[]> {
  const event = await inbox.get(KEY);
  const attempts = await inbox.attempts(KEY);
  return [event?.state, event?.deadReason, attempts.map(({ outcome }) => outcome)];
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'it did not fail',
    (failure: unknown) => failure,
  );
}

describe('a transaction in Postgres', () => {
  it('writes what its function writes and that the event is processed, and answers with its result', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    expect(await inbox.transaction(lease, (client) => insert(client), attempt(START + 5))).toBe('ord_1');
    expect(await written()).toEqual(['ord_1']);
    expect(await stateOf(inbox)).toEqual(['processed', null, ['processed']]);
    expect(await markers()).toBe(0);
  });

  it('lets the next event of its entity run once its handler has ended', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    await inbox.accept(incoming({ id: 'next', receivedAt: START, created: { ms: START, ns: 0 } }), later());
    const request = { ...EVERYTHING, now: START, leaseMs: LEASE_MS, ordered: true };
    expect(await inbox.claim(request, 10)).toEqual([]);
    await inbox.transaction(lease, (client) => insert(client), attempt());
    expect(await inbox.claim(request, 10)).toEqual([]);
    await inbox.settle(lease, { outcome: 'committed' }, START);
    expect(await inbox.claim(request, 10)).toMatchObject([{ id: 'next' }]);
  });

  it('writes nothing when its function throws, whatever that is', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const thrown: unknown = { not: 'an error' };
    const failing = inbox.transaction(
      lease,
      async (client) => {
        await insert(client);
        throw thrown;
      },
      attempt(),
    );
    expect(await failureOf(failing)).toBe(thrown);
    expect(await written()).toEqual([]);
    expect(await stateOf(inbox)).toEqual(['processing', null, []]);
    expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
  });

  it('throws what Postgres says of a statement as it is, and what it says at the commit', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const work = (client: PoolClient) => client.query('SELECT 1 / 0');
    expect(await failureOf(inbox.transaction(lease, work, attempt()))).toMatchObject({ code: '22012' });
    const twice = async (client: PoolClient) => {
      await insert(client);
      await insert(client);
    };
    expect(await failureOf(inbox.transaction(lease, twice, attempt()))).toMatchObject({
      code: '23505',
      constraint: 'only_once',
    });
    expect([await written(), await markers()]).toEqual([[], 0]);
    expect(await stateOf(inbox)).toEqual(['processing', null, []]);
  });

  it('commits nothing when its function has caught a failure that ended the transaction', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const work = async (client: PoolClient) => {
      await insert(client);
      await client.query('SELECT 1 / 0').catch(() => {});
    };
    expect(String(await failureOf(inbox.transaction(lease, work, attempt())))).toMatch(/Let the error propagate/);
    expect([await written(), await stateOf(inbox)]).toEqual([[], ['processing', null, []]]);
  });

  it('does not run for a lease that was lost', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const work = vi.fn();
    const lost = inbox.transaction({ ...lease, fence: lease.fence + 1 }, work, attempt());
    expect(await failureOf(lost)).toMatchObject({ code: 'LEASE_LOST' });
    expect(work).not.toHaveBeenCalled();
    const aborted = { now: () => START, signal: AbortSignal.abort(new Error('closing')) };
    expect(await failureOf(inbox.transaction(lease, work, aborted))).toMatchObject({ message: 'closing' });
    expect(work).not.toHaveBeenCalled();
  });

  it('holds up neither a renewal nor a takeover while its function runs; who lost the lease commits nothing', async () => {
    await using inbox = open();
    const { lease } = await claimed(inbox);
    const commit = inbox.transaction(
      lease,
      async (client) => {
        await insert(client);
        expect(await inbox.renew([lease], START + 10, LEASE_MS)).toEqual([lease]);
        const request = { ...EVERYTHING, now: START + 10 + LEASE_MS, leaseMs: LEASE_MS, ordered: true };
        expect(await inbox.claim(request, 1)).toMatchObject([{ id: 'evt_1', attempt: 2 }]);
      },
      attempt(START + 2 * LEASE_MS),
    );
    expect(await failureOf(commit)).toMatchObject({ code: 'LEASE_LOST' });
    expect([await written(), await markers()]).toEqual([[], 0]);
    expect(await stateOf(inbox)).toEqual(['processing', null, ['crashed']]);
  });
});

describe('a function that ends the transaction itself, past the client that it is given', () => {
  /** The lent client would not send some statements; the client behind it does. */
  function openWithBehind() {
    let last: PoolClient | undefined;
    const inbox = open({
      async connect() {
        last = await pool.connect();
        return last;
      },
    });
    const behind = (): PoolClient => {
      if (last === undefined) throw new Error('nothing was asked yet');
      return last;
    };
    return { inbox, behind };
  }

  it('with COMMIT makes the event dead, which says so: its effect is not repeated', async () => {
    const opened = openWithBehind();
    await using inbox = opened.inbox;
    const { lease } = await claimed(inbox);
    const work = async (client: PoolClient) => {
      const behind = opened.behind();
      await insert(client);
      await behind.query('COMMIT');
    };
    const failure = await failureOf(inbox.transaction(lease, work, attempt()));
    expect(failure).toBeInstanceOf(TransactionError);
    expect(failure).toMatchObject({ code: 'COMMITTED_BY_ITSELF' });
    // The handler runs on.
    expect([await written(), await markers()]).toEqual([['ord_1'], 1]);
    expect(await stateOf(inbox)).toEqual(['processing', null, []]);
    expect(await failureOf(inbox.transaction(lease, work, attempt()))).toMatchObject({ code: 'LEASE_LOST' });
    expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe('committed alone');
    expect([await written(), await markers()]).toEqual([['ord_1'], 0]);
    expect(await stateOf(inbox)).toEqual(['dead', 'failed', ['failed']]);
    const [only] = await inbox.attempts(KEY);
    expect(only?.error?.message).toBe(COMMITTED_BY_ITSELF);
  });

  it('with COMMIT, and then throws or begins another one, is told apart all the same', async () => {
    const opened = openWithBehind();
    await using inbox = opened.inbox;
    const { lease } = await claimed(inbox);
    const thrown = new Error('afterwards');
    const work = async (client: PoolClient) => {
      const behind = opened.behind();
      await insert(client);
      await behind.query('COMMIT; BEGIN');
      await insert(client, 'ord_2');
      throw thrown;
    };
    expect(await failureOf(inbox.transaction(lease, work, attempt()))).toMatchObject({
      code: 'COMMITTED_BY_ITSELF',
      cause: thrown,
    });
    expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe('committed alone');
    expect([await written(), await stateOf(inbox)]).toEqual([['ord_1'], ['dead', 'failed', ['failed']]]);
  });

  it('with COMMIT, in a process that dies then: whoever takes the event over finds it out', async () => {
    const opened = openWithBehind();
    await using inbox = opened.inbox;
    const { lease } = await claimed(inbox);
    let died = (): void => {};
    const work = async (client: PoolClient) => {
      const behind = opened.behind();
      await insert(client);
      await behind.query('COMMIT');
      await new Promise<void>((resolve) => {
        died = resolve;
      });
    };
    const dying = failureOf(inbox.transaction(lease, work, attempt()));
    await vi.waitFor(async () => expect(await written()).toEqual(['ord_1']), { timeout: 20_000 });
    await using other = open();
    const request = { ...EVERYTHING, now: START + LEASE_MS, leaseMs: LEASE_MS, ordered: true };
    expect(await other.claim(request, 1)).toEqual([]);
    expect(await stateOf(other)).toEqual(['dead', 'failed', ['failed']]);
    died();
    expect(await dying).toMatchObject({ code: 'COMMITTED_BY_ITSELF' });
    expect(await stateOf(other)).toEqual(['dead', 'failed', ['failed']]);
  });

  it('with COMMIT, on a connection that is lost then: its attempt cannot end as one that may be repeated', async () => {
    const opened = openWithBehind();
    await using inbox = opened.inbox;
    const { lease } = await claimed(inbox);
    const work = async (client: PoolClient) => {
      const behind = opened.behind();
      await insert(client);
      await behind.query('COMMIT');
      await client.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {});
    };
    expect(await failureOf(inbox.transaction(lease, work, attempt()))).toMatchObject({ code: 'NOT_COMMITTED' });
    const retry = { outcome: 'retry', error: { name: 'Error', message: 'lost', stack: null }, dueAt: START } as const;
    expect(await inbox.settle(lease, retry, START)).toBe('committed alone');
    expect([await written(), await stateOf(inbox)]).toEqual([['ord_1'], ['dead', 'failed', ['failed']]]);
  });

  it('with ROLLBACK is told so, and what it wrote afterwards is its own', async () => {
    const opened = openWithBehind();
    await using inbox = opened.inbox;
    const { lease } = await claimed(inbox);
    const work = async (client: PoolClient) => {
      const behind = opened.behind();
      await insert(client);
      await behind.query('ROLLBACK');
      await insert(client, 'ord_2');
    };
    expect(await failureOf(inbox.transaction(lease, work, attempt()))).toMatchObject({ code: 'ROLLED_BACK_BY_ITSELF' });
    expect([await written(), await stateOf(inbox)]).toEqual([['ord_2'], ['processing', null, []]]);
  });
});

describe('a transaction whose COMMIT was not answered', () => {
  it('was committed if Postgres says so', async () => {
    const { interfere, seen } = once((text) => text === 'COMMIT', 'unanswered');
    await using inbox = open();
    const { lease } = await claimed(inbox);
    let armed = false;
    await using unlucky = open(interferedPool(pool, (text) => (armed ? interfere(text) : null)));
    await unlucky.get(KEY);
    const result = await unlucky.transaction(
      lease,
      (client) => {
        armed = true;
        return insert(client);
      },
      attempt(),
    );
    expect([result, seen.count]).toEqual(['ord_1', 1]);
    expect([await written(), await stateOf(inbox)]).toEqual([['ord_1'], ['processed', null, ['processed']]]);
  });

  it('was not if it never arrived', async () => {
    const { interfere } = once((text) => text === 'COMMIT', 'lost');
    await using inbox = open();
    const { lease } = await claimed(inbox);
    let armed = false;
    await using unlucky = open(interferedPool(pool, (text) => (armed ? interfere(text) : null)));
    await unlucky.get(KEY);
    const commit = unlucky.transaction(
      lease,
      (client) => {
        armed = true;
        return insert(client);
      },
      attempt(),
    );
    expect(await failureOf(commit)).toMatchObject({ code: 'NOT_COMMITTED' });
    expect([await written(), await stateOf(inbox)]).toEqual([[], ['processing', null, []]]);
    expect(await inbox.transaction(lease, (client) => insert(client), attempt())).toBe('ord_1');
  });
});

it('that a handler lets fail says in the log by which code Postgres did, and nothing of the row', async () => {
  await using inbox = open();
  const { logger, lines } = recordedLog();
  await pool.query(`INSERT INTO ${quoted(schema)}.strict_orders VALUES ('ada@example.com')`);
  await using receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger,
    processing: { mode: 'inline' },
    handlers: {
      '*': (_, ctx) =>
        ctx.transaction((client) =>
          client.query(`INSERT INTO ${quoted(schema)}.strict_orders VALUES ($1)`, ['ada@example.com']),
        ),
    },
  });
  expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 500 });
  const [line] = lines;
  expect(line?.facts).toMatchObject({
    code: '23505',
    command: `npx hookbox events show --schema ${schema} evt_1`,
    err: { message: expect.stringContaining('strict_orders_pkey') },
  });
  expect(JSON.stringify(line)).not.toContain('ada@example.com');
});
