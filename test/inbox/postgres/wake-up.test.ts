// @module-tag postgres
import { createServer, type AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';
import { proxiedPool } from './pools.ts';

const schema = schemaName();
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
  await using inbox = postgresInbox(url, { schema });
  await inbox.list();
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

async function listeners(): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN hookbox_%'",
  );
  return rows.length;
}

it('a machine that listens hears of what another stores, and goes on after its connection was lost', async () => {
  await using one = postgresInbox(url, { schema });
  await using other = postgresInbox({ pool }, { schema, listen: url });
  const heard = vi.fn();
  other.onPending(heard);
  let stored = 0;
  const hears = async (): Promise<void> => {
    const before = heard.mock.calls.length;
    await expect
      .poll(
        async () => {
          await one.accept(incoming({ id: `evt_${(stored += 1)}` }), later());
          return heard.mock.calls.length;
        },
        { interval: 100 },
      )
      .toBeGreaterThan(before);
  };
  await hears();
  await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN hookbox_%'");
  await hears();
});

/** Loses notifications that come back to their sender. */
function losingEchoes(count: number) {
  let left = count;
  return proxiedPool(pool, (client) => ({
    query(asked) {
      if (!String(asked.values?.[1]).endsWith(' echo') || left === 0) return client.query(asked);
      left -= 1;
      return client.query({ text: 'SELECT 1' });
    },
  }));
}

it('one whose first echo is lost listens all the same a moment later', async () => {
  await using one = postgresInbox(url, { schema });
  await using other = postgresInbox({ pool: losingEchoes(1) }, { schema, listen: url });
  const heard = vi.fn();
  other.onPending(heard);
  await other.list();
  // The first try is over.
  await expect.poll(() => listeners(), { timeout: 10_000 }).toBe(1);
  await expect.poll(() => listeners(), { timeout: 10_000 }).toBe(0);
  let stored = 0;
  await expect
    .poll(
      async () => {
        await one.accept(incoming({ id: `later_${(stored += 1)}` }), later());
        return heard.mock.calls.length;
      },
      { interval: 100, timeout: 10_000 },
    )
    .toBeGreaterThan(0);
  expect(await told(other)).toEqual([]);
});

it('one that never hears says so once, and goes on trying', async () => {
  await using deaf = postgresInbox({ pool: losingEchoes(Infinity) }, { schema, listen: url });
  deaf.onPending(() => {});
  await deaf.list();
  await expect
    .poll(() => told(deaf), { timeout: 20_000, interval: 200 })
    .toEqual([
      {
        what: expect.stringContaining('a test NOTIFY did not arrive'),
        advice: expect.stringContaining('`listen`'),
      },
    ]);
  expect(await told(deaf)).toEqual([]);
  await expect.poll(() => listeners(), { timeout: 10_000 }).toBe(1);
});

async function told(inbox: Pick<Inbox<PoolClient>, 'upkeep'>): Promise<readonly unknown[]> {
  const problems: unknown[] = [];
  await inbox.upkeep?.({ now: Date.now, isOpen: () => true, report: (problem) => void problems.push(problem) });
  return problems;
}

/** Accepts logins and refuses statements, as a standby refuses LISTEN. */
async function refusingServer() {
  const message = (kind: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(kind);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const ready = message('Z', Buffer.from('I'));
  const refused = message('E', Buffer.from('SERROR\0C25006\0Mcannot execute LISTEN during recovery\0\0'));
  let [opened, open] = [0, 0];
  const server = createServer((socket) => {
    opened += 1;
    open += 1;
    socket.on('error', () => {});
    socket.on('close', () => (open -= 1));
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
      socket.on('data', (asked) => asked[0] === 'Q'.charCodeAt(0) && socket.write(Buffer.concat([refused, ready])));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => void server.close();
  return {
    url: `postgres://u:p@127.0.0.1:${port}/d`,
    opened: () => opened,
    open: () => open,
    [Symbol.asyncDispose]: close,
  };
}

it('one that may not listen lets go of the connection before it tries another one', async () => {
  await using standby = await refusingServer();
  await using inbox = postgresInbox({ pool }, { schema, listen: standby.url });
  inbox.onPending(() => {});
  await inbox.list();
  await expect.poll(() => standby.opened()).toBe(1);
  await expect.poll(() => standby.open(), { timeout: 2_000 }).toBe(0);
});

it('one that is told not to opens no connection for it, and one that closes lets go of it', async () => {
  await using silent = postgresInbox(url, { schema, listen: false });
  silent.onPending(() => {});
  await silent.list();
  expect(await listeners()).toBe(0);
  const inbox = postgresInbox(url, { schema });
  inbox.onPending(() => {});
  await expect.poll(() => listeners()).toBe(1);
  await inbox.close();
  await expect.poll(() => listeners()).toBe(0);
});
