// @module-tag postgres
/** Processes of the previous version use several tables in a transaction, in any order. */
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { DatabaseFailure } from '../../../src/inbox/postgres/driver/faults.ts';
import { Session } from '../../../src/inbox/postgres/driver/session.ts';
import { migrate } from '../../../src/inbox/postgres/opening/migrate.ts';
import { schema as first, type Migration } from '../../../src/inbox/postgres/opening/schema.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

/** A next version may migrate each table in a step of its own. */
const STEPS: readonly Migration[] = [
  first,
  { version: 2, name: 'imagined', needs: 1, sql: (t) => `ALTER TABLE ${t.events} ADD COLUMN colour text;` },
  { version: 3, name: 'imagined too', needs: 3, sql: (t) => `ALTER TABLE ${t.queue} ADD COLUMN colour text;` },
];
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

it.each(['events', 'queue'] as const)(
  'a migration that waits for %s holds no other table, so no two processes wait for each other; events stay',
  async (name) => {
    const schema = schemaName();
    onTestFinished(() => dropSchema(pool, schema));
    const tables = tablesIn(schema);
    await using inbox = postgresInbox(url, { schema });
    await inbox.accept(orderEvent('evt_1'), later());
    const [worker, migrator] = [await pool.connect(), await pool.connect()];
    onTestFinished(() => [worker, migrator].forEach((client) => client.release(true)));
    await worker.query(`BEGIN; LOCK TABLE ${tables[name]} IN ROW EXCLUSIVE MODE`);

    const session = new Session(migrator, { named: false }, 60_000);
    let attempts = 0;
    const migrated = untilMigrated(() => {
      attempts += 1;
      return migrate(session, { schema, tables }, STEPS);
    });
    await vi.waitFor(async () => expect((await pool.query(WAITS, [schema])).rowCount).toBe(1));
    for (const other of ['events', 'queue', 'attempts', 'shelf', 'bulks'] as const) {
      await worker.query(`LOCK TABLE ${tables[other]} IN ROW EXCLUSIVE MODE NOWAIT`);
    }
    // It releases all tables again and again.
    await expect.poll(() => attempts, { timeout: 15_000 }).toBeGreaterThan(2);
    await worker.query('COMMIT');

    await migrated;
    const { rows } = await pool.query(`SELECT version, needs FROM ${tables.migrations} ORDER BY version`);
    expect(rows.map(({ version, needs }) => [version, needs])).toEqual(STEPS.map((step) => [step.version, step.needs]));
    expect((await pool.query(`SELECT id, colour FROM ${tables.events}`)).rows).toEqual([{ id: 'evt_1', colour: null }]);
    await using old = postgresInbox(url, { schema });
    await expect(old.list()).rejects.toMatchObject({ code: 'NEEDS_NEWER_HOOKBOX' });
  },
);

/** A table in use ends a try after 1.5 s. */
async function untilMigrated(attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await attempt();
    } catch (failure) {
      if (!(failure instanceof DatabaseFailure) || failure.code !== '55P03') throw failure;
    }
  }
}
