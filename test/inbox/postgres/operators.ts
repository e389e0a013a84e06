import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Operations } from '../../../src/inbox/operator/operations.ts';
import { asUnavailable } from '../../../src/inbox/postgres/driver/faults.ts';
import { inboxOnPostgres, storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import type { Access } from '../../../src/inbox/postgres/operator/access.ts';
import { postgresOperations } from '../../../src/inbox/postgres/operator/operations.ts';
import { tablesIn, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { standInSearch, standInTables } from './stand-in-search.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';

export interface OperatedSchema {
  readonly pool: Pool;
  readonly t: Tables;
  /** @param source - another pool than the file's */
  readonly open: (source?: { connect(): Promise<PoolClient> }) => Promise<Inbox<never>>;
  /** Another one, with all that is there. */
  readonly join: (source?: { connect(): Promise<PoolClient> }) => Inbox<never>;
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
      async open(source = there) {
        await emptySchema(there, schema);
        await there.query(standInTables(tablesIn(schema)));
        return operated({ pool: source }, schema, there);
      },
      join: (source = there) => operated({ pool: source }, schema, there),
    };
  };
}

function operated(
  source: { readonly pool: { connect(): Promise<PoolClient> } },
  schema: string,
  pool: Pool,
): Inbox<never> {
  const inbox = inboxOnPostgres<PoolClient>(source, { ...SETTINGS, schema });
  const search = standInSearch(inbox as Inbox<never>, pool, tablesIn(schema));
  const listeners = new Set<() => void>();
  const access: Access = {
    store: storeOn(source, { ...SETTINGS, schema }),
    ask: (work) =>
      work().catch((failure: unknown) => {
        throw asUnavailable(failure);
      }),
    notify: () => listeners.forEach((listener) => listener()),
  };
  return {
    ...(inbox as Inbox<never>),
    // No test of these asks for what is not there yet.
    operations: { ...search, ...postgresOperations(access, search) } as unknown as Operations,
    onPending(listener) {
      listeners.add(listener);
      return inbox.onPending(listener);
    },
  };
}
