import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

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
