import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { DatabaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { movesOf } from '../../../src/inbox/postgres/moves.ts';
import { tablesIn, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';

interface Source {
  connect(): Promise<PoolClient>;
}

export interface OperatedSchema {
  readonly pool: Pool;
  readonly t: Tables;
  readonly name: string;
  /**
   * An empty one.
   *
   * @param source - another pool than the file's
   */
  readonly open: (source?: Source) => Promise<Inbox<never>>;
  /**
   * Another one, with all that is there.
   *
   * @param time - of the test's own unless given
   */
  readonly join: (source?: Source, time?: DatabaseTime) => Inbox<never>;
  /** What pruning leaves of an event. */
  readonly bury: (id: string) => Promise<void>;
}

/** Inboxes on one schema of a file, with its pool and its tables. */
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
    // What a transaction is given is the pool's connection; none of these tests asks for one.
    const join = (source: Source = there, time: DatabaseTime = SETTINGS.time) =>
      inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema, time }) as Inbox<never>;
    return {
      pool: there,
      t,
      name: schema,
      async open(source) {
        await emptySchema(there, schema);
        const inbox = join(source);
        // Opened by now: a test may make a trigger, with which it would be refused.
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

/** The inbox is closed when the test is over. */
export function closedAfter(inbox: Inbox<never>): Inbox {
  onTestFinished(() => inbox.close());
  return inbox;
}
