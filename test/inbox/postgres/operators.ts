import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Operations } from '../../../src/inbox/operator/operations.ts';
import type { DatabaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { asUnavailable } from '../../../src/inbox/postgres/driver/faults.ts';
import { inboxOnPostgres, storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { movesOf } from '../../../src/inbox/postgres/moves.ts';
import type { Access } from '../../../src/inbox/postgres/operator/access.ts';
import { postgresOperations } from '../../../src/inbox/postgres/operator/operations.ts';
import { tablesIn, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';

export interface OperatedSchema {
  readonly pool: Pool;
  readonly t: Tables;
  readonly name: string;
  /**
   * An empty one.
   *
   * @param source - another pool than the file's
   */
  readonly open: (source?: { connect(): Promise<PoolClient> }) => Promise<Inbox<never>>;
  /**
   * Another one, with all that is there.
   *
   * @param time - of the test's own unless given
   */
  readonly join: (source?: { connect(): Promise<PoolClient> }, time?: DatabaseTime) => Inbox<never>;
  /** What pruning leaves of an event. */
  readonly bury: (id: string) => Promise<void>;
}

/**
 * Inboxes on one schema of a file, with as much of what operators do as there is on Postgres. It is no part of the inbox itself
 * until all of it is there.
 */
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
    return {
      pool: there,
      t: tablesIn(schema),
      name: schema,
      async open(source = there) {
        await emptySchema(there, schema);
        return operated({ pool: source }, schema);
      },
      join: (source = there, time) => operated({ pool: source }, schema, time),
      async bury(id) {
        const t = tablesIn(schema);
        const { rows } = await there.query<{ seq: string }>(`SELECT seq FROM ${t.events} WHERE id = $1`, [id]);
        await there.query(movesOf(t).prune, [rows[0]?.seq, Buffer.from([0])]);
      },
    };
  };
}

/** The inbox is closed when the test is over. */
export function closedAfter(inbox: Inbox<never>): Inbox {
  onTestFinished(() => inbox.close());
  return inbox;
}

function operated(
  source: { readonly pool: { connect(): Promise<PoolClient> } },
  schema: string,
  time: DatabaseTime = SETTINGS.time,
): Inbox<never> {
  const settings = { ...SETTINGS, schema, time };
  const inbox = inboxOnPostgres<PoolClient>(source, settings);
  const listeners = new Set<() => void>();
  const access: Access = {
    store: storeOn(source, settings),
    ask: (work) =>
      work().catch((failure: unknown) => {
        throw asUnavailable(failure);
      }),
    notify: () => listeners.forEach((listener) => listener()),
  };
  return {
    ...(inbox as Inbox<never>),
    operations: postgresOperations(access) as Operations, // no test of these asks for what is not there yet
    onPending(listener) {
      listeners.add(listener);
      return inbox.onPending(listener);
    },
  };
}
