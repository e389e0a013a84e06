import { connect, createServer, type AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

/** Postgres: ready outside a transaction. */
const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1');

/** A server that shuts down sends this. */
const ENDED = ((): Buffer => {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command', ''];
  const body = Buffer.from(`${fields.join('\0')}\0`, 'latin1');
  const head = Buffer.from('E\0\0\0\0', 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
})();

/** Some connections end in the packet that says they are ready. */
async function door(url: string, isEnded: (connection: number, ready: number) => boolean) {
  const { port, hostname } = new URL(url);
  const seen = { connections: 0, ended: 0 };
  const server = createServer((client) => {
    seen.connections += 1;
    const number = seen.connections;
    let ready = 0;
    const there = connect(Number(port), hostname);
    client.pipe(there);
    there.on('data', (bytes) => {
      const isReady = bytes.subarray(-READY.length).equals(READY);
      if (isReady) ready += 1;
      if (!isReady || !isEnded(number, ready)) return void client.write(bytes);
      seen.ended += 1;
      client.end(Buffer.concat([bytes, ENDED]));
      there.destroy();
    });
    for (const socket of [client, there]) {
      socket.on('error', () => {});
      socket.on('close', () => [client, there].forEach((each) => each.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const there = new URL(url);
  there.hostname = '127.0.0.1';
  there.port = String((server.address() as AddressInfo).port);
  return { url: there.href, seen };
}

function uncaught(): unknown[] {
  const found: unknown[] = [];
  const note = (failure: unknown): void => void found.push(failure);
  process.on('uncaughtExceptionMonitor', note);
  onTestFinished(() => void process.off('uncaughtExceptionMonitor', note));
  return found;
}

async function scratchSchema(): Promise<string> {
  const schema = schemaName();
  const url = await postgresUrl();
  onTestFinished(async () => {
    const pool = new Pool({ connectionString: url });
    await dropSchema(pool, schema);
    await pool.end();
  });
  return schema;
}

const ways: readonly (readonly [string, (url: string, schema: string) => Inbox<never>])[] = [
  ['an inbox of a URL', (url, schema) => postgresInbox(url, { schema, listen: false }) as Inbox<never>],
  ['an inbox of a URL that hears of others', (url, schema) => postgresInbox(url, { schema }) as Inbox<never>],
  [
    "an inbox on the merchant's pool",
    (url, schema) => {
      const pool = new Pool({ connectionString: url });
      pool.on('error', () => {});
      onTestFinished(() => pool.end());
      return postgresInbox({ pool }, { schema }) as Inbox<never>;
    },
  ],
];

it.each(ways)('%s outlives connections that Postgres ends as they become ready', async (_, open) => {
  const found = uncaught();
  const { url, seen } = await door(await postgresUrl(), (connection) => connection % 2 === 1);
  await using inbox = open(url, await scratchSchema());
  inbox.onPending(() => {});
  const stored = [];
  for (let n = 0; n < 4; n += 1) {
    stored.push(await inbox.accept(incoming({ id: `evt_${n}`, entity: null }), later()).catch(() => null));
  }
  expect(found).toEqual([]);
  expect(seen.ended).toBeGreaterThan(0);
  expect(stored.at(-1)).toMatchObject({ result: 'stored' });
});

it('so does one whose pool hands on a client in the packet in which it is ended', async () => {
  const found = uncaught();
  // The application's statement is the first one of its connection.
  const { url, seen } = await door(await postgresUrl(), (connection, ready) => connection === 1 && ready === 2);
  const pool = new Pool({ connectionString: url, max: 1 });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  await using inbox = postgresInbox<PoolClient>({ pool }, { schema: await scratchSchema() });
  const own = new Promise((resolve) => pool.query('SELECT 1', resolve));
  const accepted = inbox.accept(incoming(), later());
  await own;
  expect(await accepted).toMatchObject({ result: 'stored' });
  expect([found, seen.ended]).toEqual([[], 1]);
});
