import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { callersTime } from '../../src/inbox/postgres/database-time.ts';
import { inboxOnPostgres, type InboxSettings } from '../../src/inbox/postgres/inbox-on-postgres.ts';
import { tableNames, tablesIn, quoted } from '../../src/inbox/postgres/sql/tables.ts';

/** The URL of the server of this run. */
export async function postgresUrl(): Promise<string> {
  const socket = connect(inject('postgresAt'), '127.0.0.1');
  await once(socket, 'connect');
  const { url, failure } = JSON.parse(await text(socket)) as { readonly url?: string; readonly failure?: string };
  if (url === undefined) throw new Error(failure);
  return url;
}

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

/**
 * Inboxes on one schema of a file, each empty: a schema of its own for each test would cost more than the test.
 *
 * @returns what opens one
 */
export function inboxesOnPostgres(connection: PoolConfig = {}): () => Inbox<PoolClient> {
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
  return () => {
    const pool = shared;
    if (pool === undefined) throw new Error('the server is there when tests run');
    const emptied = emptySchema(pool, schema).then(() => pool);
    return inboxOnPostgres<PoolClient>(
      { pool: { connect: async () => (await emptied).connect() } },
      { ...SETTINGS, schema },
    );
  };
}
