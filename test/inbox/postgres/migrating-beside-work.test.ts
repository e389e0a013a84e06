/** Processes of an older hookbox work on while a newer one migrates: several tables in a transaction, in an order of their own. */
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { migrationScript } from '../../../src/inbox/postgres/opening/migrate.ts';
import { migrations } from '../../../src/inbox/postgres/opening/migrations.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

/** The step before those that are looked at. */
const BEFORE = 10;
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
});

afterAll(() => pool.end());

const WAITS = `
  SELECT 1 FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = $1 AND NOT granted`;

it.each(['events', 'queue', 'attempts', 'bulks'] as const)(
  'while a migration waits for who has %s in use it has no other table, so that nobody waits in a circle',
  async (name) => {
    const schema = schemaName();
    onTestFinished(() => dropSchema(pool, schema));
    const tables = tablesIn(schema);
    await pool.query(migrationScript({ schema, tables }, null).split(`-- ${BEFORE + 1}: `)[0] ?? '');
    const worker = await pool.connect();
    onTestFinished(() => worker.release(true));
    await worker.query(`BEGIN; LOCK TABLE ${tables[name]} IN ROW EXCLUSIVE MODE`);

    await using inbox = postgresInbox(url, { schema });
    const opened = inbox.list();
    await vi.waitFor(async () => expect((await pool.query(WAITS, [schema])).rowCount).toBe(1));
    const others = ['events', 'queue', 'attempts', 'shelf', 'bulks'] as const;
    for (const other of others) await worker.query(`LOCK TABLE ${tables[other]} IN ROW EXCLUSIVE MODE NOWAIT`);
    await worker.query('COMMIT');

    expect(await opened).toEqual([]);
    const { rows } = await pool.query<{ version: number }>(`SELECT version FROM ${tables.migrations} ORDER BY version`);
    expect(rows.map(({ version }) => version)).toEqual(migrations.map(({ version }) => version));
  },
);
