import { Pool, type PoolClient } from 'pg';
import type { Inbox, Operations } from '../../../src/inbox/contract.ts';
import type { Lease, TransactionAttempt } from '../../../src/inbox/work.ts';
import type { SqliteDatabase } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { isHanging } from './hangs.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { rewrittenPool } from '../../inbox/postgres/pools.ts';
import type { Store, StoredRow, StoreKind, Undone } from './stores.ts';

/** Two machines on one schema, which each history empties. */
export function postgresStores(): StoreKind {
  const schema = schemaName();
  const t = tablesIn(schema);
  const effects = `${quoted(schema)}.effects_of_handlers`;
  let opened: Promise<Pool> | undefined;

  async function open(): Promise<Pool> {
    const pool = new Pool({ connectionString: await postgresUrl(), max: 8 });
    pool.on('error', () => {});
    await using inbox = inboxOnPostgres({ pool }, { ...SETTINGS, schema });
    await inbox.list();
    // No unique constraint: a duplicate must be visible.
    await pool.query(`CREATE TABLE ${effects} (id text NOT NULL)`);
    return pool;
  }

  async function leaveUndone(pool: Pool, undone: Undone | undefined): Promise<void> {
    await pool.query(`DROP TRIGGER IF EXISTS undone ON ${t.queue}`);
    if (undone === undefined) return;
    const name = `${quoted(schema)}.leave_undone`;
    await pool.query(`
      CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path = ${quoted(schema)} AS
        $$BEGIN IF ${undone.postgres} THEN RETURN NULL; END IF; RETURN NEW; END$$;
      CREATE TRIGGER undone BEFORE UPDATE ON ${t.queue} FOR EACH ROW EXECUTE FUNCTION ${name}()`);
  }

  return {
    async empty({ undone, rewritten } = {}) {
      const pool = await (opened ??= open());
      await leaveUndone(pool, undefined);
      await emptySchema(pool, schema);
      await pool.query(`DELETE FROM ${effects}`);
      const inTurn = turns();
      const asked = rewritten === undefined ? pool : rewrittenPool(pool, rewrittenIn(schema, rewritten));
      // Another text is prepared under its name on the pool's connections.
      const prepares = rewritten === undefined;
      const inboxes = [0, 1].map(() =>
        inTurn(inboxOnPostgres<PoolClient>({ pool: asked }, { ...SETTINGS, schema, prepares })),
      );
      // Opened before the trigger exists, because opening refuses one.
      await Promise.all(inboxes.map((inbox) => inbox.list()));
      await leaveUndone(pool, undone);
      const store: Store = {
        inboxes,
        rows: () => rowsOf(pool, t),
        writeEffect: async (client: unknown, id) =>
          void (await (client as PoolClient).query(`INSERT INTO ${effects} (id) VALUES ($1)`, [id])),
        loseConnection: async (client: unknown) =>
          void (await (client as PoolClient).query('SELECT pg_terminate_backend(pg_backend_pid())')),
        takeAway: (seq) => pool.query(`DELETE FROM ${t.queue} WHERE seq = $1`, [seq]).then(() => {}),
        numbersGoOnFrom: (seq) =>
          pool.query(`ALTER TABLE ${t.events} ALTER COLUMN seq RESTART WITH ${seq}`).then(() => {}),
        effects: async () => (await pool.query<{ id: string }>(`SELECT id FROM ${effects}`)).rows.map(({ id }) => id),
      };
      return store;
    },
    async [Symbol.asyncDispose]() {
      const pool = await opened;
      if (pool === undefined) return;
      await dropSchema(pool, schema);
      await pool.end();
    },
  };
}

function rewrittenIn(schema: string, rewrite: (text: string) => string): (text: string) => string {
  return (text) => rewrite(text).replaceAll('SCHEMA', () => quoted(schema));
}

function actingInTurn(operations: Operations, inTurn: <T>(ask: () => Promise<T>) => Promise<T>): Operations {
  return { ...operations, act: (...given) => inTurn(() => operations.act(...given)) };
}

function turns(): (inbox: Inbox<PoolClient>) => Inbox {
  let over: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const asked = over.then(ask);
    over = asked.catch(() => {});
    return asked;
  };
  return (inbox) => ({
    ...(inbox as Inbox<never>),
    accept: (...given) => inTurn(() => inbox.accept(...given)),
    claim: (...given) => inTurn(() => inbox.claim(...given)),
    renew: (...given) => inTurn(() => inbox.renew(...given)),
    settle: (...given) => inTurn(() => inbox.settle(...given)),
    transaction: <T>(lease: Lease, work: (database: SqliteDatabase) => T, attempt: TransactionAttempt): Promise<T> => {
      const hung = Promise.withResolvers<void>();
      const run = (database: unknown): T => {
        const result = work(database as SqliteDatabase);
        if (isHanging(result)) hung.resolve();
        return result;
      };
      const asked = Promise.withResolvers<T>();
      void inTurn(async () => {
        const over = inbox.transaction(lease, run, attempt);
        asked.resolve(over);
        await Promise.race([over.catch(() => {}), hung.promise]);
      });
      return asked.promise;
    },
    announce: (...given) => inTurn(() => inbox.announce(...given)),
    rerun: (...given) => inTurn(() => inbox.rerun(...given)),
    ...(inbox.operations && { operations: actingInTurn(inbox.operations, inTurn) }),
    prune: (...given) => inTurn(() => inbox.prune(...given)),
  });
}

interface Columns {
  readonly seq: string;
  readonly endpoint: string;
  readonly id: string;
  readonly entity: string | null;
  readonly created_ms: string | null;
  readonly body: Buffer | null;
  readonly state: string;
  readonly dead_reason: string | null;
  readonly due_ms: string | null;
  readonly failures: number | null;
  readonly crashes: number | null;
  readonly fence: string | null;
  readonly lease_until_ms: string | null;
}

async function rowsOf(pool: Pool, t: ReturnType<typeof tablesIn>): Promise<readonly StoredRow[]> {
  const { rows } = await pool.query<Columns>(`
    SELECT events.seq, events.endpoint, events.id, events.entity, events.created_ms, events.body,
      CASE WHEN queue.processed THEN 'processed' WHEN queue.lease_until_ms IS NOT NULL THEN 'processing'
         WHEN queue.seq IS NOT NULL THEN 'pending' WHEN shelf.seq IS NOT NULL THEN shelf.state
         WHEN done THEN 'processed' ELSE 'dead' END AS state,
      CASE WHEN shelf.seq IS NULL AND queue.seq IS NULL AND NOT done THEN 'crashed' ELSE shelf.dead_reason END AS dead_reason,
      coalesce(queue.due_ms, shelf.due_ms) AS due_ms, coalesce(queue.failures, shelf.failures) AS failures,
      coalesce(queue.crashes, shelf.crashes) AS crashes, coalesce(queue.fence, shelf.fence) AS fence, queue.lease_until_ms
    FROM ${t.events} AS events LEFT JOIN ${t.queue} AS queue USING (seq) LEFT JOIN ${t.shelf} AS shelf USING (seq)
      CROSS JOIN LATERAL (
        SELECT coalesce((SELECT outcome FROM ${t.attempts} AS ran WHERE ran.seq = events.seq ORDER BY number DESC LIMIT 1), '')
          IN ('processed', 'superseded') AS done
      ) AS last
    ORDER BY events.seq`);
  return rows.map((row) => ({
    seq: Number(row.seq),
    endpoint: row.endpoint,
    id: row.id,
    state: row.state,
    deadReason: row.dead_reason,
    entity: row.entity,
    createdMs: row.created_ms === null ? null : Number(row.created_ms),
    body: row.body,
    leased: row.lease_until_ms !== null,
    work: row.fence === null ? null : workOf(row),
  }));
}

function workOf({ due_ms, failures, crashes, fence, lease_until_ms: until }: Columns): StoredRow['work'] {
  return {
    dueAt: Number(due_ms),
    failures: failures ?? 0,
    crashes: crashes ?? 0,
    fence: Number(fence),
    leaseUntil: until === null ? null : Number(until),
  };
}
