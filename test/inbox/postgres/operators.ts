import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { DatabaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { movesOf } from '../../../src/inbox/postgres/moves.ts';
import { tablesIn, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import type { SearchedStore } from '../../ops/searched-store.ts';
import { forgetIndex } from './planted.ts';
import { interferedPool } from './pools.ts';

interface Source {
  connect(): Promise<PoolClient>;
}

export interface OperatedSchema {
  readonly pool: Pool;
  readonly t: Tables;
  readonly name: string;
  /** @param source - another pool */
  readonly open: (source?: Source) => Promise<Inbox<never>>;
  /**
   * Keeps all data.
   *
   * @param time - the test's own unless given
   */
  readonly join: (source?: Source, time?: DatabaseTime) => Inbox<never>;
  readonly bury: (id: string) => Promise<void>;
}

export function operatedInboxes(): () => OperatedSchema {
  const schema = schemaName();
  let pool: Pool | undefined;
  beforeAll(async () => {
    pool = new Pool({ connectionString: await postgresUrl(), max: 8 });
    pool.on('error', () => {});
    await using inbox = inboxOnPostgres({ pool }, { ...SETTINGS, schema });
    await inbox.list();
  });
  afterAll(async () => {
    if (pool === undefined) return;
    await dropSchema(pool, schema);
    await pool.end();
  });
  return () => {
    const there = pool;
    if (there === undefined) throw new Error('the server is there when tests run');
    const t = tablesIn(schema);
    // No test here uses the connection of a transaction.
    const join = (source: Source = there, time: DatabaseTime = SETTINGS.time) =>
      inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema, time }) as Inbox<never>;
    return {
      pool: there,
      t,
      name: schema,
      async open(source) {
        await emptySchema(there, schema);
        const inbox = join(source);
        // The inbox must be open before a test makes a trigger.
        if (source === undefined) await inbox.list();
        return inbox;
      },
      join,
      async bury(id) {
        const { rows } = await there.query<{ seq: string }>(`SELECT seq FROM ${t.events} WHERE id = $1`, [id]);
        const { text, values } = movesOf(t).pruneMany([Number(rows[0]?.seq)]);
        await there.query(text, [...values]);
      },
    };
  };
}

export function closedAfter(inbox: Inbox<never>): Inbox {
  onTestFinished(() => inbox.close());
  return inbox;
}

const MINUTE_MS = 60_000;

export async function searchedSchema({ pool, t, open, join }: OperatedSchema): Promise<SearchedStore> {
  const inbox = await open();
  // The role may only read, so the index cannot be locked.
  const refused = interferedPool(pool, (text) => (text.includes('FOR NO KEY UPDATE') ? { code: '42501' } : null));
  const { operations: readOnly } = join(refused);
  if (readOnly === undefined) throw new Error('operators can look into it');
  return {
    inbox,
    readOnly,
    async bury(id) {
      await pool.query(`UPDATE ${t.events} SET body = NULL, body_sha256 = '\\x00' WHERE id = $1`, [id]);
    },
    async mixPending() {
      await pool.query(`
        UPDATE ${t.queue} SET parked = seq % 3 = 1, fresh = seq % 3 = 2 WHERE lease_until_ms IS NULL;
        WITH taken AS (DELETE FROM ${t.queue} WHERE lease_until_ms IS NULL AND seq % 5 = 0 RETURNING *)
        INSERT INTO ${t.shelf} (seq, state, endpoint, type, settled_ms, due_ms, attempts, failures, fence)
        SELECT seq, CASE seq % 3 WHEN 0 THEN 'discarded' ELSE 'ignored' END, endpoint, type, ${START} + seq * ${MINUTE_MS},
          due_ms, attempts, failures, fence
        FROM taken`);
    },
    async putAway() {
      const { rows } = await pool.query<{ seq: number; at: number }>(
        `SELECT seq::integer, settled_ms::float8 AS at FROM ${t.shelf} WHERE state = 'ignored'`,
      );
      return new Map(rows.map(({ seq, at }) => [seq, new Date(at)]));
    },
    async forgetIndex() {
      await forgetIndex(pool, t);
    },
    async lockIndex() {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM ${t.progress} FOR UPDATE`);
      return {
        async [Symbol.asyncDispose]() {
          await client.query('ROLLBACK');
          client.release();
        },
      };
    },
    [Symbol.asyncDispose]: () => inbox.close(),
  };
}
