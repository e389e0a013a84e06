// @module-tag longest
import { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type {
  PostgresConnection,
  PostgresQuery,
  PostgresResult,
} from '../../../src/inbox/postgres/driver/connections.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import type { Handlers } from '../../../src/processing/handlers.ts';
import { createReceiver, type Receiver } from '../../../src/receive/receiver.ts';
import { signBody } from '../../../src/signing/signature.ts';
import { waitedFor } from '../../helpers/calls-under-way.ts';
import { SECRET } from '../../helpers/order-delivery.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';
import { silent } from '../../helpers/silent-logger.ts';
import { times } from '../../helpers/times.ts';
import { testInline } from '../../processing/inline.conformance.ts';
import { testOwnEvents } from '../../processing/own-events.conformance.ts';

const schema = schemaName();
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 4 });
  pool.on('error', () => {});
  await using inbox = postgresInbox(url, { schema });
  await inbox.list();
  await pool.query(`CREATE TABLE ${quoted(schema)}.effects_of_shop (id text NOT NULL)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

/** The types of `pg` lack this property. */
type IdentifiedClient = Client & { readonly processID: number };

/** Each use has its own connection, as on hosts where it belongs to a request. */
const connections = {
  open: new Set<IdentifiedClient>(),
  opened: 0,
  used: 0,
  most: 0,
  refuse: false,
  before: async (_client: IdentifiedClient): Promise<void> => {},
};

beforeEach(async () => {
  Object.assign(connections, { opened: 0, used: 0, most: 0, refuse: false, before: async () => {} });
  await emptySchema(pool, schema);
  await pool.query(`DELETE FROM ${quoted(schema)}.effects_of_shop`);
});

afterEach(() => expect.poll(() => connections.open.size, { interval: 5 }).toBe(0));

async function connect(): Promise<PostgresConnection> {
  if (connections.refuse) throw Object.assign(new Error('sorry, too many clients already'), { code: '53300' });
  const client = new Client({ connectionString: url }) as IdentifiedClient;
  await client.connect();
  connections.opened += 1;
  connections.open.add(client);
  connections.used += 1;
  connections.most = Math.max(connections.most, connections.used);
  client.once('end', () => connections.open.delete(client));
  const query = async (asked: PostgresQuery): Promise<PostgresResult> => {
    await connections.before(client);
    return client.query(asked);
  };
  return {
    query,
    on: client.on.bind(client),
    removeListener: client.removeListener.bind(client),
    end() {
      connections.used -= 1;
      return client.end();
    },
  };
}

function open(): Inbox<PostgresConnection> {
  const inbox = postgresInbox({ connect }, { schema });
  onTestFinished(() => inbox.close());
  return inbox;
}

testInline('inline mode with a connection for each use', () => ({
  inbox: waitedFor(open() as Inbox<never>),
  elsewhere: () => open() as Inbox<never>,
}));

testOwnEvents('own types and fields, on Postgres', () => waitedFor(open() as Inbox<never>));

/** The application writes a row for each processed event. */
const WRITING: Handlers<PostgresConnection> = {
  '*': (event, ctx) =>
    ctx.transaction((client) =>
      client.query({ text: `INSERT INTO ${quoted(schema)}.effects_of_shop VALUES ($1)`, values: [event.id] }),
    ),
};

function receiving(inbox: Inbox<PostgresConnection>): Receiver {
  return createReceiver({
    secret: SECRET,
    inbox,
    logger: silent,
    handlers: WRITING,
    processing: { mode: 'inline' },
  });
}

async function effects(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${quoted(schema)}.effects_of_shop ORDER BY id`);
  return rows.map(({ id }) => id);
}

const { body } = orderEvent('evt_1');
const DELIVERY = { body, signature: signBody(body, SECRET) };

it('a delivery has one connection at a time, from its first statement to the end of its handler', async () => {
  await using receiver = receiving(open());
  expect(await receiver.receive(DELIVERY)).toMatchObject({ kind: 'processed' });
  expect(await receiver.receive(DELIVERY)).toMatchObject({ kind: 'duplicate' });
  expect([await effects(), connections.most]).toEqual([['evt_1'], 1]);
  expect(connections.opened).toBeGreaterThan(2);
});

it('a delivery for which no connection is to be had is answered 503, and the next one is handled', async () => {
  await using receiver = receiving(open());
  connections.refuse = true;
  expect(await receiver.receive(DELIVERY)).toMatchObject({ kind: 'unavailable', status: 503 });
  connections.refuse = false;
  expect(await receiver.receive(DELIVERY)).toMatchObject({ kind: 'processed' });
});

it('a connection that is lost, at whichever statement, is ended and costs no event and doubles no effect', async () => {
  let reached = true;
  for (let lost = 1; reached; lost += times(1, 3)) {
    await emptySchema(pool, schema);
    await pool.query(`DELETE FROM ${quoted(schema)}.effects_of_shop`);
    let asked = 0;
    connections.before = async (client) => {
      asked += 1;
      if (asked === lost) await pool.query('SELECT pg_terminate_backend($1, 5000)', [client.processID]);
    };
    await using receiver = receiving(open());
    const statuses: number[] = [];
    // The service sends an event again until it gets a 2xx.
    while (!statuses.includes(200) && statuses.length < 5) statuses.push((await receiver.receive(DELIVERY)).status);
    expect([statuses.at(-1), await effects()], `${lost}: ${statuses.join(', ')}`).toEqual([200, ['evt_1']]);
    reached = asked >= lost;
    expect(lost).toBeLessThan(100);
  }
});
