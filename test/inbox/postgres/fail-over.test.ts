// @module-tag longest
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { InboxOpenError } from '../../../src/errors.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { createReceiver, type Receiver } from '../../../src/receive/receiver.ts';
import { signBody } from '../../../src/signing/signature.ts';
import { SECRET } from '../../helpers/order-delivery.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { PostgresServer } from '../../helpers/postgres-server.ts';
import { silent } from '../../helpers/silent-logger.ts';
import { silentDoor, type SilentDoor } from './silent-door.ts';

const ORDERS = ['a', 'b', 'c', 'd', 'e', 'f'];
const t = tablesIn('hookbox');

let primary: PostgresServer;
let standby: PostgresServer;
let door: SilentDoor;

beforeAll(async () => {
  primary = await PostgresServer.start();
  standby = await primary.standby();
  door = await silentDoor(primary.url());
  // Without a unique constraint, so a double shows.
  await ask(primary, 'CREATE TABLE shipments (at bigserial, event text NOT NULL)');
});

afterAll(async () => {
  await door[Symbol.asyncDispose]();
  await standby[Symbol.asyncDispose]();
  await primary[Symbol.asyncDispose]();
});

async function ask(server: PostgresServer, text: string): Promise<void> {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** All connections of its pool lead through the door. */
class Shop implements AsyncDisposable {
  readonly acknowledged: string[] = [];
  readonly #pool: Pool;
  readonly #receiver: Receiver;
  #sending: Promise<unknown> = Promise.resolve();
  #refused = 0;
  #isOver = false;

  constructor(connections: number) {
    this.#pool = new Pool({ connectionString: door.url, max: connections });
    this.#pool.on('error', () => {});
    const inbox = postgresInbox<PoolClient>({ pool: this.#pool });
    this.#receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger: silent,
      handlers: {
        '*': ({ id }, ctx) =>
          ctx.transaction((client) => client.query('INSERT INTO shipments (event) VALUES ($1)', [id])),
      },
      processing: { concurrency: 4, leaseMs: 1_000, retry: { baseMs: 20, maxMs: 200, attempts: 100 } },
    });
  }

  async open(): Promise<void> {
    await this.#receiver.start();
    this.#sending = Promise.all(ORDERS.map((order) => this.#send(order)));
    await this.isUnderLoad();
  }

  /** Sends each event until it is acknowledged. */
  async #send(order: string): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const { body } = orderEvent(`${order}-${n}`, { order, createdAt: n });
      for (;;) {
        const { status } = await this.#receiver.receive({ body, signature: signBody(body, SECRET) });
        if (status === 200) break;
        this.#refused += 1;
        await delay(50);
      }
      this.acknowledged.push(`${order}-${n}`);
      await delay(10); // as many as it can would only cost
    }
  }

  async isUnderLoad(): Promise<void> {
    const before = this.acknowledged.length;
    await poll(() => this.acknowledged.length).toBeGreaterThan(before + 5 * ORDERS.length);
  }

  async areRefused(): Promise<void> {
    const before = this.#refused;
    await poll(() => this.#refused).toBeGreaterThan(before + ORDERS.length);
  }

  /** Each event and each effect is there once, in order. */
  async allIsWell(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
    await poll(() => this.#rows(`SELECT seq FROM ${t.queue}`)).toEqual([]);
    expect(await this.#rows(`SELECT seq FROM ${t.shelf}`)).toEqual([]);
    const stored = await this.#rows(`SELECT id FROM ${t.events}`);
    const effects = await this.#rows('SELECT event FROM shipments ORDER BY at');
    expect(stored.toSorted()).toEqual(this.acknowledged.toSorted());
    expect(effects.toSorted()).toEqual(this.acknowledged.toSorted());
    for (const order of ORDERS) {
      const of = effects.filter((id) => id.startsWith(`${order}-`));
      expect(of).toEqual(of.map((_, n) => `${order}-${n}`));
    }
  }

  async #rows(text: string): Promise<readonly string[]> {
    return (await this.#pool.query<string[]>({ text, rowMode: 'array' })).rows.map(([first]) => first ?? '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#receiver.close();
    await this.#receiver.inbox.close();
    await this.#pool.end();
  }
}

function poll(look: () => unknown) {
  return expect.poll(look, { interval: 10, timeout: 30_000 });
}

it('a standby is refused at opening, and says where to go', async () => {
  await using inbox = postgresInbox(standby.url());
  const refusal: unknown = await inbox.list().catch((failure: unknown) => failure);
  expect(refusal).toBeInstanceOf(InboxOpenError);
  expect(refusal).toMatchObject({
    code: 'READ_ONLY',
    message: expect.stringContaining('Connect to the primary server.'),
  });
});

it.each([
  ['cancelled', 'pg_cancel_backend', /^Postgres: canceling wait for synchronous replication/],
  ['ended', 'pg_terminate_backend', /./],
])('a commit whose wait for a standby is %s acknowledges nothing, until a standby has it', async (_, end, message) => {
  const stored = async (): Promise<readonly string[]> => {
    const client = new Client({ connectionString: primary.url() });
    await client.connect();
    const { rows } = await client.query<{ id: string }>(`SELECT id FROM ${t.events}`);
    await client.end();
    return rows.map(({ id }) => id);
  };
  const pool = new Pool({ connectionString: primary.url(), max: 1 });
  pool.on('error', () => {});
  await using inbox = postgresInbox({ pool });
  await inbox.list();
  await standby.stop('immediate');
  const cancelled = setInterval(() => {
    const text = `SELECT ${end}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    void ask(primary, text);
  }, 50);
  const event = orderEvent('evt_waiting');
  const deadline = performance.now() + 60_000;
  await expect(inbox.accept(event, deadline)).rejects.toMatchObject({
    code: 'FAILED',
    message: expect.stringMatching(message),
  });
  // A fail-over would lose the event, so its redelivery must not be acknowledged either.
  expect(await stored()).toEqual([event.id]);
  await expect(inbox.accept(event, deadline)).rejects.toMatchObject({ code: 'FAILED' });
  clearInterval(cancelled);
  await standby.run();
  await poll(() => inbox.accept(event, deadline).catch(() => null)).toMatchObject({ result: 'duplicate' });
  await ask(primary, `TRUNCATE ${t.events}, ${t.queue}`);
  await inbox.close();
  await pool.end();
});

it('a pool whose connection has ended at a standby leaves it again by itself', async () => {
  await using shop = new Shop(1);
  await shop.open();
  door.leadTo(standby.url());
  await ask(
    primary,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  await shop.areRefused();
  // The standby and its connection are back.
  door.leadTo(primary.url());
  await shop.isUnderLoad();
  await shop.allIsWell();
});

it('when the primary is gone and the standby is promoted, nothing is lost or doubled, and all goes on by itself', async () => {
  await ask(primary, `TRUNCATE ${t.events}, shipments`);
  await using shop = new Shop(6);
  await shop.open();
  await primary.stop('immediate');
  await shop.areRefused();
  door.leadTo(standby.url());
  await shop.areRefused();
  await ask(standby, 'SELECT pg_promote()');
  await shop.isUnderLoad();
  await shop.allIsWell();
});
