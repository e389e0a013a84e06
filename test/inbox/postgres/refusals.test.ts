import { createServer } from 'node:net';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { tablesIn, quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';
import { proxiedPool } from './pools.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
});

afterAll(() => pool.end());

async function ownSchema(): Promise<string> {
  const schema = schemaName();
  await using inbox = postgresInbox({ pool }, { schema });
  await inbox.get(KEY);
  onTestFinished(() => dropSchema(pool, schema));
  return schema;
}

async function refusal(source: string, schema: string): Promise<unknown> {
  await using inbox = postgresInbox(source, { schema, listen: false });
  return inbox.get(KEY).then(
    () => 'it was opened',
    (failure: unknown) => failure,
  );
}

it('a server that asks for a password where none is given', async () => {
  const role = schemaName();
  // The error of `pg` for SCRAM.
  const words = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string';
  await using inbox = postgresInbox({ pool: { connect: () => Promise.reject(new Error(words)) } }, { schema: role });
  await expect(inbox.get(KEY)).rejects.toMatchObject({
    code: 'ACCESS_DENIED',
    message: expect.stringMatching(/requires a password, but the URL or pool has none.*Check the role and password/),
  });
});

it.each([
  ['XX000', 'Tenant or user not found'],
  ['58000', 'server login has been failing, try again later'],
  ['54000', 'too many clients'],
  ['XX001', 'no such database: shop'],
])('a pooler that refuses the login with %s: it is told what the pooler says', async (code, words) => {
  const connect = () => Promise.reject(Object.assign(new Error(words), { code }));
  await using inbox = postgresInbox({ pool: { connect } }, { schema: schemaName() });
  await expect(inbox.get(KEY)).rejects.toMatchObject({
    message: expect.stringContaining(`Postgres: ${words} (${code})`),
  });
});

it('what a server says of a query by such a code is not told: it may quote a value', async () => {
  const schema = await ownSchema();
  const spoiled = proxiedPool(pool, (client) => ({
    async query(asked) {
      if (!asked.text.includes(`INSERT INTO ${tablesIn(schema).events}`)) return client.query(asked);
      throw Object.assign(new Error('could not read "a body"'), { code: 'XX001' });
    },
  }));
  await using inbox = postgresInbox({ pool: spoiled }, { schema });
  await expect(inbox.accept(incoming(), later())).rejects.toMatchObject({
    message: 'Postgres rejected the statement (XX001)',
  });
});

it('a right that is missing, on a server that speaks German', async () => {
  const role = schemaName();
  await pool.query(`CREATE ROLE ${role} LOGIN`);
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const own = new URL(url);
  own.username = role;
  const theirs = new Pool({ connectionString: own.href });
  onTestFinished(() => theirs.end());
  const german = proxiedPool(theirs, (client) => ({
    query: (asked) =>
      client.query(asked).catch((failure: Error) => {
        throw Object.assign(failure, { message: 'keine Berechtigung' });
      }),
  }));
  const denied = async (schema: string): Promise<unknown> => {
    await using inbox = postgresInbox({ pool: german }, { schema });
    return inbox.get(KEY).catch((failure: unknown) => failure);
  };
  expect(await denied(schemaName())).toMatchObject({
    code: 'ACCESS_DENIED',
    message: expect.stringMatching(/keine Berechtigung \(42501\)\..*GRANT CREATE ON DATABASE "\w+" TO/),
  });
  const schema = await ownSchema();
  expect(await denied(schema)).toMatchObject({ message: expect.stringContaining(`GRANT USAGE ON SCHEMA "${schema}"`) });
  await pool.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role}`);
  expect(await denied(schema)).toMatchObject({
    message: expect.stringContaining('GRANT SELECT, INSERT, UPDATE, DELETE'),
  });
});

it('a server that does not speak TLS', async () => {
  const server = createServer((socket) => socket.on('data', () => socket.write('N')).on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const source = `postgres://hookbox:a-secret@127.0.0.1:${port}/postgres?sslmode=no-verify`;
  const failure = await refusal(source, schemaName());
  expect(failure).toMatchObject({
    message: expect.stringMatching(/requires TLS, but the server has TLS turned off.*sslmode/),
  });
  expect(String(failure)).not.toContain('a-secret');
});

it('tables whose rows are hidden by row-level security, so that nothing would ever be claimed', async () => {
  const schema = await ownSchema();
  const { queue } = tablesIn(schema);
  const role = schemaName();
  await pool.query(
    `CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role};
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${role};
     ALTER TABLE ${queue} ENABLE ROW LEVEL SECURITY`,
  );
  onTestFinished(async () => {
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const theirs = new URL(url);
  theirs.username = role;
  expect(await refusal(theirs.href, schema)).toMatchObject({
    code: 'ACCESS_DENIED',
    message: expect.stringMatching(/Row-level security.*DISABLE ROW LEVEL SECURITY/),
  });
  // Owners, and roles with a policy for every row, see all rows.
  expect(await refusal(url, schema)).toBe('it was opened');
  for (const [policy, outcome] of [
    ['FOR SELECT USING (true)', /Row-level security/],
    ["USING (endpoint = 'shop') WITH CHECK (true)", /Row-level security/],
    ["USING (true) WITH CHECK (current_setting('app.tenant', true) = endpoint)", /Row-level security/],
    ['TO pg_monitor USING (true)', /Row-level security/],
    ['USING (true) WITH CHECK (true)', 'it was opened'],
    ['USING (true)', 'it was opened'],
  ] as const) {
    await pool.query(`CREATE POLICY one ON ${queue} ${policy}`);
    const found = await refusal(theirs.href, schema);
    expect([policy, typeof outcome === 'string' ? found : String(found)]).toEqual([
      policy,
      typeof outcome === 'string' ? outcome : expect.stringMatching(outcome),
    ]);
    await pool.query(`DROP POLICY one ON ${queue}`);
  }
  await pool.query(
    `CREATE POLICY one ON ${queue} USING (true); CREATE POLICY two ON ${queue} AS RESTRICTIVE USING (seq > 5)`,
  );
  expect(await refusal(theirs.href, schema)).toMatchObject({ code: 'ACCESS_DENIED' });
});

const SWALLOW = 'CREATE FUNCTION $schema.swallow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$';

it.each([
  ['a table that a crash empties', 'ALTER TABLE $t SET UNLOGGED', 'NOT_DURABLE', /UNLOGGED.*SET LOGGED/],
  [
    'a trigger that may keep rows from being written',
    `${SWALLOW}; CREATE TRIGGER one BEFORE INSERT ON $t FOR EACH ROW EXECUTE FUNCTION $schema.swallow()`,
    'CANNOT_OPEN',
    /trigger "one".*DROP TRIGGER "one" ON/,
  ],
  ['a rule', 'CREATE RULE one AS ON INSERT TO $t DO INSTEAD NOTHING', 'CANNOT_OPEN', /rule "one".*DROP RULE "one" ON/],
  ['locks that are gone', 'DELETE FROM $schema.slots WHERE slot = 7', 'CANNOT_OPEN', /slots.*generate_series/],
  ['a clock that is gone', 'DELETE FROM $schema.clock', 'CANNOT_OPEN', /clock.*INSERT INTO/],
  ['progress that is gone', 'DELETE FROM $schema.progress', 'CANNOT_OPEN', /progress.*INSERT INTO/],
])('%s, until the line that it says was run', async (_, spoil, code, message) => {
  const schema = await ownSchema();
  await pool.query(spoil.replaceAll('$t', () => tablesIn(schema).queue).replaceAll('$schema', () => quoted(schema)));
  const refused = await refusal(url, schema);
  expect(refused).toMatchObject({ code, message: expect.stringMatching(message) });
  await pool.query(/Run: (.*?)\.(?: If loss|$)/.exec(String(refused))?.[1] ?? '');
  expect(await refusal(url, schema)).toBe('it was opened');
});

it.each([
  [
    'a trigger that is switched off',
    `CREATE TRIGGER one BEFORE INSERT ON $t FOR EACH ROW EXECUTE FUNCTION $schema.swallow(); ALTER TABLE $t DISABLE TRIGGER one`,
  ],
  [
    'a trigger that runs once rows are written',
    'CREATE TRIGGER one AFTER INSERT ON $t FOR EACH ROW EXECUTE FUNCTION $schema.swallow()',
  ],
])('%s is left alone', async (_, spoil) => {
  const schema = await ownSchema();
  const text = `${SWALLOW}; ${spoil}`;
  await pool.query(text.replaceAll('$t', () => tablesIn(schema).queue).replaceAll('$schema', () => quoted(schema)));
  expect(await refusal(url, schema)).toBe('it was opened');
});
