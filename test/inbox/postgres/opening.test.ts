import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigurationError, InboxOpenError, InboxUnavailableError } from '../../../src/errors.ts';
import { postgresInbox, type PostgresInboxOptions } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const PASSWORD = 'a-password-of-the-merchant';
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
});

afterAll(() => pool.end());

/** Also names roles and databases. */
function scratchSchema(): string {
  const schema = schemaName();
  onTestFinished(() => dropSchema(pool, schema));
  return schema;
}

function urlOf(role: string, database?: string): string {
  const changed = new URL(url);
  changed.username = role;
  changed.password = PASSWORD;
  if (database !== undefined) changed.pathname = database;
  return changed.href;
}

async function scratchRole(settings = ''): Promise<string> {
  const role = schemaName();
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  if (settings !== '') await pool.query(`ALTER ROLE ${role} ${settings}`);
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${role}`);
    await pool.query(`DROP ROLE ${role}`);
  });
  return role;
}

async function scratchDatabase(settings = ''): Promise<string> {
  const database = schemaName();
  await pool.query(`CREATE DATABASE ${database} ${settings}`);
  return database;
}

async function refusal(source: string, options: PostgresInboxOptions): Promise<InboxOpenError> {
  await using inbox = postgresInbox(source, options);
  const failure: unknown = await inbox.get(KEY).then(
    () => new Error('it was opened'),
    (thrown: unknown) => thrown,
  );
  // A delivery gets the same message.
  const delivery: unknown = await inbox.accept(incoming(), later()).catch((thrown: unknown) => thrown);
  expect(delivery).toBeInstanceOf(InboxUnavailableError);
  if (!(failure instanceof InboxOpenError)) throw failure;
  expect(String(delivery)).toContain(failure.message);
  expect(`${failure.stack}${JSON.stringify(failure)}${String(delivery)}`).not.toContain(PASSWORD);
  return failure;
}

it('every table has a primary key: in a publication of all tables Postgres refuses changes of one that has none', async () => {
  const schema = scratchSchema();
  await using inbox = postgresInbox(url, { schema });
  await inbox.list();
  const { rows } = await pool.query(
    `SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relkind = 'r' AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)`,
    [schema],
  );
  expect(rows).toEqual([]);
});

describe('an inbox in Postgres', () => {
  it('makes its tables in a schema of its own, and several that start at once make them once', async () => {
    const schema = scratchSchema();
    const inboxes = Array.from({ length: 6 }, () => postgresInbox(url, { schema }));
    expect(await Promise.all(inboxes.map((inbox) => inbox.get(KEY)))).toEqual(inboxes.map(() => null));
    expect(await inboxes[0]?.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    expect(await inboxes[1]?.get(KEY)).toMatchObject({ id: 'evt_1' });
    await Promise.all(inboxes.map((inbox) => inbox.close()));
  });

  it('leaves a pool to whoever has given it, and closes its own', async () => {
    const schema = scratchSchema();
    const inbox = postgresInbox({ pool }, { schema });
    await inbox.get(KEY);
    await inbox.close();
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    const own = postgresInbox(url, { schema });
    await own.get(KEY);
    await own.close();
    const left = "SELECT 1 FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid() AND state <> 'idle'";
    expect((await pool.query(left, [`%${schema}%`])).rows).toEqual([]);
  });

  it('takes its connections one by one where they are opened for it', async () => {
    const schema = scratchSchema();
    let opened = 0;
    const connect = async () => {
      opened += 1;
      return pool.connect();
    };
    await using inbox = postgresInbox({ connect }, { schema });
    expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    expect(opened).toBe(1);
  });

  it('works with a role that has no more than the rights to use it', async () => {
    const schema = scratchSchema();
    const role = await scratchRole();
    await using owner = postgresInbox(url, { schema });
    await owner.get(KEY);
    await pool.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role}`);
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${role}`);
    await using inbox = postgresInbox(urlOf(role), { schema });
    expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    expect(await inbox.list()).toHaveLength(1);
  });

  it("reads columns as it needs them, whatever a merchant's pool makes of them", async () => {
    const schema = scratchSchema();
    const types = { getTypeParser: () => (text: string) => `the merchant's ${text}` };
    const odd = new Pool({ connectionString: url, types });
    onTestFinished(() => odd.end());
    await using inbox = postgresInbox({ pool: odd }, { schema });
    await inbox.accept(incoming({ body: '{"a":1}' }), later());
    const stored = await inbox.get(KEY);
    expect([stored?.seq, stored?.verified, Buffer.from(stored?.body ?? []).toString()]).toEqual([1, true, '{"a":1}']);
  });

  it('opens where a crash may lose events if that is accepted, and still refuses the rest', async () => {
    const schema = scratchSchema();
    const role = await scratchRole('SET synchronous_commit = off');
    await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${role}`);
    {
      await using inbox = postgresInbox(urlOf(role), { schema, ephemeral: true });
      expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    }
    await pool.query(`ALTER TABLE ${quoted(schema)}.queue SET UNLOGGED`);
    await using again = postgresInbox(urlOf(role), { schema, ephemeral: true });
    expect(await again.list()).toHaveLength(1);
    await pool.query(`CREATE RULE one AS ON INSERT TO ${quoted(schema)}.queue DO INSTEAD NOTHING`);
    expect(await refusal(urlOf(role), { schema, ephemeral: true })).toMatchObject({ code: 'CANNOT_OPEN' });
  });

  it('reads bodies from a role that is shown them escaped', async () => {
    const schema = scratchSchema();
    const role = await scratchRole('SET bytea_output = escape');
    await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${role}`);
    await using inbox = postgresInbox(urlOf(role), { schema });
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    await inbox.accept(incoming({ body }), later());
    expect(Buffer.from((await inbox.get(KEY))?.body ?? []).equals(body)).toBe(true);
  });
});

describe('an inbox in Postgres says what to change', () => {
  it('of a password that is wrong', async () => {
    await pool.query(`CREATE ROLE guarded LOGIN PASSWORD 'another'`);
    onTestFinished(() => pool.query('DROP ROLE guarded').then(() => {}));
    expect(await refusal(urlOf('guarded'), {})).toMatchObject({
      code: 'ACCESS_DENIED',
      message: expect.stringMatching(/password authentication failed for user "guarded".*Check the role and password/),
    });
  });

  it('of a database that is not there', async () => {
    expect(await refusal(urlOf('hookbox', 'nowhere'), {})).toMatchObject({
      code: 'CANNOT_OPEN',
      message: expect.stringMatching(/database "nowhere" does not exist.*Create the database/),
    });
  });

  it('of a role that may make nothing, or use nothing', async () => {
    const schema = scratchSchema();
    const role = await scratchRole();
    const message = expect.stringContaining(`GRANT CREATE ON DATABASE "postgres" TO "${role}"`);
    expect(await refusal(urlOf(role), { schema })).toMatchObject({ code: 'ACCESS_DENIED', message });
    await using owner = postgresInbox(url, { schema });
    await owner.get(KEY);
    const use = expect.stringContaining(`GRANT USAGE ON SCHEMA "${schema}" TO "${role}"`);
    expect(await refusal(urlOf(role), { schema })).toMatchObject({ code: 'ACCESS_DENIED', message: use });
  });

  it('of tables that are not there, where it is not to make them', async () => {
    const schema = scratchSchema();
    const advice = expect.stringContaining(`Run hookbox migrate --schema ${schema} when you deploy`);
    expect(await refusal(url, { schema, migrate: false })).toMatchObject({ code: 'SCHEMA_MISSING', message: advice });
    expect((await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rows).toEqual([]);
  });

  it('of commits that nobody waits for', async () => {
    const role = await scratchRole('SET synchronous_commit = off');
    expect(await refusal(urlOf(role), {})).toMatchObject({
      code: 'NOT_DURABLE',
      message: expect.stringMatching(/synchronous_commit = on\. .* set the option ephemeral: true of postgresInbox/),
    });
  });

  it('of an encoding that cannot hold every event', async () => {
    const database = await scratchDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    expect(await refusal(urlOf('hookbox', database), {})).toMatchObject({
      code: 'CANNOT_OPEN',
      message: expect.stringContaining("ENCODING 'UTF8'"),
    });
  });

  it('of a schema that a newer hookbox has written', async () => {
    const schema = scratchSchema();
    await using inbox = postgresInbox(url, { schema });
    await inbox.get(KEY);
    await pool.query(`INSERT INTO ${quoted(schema)}.migrations (version, name, needs) VALUES (1000, 'next', 1000)`);
    expect(await refusal(url, { schema })).toMatchObject({ code: 'NEEDS_NEWER_HOOKBOX' });
  });

  it('of a schema with tables that are somebody else’s', async () => {
    const schema = scratchSchema();
    await pool.query(`CREATE SCHEMA ${quoted(schema)}; CREATE TABLE ${quoted(schema)}.events (id int)`);
    expect(await refusal(url, { schema })).toMatchObject({
      code: 'CANNOT_OPEN',
      message: expect.stringContaining('Set `schema` to another name'),
    });
  });

  it('of options that cannot work, without a word of the URL', () => {
    const failures = [
      () => postgresInbox(`mysql://shop:${PASSWORD}@localhost/shop`),
      () => postgresInbox(undefined as unknown as string),
      () => postgresInbox({} as { pool: Pool }),
      () => postgresInbox(url, { schema: '' }),
      () => postgresInbox(url, { schema: 'a'.repeat(64) }),
      () => postgresInbox(url, { maxWaiting: 0 }),
    ].map((create) => {
      try {
        return create();
      } catch (failure) {
        return failure;
      }
    });
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(String(failure)).not.toContain(PASSWORD);
    }
  });

  it.each([
    ['options beside a pool', () => [{ pool, migrate: false, schema: 'shop' }], 'migrate'],
    ['options beside a function', () => [{ connect: () => pool.connect(), listen: url }], 'listen'],
    ['a wrong word in the second argument', () => [{ pool }, { migrations: false }], 'migrations'],
    ['another wrong word beside a URL', () => [url, { shema: 'shop' }], 'shema'],
  ])('of %s, which would be passed over', (_, given, key) => {
    const create = () => Reflect.apply(postgresInbox, undefined, given());
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(new RegExp(`\`${key}\`.*Pass options as the second argument`));
  });

  it('goes on trying: what was missing may have been mended', async () => {
    const schema = scratchSchema();
    const role = await scratchRole();
    await using inbox = postgresInbox(urlOf(role), { schema });
    await expect(inbox.get(KEY)).rejects.toThrow(/permission denied/);
    await pool.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${role}`);
    expect(await inbox.get(KEY)).toBeNull();
  });
});
