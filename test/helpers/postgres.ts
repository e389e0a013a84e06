import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { callersTime } from '../../src/inbox/postgres/database-time.ts';
import { inboxOnPostgres, type InboxSettings } from '../../src/inbox/postgres/inbox-on-postgres.ts';
import { tableNames, tablesIn, quoted } from '../../src/inbox/postgres/sql/tables.ts';
import { postgresUrl } from './postgres-url.ts';

export { postgresUrl } from './postgres-url.ts';

/** As a merchant would have it, with times that are the test's own. */
export const SETTINGS: InboxSettings = {
  schema: 'hookbox',
  migrates: true,
  prepares: true,
  maxWaiting: 10_000,
  maxWaitingBytes: 64 * 1024 * 1024,
  time: callersTime,
  listenAt: null,
};

let schemas = 0;

/** A name that no other file of the run has, gone with everything in it when the file or the test is over. */
export function schemaName(): string {
  schemas += 1;
  return `test_${process.pid}_${Math.random().toString(36).slice(2, 8)}_${schemas}`;
}

export async function dropSchema(pool: Pool, schema: string): Promise<void> {
  await pool.query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`);
}

/** A pool of the running test. */
export async function scratchPool(settings: PoolConfig = {}): Promise<Pool> {
  const pool = new Pool({ connectionString: await postgresUrl(), ...settings });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  return pool;
}

/** What a test asks of a schema that others have worked in: nothing is in it any more. */
export async function emptySchema(pool: Pool, schema: string): Promise<void> {
  const t = tablesIn(schema);
  const emptied = tableNames.filter((name) => !['migrations', 'clock', 'slots', 'progress'].includes(name));
  await pool.query(
    `BEGIN; ${emptied.map((name) => `DELETE FROM ${t[name]}`).join('; ')};
     DELETE FROM ${t.progress} WHERE what <> 'terms'; UPDATE ${t.progress} SET seq = 0;
     UPDATE ${t.clock} SET latest_ms = 0;
     ALTER TABLE ${t.events} ALTER COLUMN seq RESTART; ALTER TABLE ${t.rejected} ALTER COLUMN seq RESTART;
     ALTER TABLE ${t.audit} ALTER COLUMN seq RESTART; ALTER TABLE ${t.bulks} ALTER COLUMN id RESTART; COMMIT`,
  );
}

/** Inboxes on one schema of a file. */
export interface SharedSchema {
  /** One in which nothing is stored: a schema of its own for each test would cost more than the test. */
  readonly empty: () => Inbox<PoolClient>;
  /** One with what is there, as another process has opened it. */
  readonly another: () => Inbox<PoolClient>;
}

export function inboxesOnPostgres(connection: PoolConfig = {}): SharedSchema {
  const schema = schemaName();
  let shared: Pool | undefined;
  // A server that starts may take longer than an inbox that closes waits for what is under way.
  beforeAll(async () => {
    shared = new Pool({ connectionString: await postgresUrl(), max: 8, ...connection });
    shared.on('error', () => {});
    await using inbox = inboxOnPostgres({ pool: shared }, { ...SETTINGS, schema });
    await inbox.list();
  });
  afterAll(async () => {
    if (shared === undefined) return;
    await dropSchema(shared, schema);
    await shared.end();
  });
  const there = (): Pool => {
    if (shared === undefined) throw new Error('the server is there when tests run');
    return shared;
  };
  const inboxOn = (pool: { connect(): Promise<PoolClient> }) =>
    inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  return {
    empty() {
      const emptied = emptySchema(there(), schema);
      return inboxOn({ connect: () => emptied.then(() => there().connect()) });
    },
    another: () => inboxOn(there()),
  };
}
