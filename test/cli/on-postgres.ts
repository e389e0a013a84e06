import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { buildEvent } from '../../src/testing/index.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../helpers/postgres.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';

/** Stands in every URL that the tests give to a command, and in nothing that it prints. */
export const PASSWORD = 'a-password-of-the-merchant';

/** The server of the run, with a schema that has no inbox yet and a folder of its own for each test. */
export class OnPostgres {
  url = '';
  /** how commands print it */
  shown = '';
  pool = new Pool();
  schema = '';
  cwd = '';

  hookbox(args: readonly string[], HOOKBOX_DB = this.url): Promise<Ran> {
    return runHookbox([...args, '--schema', this.schema], { cwd: this.cwd, env: { HOOKBOX_DB } });
  }

  /** Makes the inbox, with one event in it: `evt_1`. */
  async makeInbox(): Promise<void> {
    await using inbox = postgresInbox(this.url, { schema: this.schema });
    await inbox.accept(incoming({ body: JSON.stringify(buildEvent('order.created', { id: 'evt_1' })) }), later());
  }

  async isSchemaThere(): Promise<boolean> {
    const { rowCount } = await this.pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [this.schema]);
    return rowCount === 1;
  }

  /** A role without rights. */
  async scratchRole(settings = ''): Promise<string> {
    const role = schemaName();
    await this.pool.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    if (settings !== '') await this.pool.query(`ALTER ROLE ${role} ${settings}`);
    onTestFinished(async () => {
      await this.pool.query(`DROP OWNED BY ${role}`);
      await this.pool.query(`DROP ROLE ${role}`);
    });
    return role;
  }

  urlOf(role: string): string {
    const changed = new URL(this.url);
    changed.username = role;
    return changed.href;
  }
}

export function onPostgres(): OnPostgres {
  const there = new OnPostgres();
  beforeAll(async () => {
    const base = new URL(await postgresUrl());
    there.shown = `postgres://${base.host}${base.pathname}`;
    base.password = PASSWORD;
    there.url = base.href;
    there.pool = new Pool({ connectionString: there.url });
  });
  afterAll(() => there.pool.end());
  beforeEach(() => {
    there.schema = schemaName();
    there.cwd = scratchFolder();
    const { schema } = there;
    onTestFinished(() => dropSchema(there.pool, schema));
  });
  return there;
}
