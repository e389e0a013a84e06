import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { faultsIn, type DatabaseState } from '../../../src/inbox/postgres/operator/database-faults.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { databaseFaults, readiness } from '../../../src/ops/index.ts';
import { opsPage } from '../../../src/page/operators-page.tsx';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { postgresUrl, schemaName } from '../../helpers/postgres.ts';

/** Transactions of other databases keep no rows of this one. */
const database = schemaName();
let admin: Pool;
let pool: Pool;
let inbox: Inbox<PoolClient>;

beforeAll(async () => {
  const url = new URL(await postgresUrl());
  admin = new Pool({ connectionString: url.href });
  await admin.query(`CREATE DATABASE ${database}`);
  url.pathname = database;
  pool = new Pool({ connectionString: url.href });
  pool.on('error', () => {});
  inbox = postgresInbox({ pool });
  await inbox.list();
});

afterAll(async () => {
  await inbox.close();
  await pool.end();
  await admin.end();
});

async function openTransaction(from: Pool, ...statements: readonly string[]): Promise<void> {
  const client = await from.connect();
  client.on('error', () => {});
  onTestFinished(() => client.release(true));
  for (const statement of statements) await client.query(statement);
}

async function spendTransactions(count: number): Promise<void> {
  await pool.query(`CREATE TEMP TABLE spent (n int); DO $$ BEGIN
    FOR n IN 1..${count} LOOP
      BEGIN INSERT INTO spent VALUES (n); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP;
  END $$; DROP TABLE spent`);
}

async function page(of = inbox): Promise<string> {
  const shown = opsPage({ inbox: of }, { authorize: () => ({ role: 'operator', name: 'ada' }) });
  return (await shown.request('/maintenance')).text();
}

it('finds nothing in a new database', async () => {
  expect(await databaseFaults(inbox)).toEqual([]);
  expect(await readiness(inbox)).toMatchObject({ ready: true, warnings: [] });
  expect(await page()).toContain('Autovacuum is on, no transaction has been open for long');
});

it('finds a table without autovacuum and many dead rows, until the lines that it says were run', async () => {
  await pool.query('ALTER TABLE hookbox.marks SET (autovacuum_enabled = off)');
  const [off, ...others] = await databaseFaults(inbox);
  expect(others).toEqual([]);
  expect(off?.what).toMatch(/^Autovacuum is off for the table "hookbox"."marks"/);
  const ready = await readiness(inbox);
  expect(ready).toMatchObject({ ready: true, warnings: [{ alarm: 'database', endpoint: null }] });
  expect(await page()).toContain('ALTER TABLE &quot;hookbox&quot;.&quot;marks&quot; RESET');

  await pool.query(`ALTER TABLE hookbox.progress SET (autovacuum_enabled = off);
    INSERT INTO hookbox.progress SELECT 'row ' || n, n FROM generate_series(1, 150000) AS n;
    DELETE FROM hookbox.progress WHERE what LIKE 'row %'`);
  const found = () => databaseFaults(inbox);
  const dead = { what: expect.stringContaining('"progress" has 150000 dead rows'), advice: expect.any(String) };
  await expect.poll(found).toContainEqual(dead);
  for (const { advice } of await found()) await pool.query(advice.replace(/^Run: /, ''));
  await expect.poll(found).toEqual([]);
});

it('finds a transaction that has only written, also if another role is not shown when it began', async () => {
  await openTransaction(pool, 'BEGIN', 'INSERT INTO hookbox.progress VALUES ($$mine$$, 1)');
  expect(await databaseFaults(inbox)).toEqual([]);
  await spendTransactions(100_001);
  const [old, ...others] = await databaseFaults(inbox);
  expect(others).toEqual([]);
  expect(old?.what).toMatch(/^A transaction of the role "hookbox" \(process \d+\) has been open for 0 min \(\d+ trans/);

  const role = schemaName();
  await pool.query(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA hookbox TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hookbox TO ${role}`);
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const url = new URL(await postgresUrl());
  [url.username, url.pathname] = [role, database];
  const theirs = postgresInbox(url.href, { listen: false });
  onTestFinished(() => theirs.close());
  const [seen] = await databaseFaults(theirs);
  expect(seen?.what).toMatch(/has been open for \d+ transactions, so dead rows stay/);

  await pool.query(/SELECT .*/.exec(old?.advice ?? '')?.[0] ?? '');
  await expect.poll(() => databaseFaults(inbox)).toEqual([]);
});

it('leaves the forms of the Maintenance screen there while Postgres is away', async () => {
  const away = postgresInbox({ pool: { connect: () => Promise.reject<PoolClient>(new Error('ECONNREFUSED')) } });
  onTestFinished(() => away.close());
  const shown = await page(away);
  expect(shown).toContain('Postgres did not answer');
  expect(shown).toContain('Preview the prune');
});

it('passes over transactions of other databases', async () => {
  await openTransaction(admin, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT pg_current_xact_id()');
  await spendTransactions(100_001);
  expect(await databaseFaults(inbox)).toEqual([]);
});

describe('faultsIn', () => {
  const well: DatabaseState = { vacuums: true, connected: 10, most: 97, old: [], tables: [] };
  const faults = (state: Partial<DatabaseState>) => faultsIn({ ...well, ...state }, 'hookbox');
  const table = { name: 'queue', dead: 0, live: 0, vacuums: true };

  it.each([
    [{ connected: 87 }, null],
    [{ connected: 88 }, /^88 of the 97 connections .*smaller pools.*max_connections$/],
    [{ vacuums: false }, /^Autovacuum is off on this Postgres server.*Set autovacuum and track_counts to on$/],
    [{ tables: [{ ...table, dead: 99_999 }] }, null],
    [{ tables: [{ ...table, dead: 100_000, live: 200_000 }] }, null],
    [{ tables: [{ ...table, dead: 100_001, live: 200_000 }] }, /100001 dead rows and 200000 others.*Run: VACUUM/],
  ] as const)('%o', (state, expected) => {
    const found = faults(state).map(({ what, advice }) => `${what} ${advice}`);
    expect(found).toEqual(expected === null ? [] : [expect.stringMatching(expected)]);
  });

  it.each([
    ['session', /role "shop" \(process it's\).*pg_terminate_backend/],
    ['replica', /replica.*hot_standby_feedback/],
    ['slot', /slot "it's".*pg_drop_replication_slot\('it''s'\)$/],
    ['prepared', /'it''s'.*ROLLBACK PREPARED 'it''s', or COMMIT PREPARED 'it''s'$/],
  ] as const)('an old %s, which comes before the dead rows that it keeps', (kind, expected) => {
    const old = [{ kind, name: "it's", role: 'shop', age: 200_000, seconds: 7_260 }];
    const [first, second] = faults({ old, tables: [{ ...table, dead: 300_000 }] });
    expect(`${first?.what} ${first?.advice}`).toMatch(expected);
    expect(first?.what).toContain('for 121 min (200000 transactions)');
    expect(second?.advice).toBe('End the old transactions, then run: VACUUM ANALYZE "hookbox"."queue"');
  });
});
