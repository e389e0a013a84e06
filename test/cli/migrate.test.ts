import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { migrations } from '../../src/inbox/postgres/opening/schema.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../src/inbox/postgres/sql/tables.ts';
import { dropSchema, postgresUrl, schemaName } from '../helpers/postgres.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';

let url: string;
let pool: Pool;
beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
});
afterAll(() => pool.end());

const ALL = migrations.map(({ version, name }) => ({ version, name }));
const NEWEST = ALL.at(-1)?.version;

function scratchSchema(): string {
  const schema = schemaName();
  onTestFinished(() => dropSchema(pool, schema));
  return schema;
}

function migrate(schema: string, ...args: readonly string[]): Promise<Ran> {
  return runHookbox(['migrate', '--schema', schema, ...args], { env: { HOOKBOX_DB: url } });
}

async function isUpToDate(schema: string): Promise<boolean> {
  await using inbox = postgresInbox(url, { schema, migrate: false });
  return inbox.get({ endpoint: 'default', id: 'evt_1' }).then(
    (event) => event === null,
    () => false,
  );
}

function transactionsOf(script: string): readonly string[] {
  return script.split(/(?<=^COMMIT;)\n+/m).filter((part) => part !== '');
}

it('makes the tables of an inbox once, and says what it did', async () => {
  const schema = scratchSchema();
  const first = await migrate(schema, '--json');
  expect(first.code).toBe(0);
  expect(JSON.parse(first.stdout)).toEqual({ schema, version: NEWEST, applied: ALL });
  expect(await isUpToDate(schema)).toBe(true);

  const again = await migrate(schema);
  const where = `The schema ${schema} of postgres://127.0.0.1:${new URL(url).port}/postgres has version ${NEWEST}.`;
  expect(again).toEqual({ code: 0, stdout: '', stderr: `No migrations to apply. ${where}\n` });
});

it('of several at once, none fails and each table is made once', async () => {
  const schema = scratchSchema();
  const ran = await Promise.all(Array.from({ length: 4 }, () => migrate(schema)));
  expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(await isUpToDate(schema)).toBe(true);
});

it('prints the SQL without any server, and what it prints makes the same tables', async () => {
  const [printed, migrated] = [scratchSchema(), scratchSchema()];
  const { code, stdout, stderr } = await runHookbox(['migrate', '--print', '--schema', printed]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(transactionsOf(stdout)).toHaveLength(ALL.length);
  await pool.query(stdout);
  expect(await isUpToDate(printed)).toBe(true);

  await migrate(migrated);
  const [one, other] = await Promise.all([printed, migrated].map(columnsOf));
  expect(one).toEqual(other);
});

it('prints the SQL that a server lacks, and changes nothing there', async () => {
  const schema = scratchSchema();
  const printed = await migrate(schema, '--print');
  expect(await schemas(schema)).toBe(0);
  expect(printed.stdout).toContain(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
  await pool.query(printed.stdout);
  expect(await isUpToDate(schema)).toBe(true);
  expect(await migrate(schema, '--print')).toEqual({
    code: 0,
    stdout: '',
    stderr: '-- No migrations to apply.\n',
  });
});

it('is what other commands ask for where steps are missing', async () => {
  const schema = scratchSchema();
  await migrate(schema);
  await pool.query(`DELETE FROM ${quoted(schema)}.migrations`);
  const listed = await runHookbox(['events', 'list', '--schema', schema], { env: { HOOKBOX_DB: url } });
  expect(listed).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/lacks migrations that .* Run hookbox migrate first/),
  });
  expect(await isUpToDate(schema)).toBe(false);
});

it('leaves nothing of a step that fails', async () => {
  const schema = scratchSchema();
  await pool.query(`CREATE SCHEMA ${quoted(schema)}; CREATE TABLE ${quoted(schema)}.audit (mine int)`);
  const ran = await migrate(schema);
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('contains tables of another program') });
  const { rows } = await pool.query('SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace', [
    quoted(schema),
  ]);
  expect(rows).toEqual([{ relname: 'audit' }]);
  await pool.query(`DROP TABLE ${quoted(schema)}.audit`);
  expect((await migrate(schema)).code).toBe(0);
  expect(await isUpToDate(schema)).toBe(true);
});

it('leaves a schema alone that a newer hookbox, or somebody else, has made', async () => {
  const [newer, other] = [scratchSchema(), scratchSchema()];
  await migrate(newer);
  await pool.query(`INSERT INTO ${quoted(newer)}.migrations (version, name, needs) VALUES (1000, 'next', 1000)`);
  expect(await migrate(newer)).toMatchObject({ code: 1, stderr: expect.stringContaining('Upgrade hookbox here.') });
  await pool.query(`CREATE SCHEMA ${quoted(other)}; CREATE TABLE ${quoted(other)}.migrations (id int)`);
  const ran = await migrate(other);
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('contains tables of another program') });
});

async function schemas(schema: string): Promise<number> {
  const { rowCount } = await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  return rowCount ?? 0;
}

async function columnsOf(schema: string): Promise<readonly unknown[]> {
  const { rows } = await pool.query<Record<string, string>>(
    `SELECT table_name, column_name, data_type, is_nullable, collation_name, column_default
     FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, 2`,
    [schema],
  );
  const indexes = await pool.query<{ indexdef: string }>(
    'SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY indexname',
    [schema],
  );
  return [...rows, ...indexes.rows.map(({ indexdef }) => indexdef.replaceAll(schema, 'the schema'))];
}
