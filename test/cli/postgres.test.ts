import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { judgeApart, judgeServer } from '../../src/cli/doctor/postgres-check.ts';
import { judgeRights, type Rights } from '../../src/cli/doctor/postgres-rights.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { quoted, tableNames } from '../../src/inbox/postgres/sql/tables.ts';
import { buildEvent, deliverTo } from '../../src/testing/index.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName } from '../helpers/postgres.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, runProcess, SECRET, type Ran } from './run-hookbox.ts';
import { serving } from './serving.ts';
import { stockedInbox } from './stocked-inbox.ts';

const PASSWORD = 'a-password-of-the-merchant';
/** The page is JSX, which Node does not run from its source. */
const fromSource = process.env['HOOKBOX_FROM_SOURCE'] === '1';

let url: string;
let shown: string;
let pool: Pool;
let schema: string;
let cwd: string;
beforeAll(async () => {
  const base = new URL(await postgresUrl());
  shown = `postgres://${base.host}${base.pathname}`;
  base.password = PASSWORD;
  url = base.href;
  pool = new Pool({ connectionString: url });
});
afterAll(() => pool.end());
beforeEach(() => {
  schema = scratchSchema();
  cwd = scratchFolder();
});

function scratchSchema(): string {
  const made = schemaName();
  onTestFinished(() => dropSchema(pool, made));
  return made;
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

function urlOf(role: string): string {
  const changed = new URL(url);
  changed.username = role;
  return changed.href;
}

/** A command on the inbox of the test. */
function hookbox(args: readonly string[], HOOKBOX_DB = url): Promise<Ran> {
  return runHookbox([...args, '--schema', schema], { cwd, env: { HOOKBOX_DB } });
}

async function madeInbox(): Promise<void> {
  await using inbox = postgresInbox<PoolClient>(url, { schema });
  await inbox.accept(incoming({ body: JSON.stringify(buildEvent('order.created', { id: 'evt_1' })) }), later());
}

async function schemas(): Promise<number> {
  return (await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rowCount ?? 0;
}

interface Watched extends Ran {
  readonly loaded: readonly string[];
}

/** BackendKeyData tells the number of a connection. */
const KEY_DATA = Buffer.from('K\0\0\0\u000c', 'latin1');

function renumbered(answer: Buffer): Buffer {
  const at = answer.indexOf(KEY_DATA);
  if (at !== -1) answer.writeUInt32BE(4_242_424, at + KEY_DATA.byteLength);
  return answer;
}

/** Verbs that only make sense where there is an inbox. */
const READING = [
  ['events', 'list'],
  ['events', 'show', 'evt_1'],
  ['events', 'tail'],
  ['events', 'stats'],
  ['events', 'rejected'],
  ['events', 'audit'],
  ['events', 'bulks'],
  ['events', 'export'],
  ['events', 'rerun', 'evt_1'],
  ['events', 'discard', 'evt_1'],
  ['events', 'prune', '--older-than', '1d', '--dry-run'],
  ['events', 'erase', 'ord_1', '--dry-run'],
  ['replay', '--all', '--dry-run'],
  ['fixtures', 'capture', 'evt_1'],
] as const;

describe('where there is no inbox in Postgres', () => {
  it.each(READING.map((args) => [args.join(' '), args] as const))(
    '%s makes none, and names the schema',
    async (_, args) => {
      const ran = await hookbox(args);
      expect(ran).toEqual({
        code: 4,
        stdout: '',
        stderr: `error: There is no inbox of hookbox in the schema ${schema} of ${shown}. Say with --db and --schema where it is; hookbox migrate makes one.\n`,
      });
      expect(await schemas()).toBe(0);
    },
  );

  it('neither does the page, nor a dry run of an import', async () => {
    writeFileSync(join(cwd, 'export.ndjson'), '');
    const dry = await hookbox(['events', 'import', 'export.ndjson', '--dry-run']);
    expect(dry).toMatchObject({ code: 4, stderr: expect.stringContaining(`in the schema ${schema} of`) });
    if (!fromSource) {
      const page = await hookbox(['ui', '--port', '0']);
      expect(page).toMatchObject({ code: 4, stderr: expect.stringContaining(`in the schema ${schema} of`) });
    }
    expect(await schemas()).toBe(0);
    expect(readdirSync(cwd)).toEqual(['export.ndjson']);
  });
});

describe('the password of a URL', () => {
  it.each([
    [
      'nobody listens',
      () => `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`,
      1,
      'cannot be used: the connection to Postgres',
    ],
    ['the database is not there', () => url.replace(/\/postgres$/, '/nowhere'), 1, 'database "nowhere" does not exist'],
    ['a character of it is not escaped', () => `postgres://ada:1/${PASSWORD}@127.0.0.1:1/shop`, 1, 'cannot be used'],
    [
      'it is of another kind',
      () => `mysql://ada:${PASSWORD}@127.0.0.1/shop`,
      2,
      'begins with postgres:// or postgresql://',
    ],
    [
      'it is in capitals',
      () => `POSTGRES://ada:${PASSWORD}@127.0.0.1/shop`,
      2,
      'begins with postgres:// or postgresql://',
    ],
  ])('is not printed where %s', async (_, made, code, message) => {
    const ran = await Promise.all(
      [
        ['events', 'list', '--json'],
        ['migrate', '--json'],
        ['doctor', '--port', '0', '--json'],
        ['events', 'import', '-'],
      ].map((args) => hookbox(args, made())),
    );
    for (const { stdout, stderr } of ran) expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
    expect(ran[0]).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(ran.map((each) => each.code)).toEqual([code, code, code, code]);
  });

  it('is not printed where it is wrong', async () => {
    await pool.query(`CREATE ROLE guarded LOGIN PASSWORD 'another'`);
    onTestFinished(async () => {
      await pool.query('DROP ROLE guarded');
    });
    const ran = await hookbox(['events', 'list'], urlOf('guarded'));
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('Look at the role and the password') });
    expect(ran.stderr).not.toContain(PASSWORD);
  });
});

describe('which inbox is meant', () => {
  it('is what --db says, or else HOOKBOX_DB, or else a file of this folder', async () => {
    await madeInbox();
    expect((await hookbox(['fixtures', 'capture', 'evt_1'])).stdout).toContain('"id":"evt_1"');
    const byOption = await hookbox(['fixtures', 'capture', 'evt_1', '--db', url], 'nothing.db');
    expect(byOption).toMatchObject({ code: 0, stdout: expect.stringContaining('"id":"evt_1"') });
    const file = await runHookbox(['fixtures', 'capture', 'evt_1'], { cwd, env: { HOOKBOX_DB: 'shop.db' } });
    expect(file).toMatchObject({
      code: 4,
      stderr: 'error: There is no file shop.db. Say with --db where the inbox is.\n',
    });
    const usual = await runHookbox(['fixtures', 'capture', 'evt_1'], { cwd });
    expect(usual.stderr).toContain('There is no file hookbox.db.');
  });

  it('is no file with a schema', async () => {
    const ran = await runHookbox(['events', 'list', '--schema', 'shop'], { cwd });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--schema is for an inbox in Postgres') });
  });
});

describe('what a command loads', () => {
  /** Which files of packages and of hookbox it loads, in a process of its own. */
  async function watched(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Watched> {
    const into = join(cwd, 'loaded');
    const hooks = new URL('watched-modules.ts', import.meta.url).href;
    const ran = await runProcess(args, { cwd, env: { NODE_OPTIONS: `--import ${hooks}`, WATCHED_INTO: into, ...env } });
    return { ...ran, loaded: readFileSync(into, 'utf8').split('\n') };
  }

  it('is nothing of Postgres for an inbox in a file, and no SQLite for one in Postgres', async () => {
    await stockedInbox(join(cwd, 'hookbox.db'));
    await madeInbox();
    const onFile = await watched(['fixtures', 'capture', 'evt_done']);
    expect(onFile.code).toBe(0);
    expect(onFile.loaded.filter((file) => /inbox\/postgres\/|node_modules\/pg/.test(file))).toEqual([]);
    const onServer = await watched(['fixtures', 'capture', 'evt_1', '--schema', schema], { HOOKBOX_DB: url });
    expect(onServer.code).toBe(0);
    expect(onServer.loaded.filter((file) => file.includes('node_modules/pg/'))).not.toEqual([]);
    expect(onServer.loaded.filter((file) => file.includes('node_modules/better-sqlite3'))).toEqual([]);
  });

  it('is missed with a sentence that says what to install', async () => {
    const without = { HOOKBOX_DB: url, WITHOUT_PACKAGE: 'pg' };
    const missing = await watched(['events', 'list'], without);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('Run: npm install pg') });
    const doctor = await watched(['doctor', '--port', '0'], without);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('npm install pg') });
    expect((await watched(['migrate', '--print'], { WITHOUT_PACKAGE: 'pg' })).code).toBe(0);
  });
});

describe('hookbox serve on Postgres', () => {
  it('makes the inbox, stores, and runs handlers whose effects are in one transaction with their events', async () => {
    await pool.query(`CREATE SCHEMA ${quoted(schema)}; CREATE TABLE ${quoted(schema)}.orders (id text)`);
    writeFileSync(
      join(cwd, 'handlers.mjs'),
      `export default { 'order.created': async (event, ctx) => {
         await ctx.transaction((client) => client.query('INSERT INTO ${quoted(schema)}.orders VALUES ($1)', [event.id]));
       } };`,
    );
    const serve = await serving(['handlers.mjs', '--schema', schema], { cwd, env: { HOOKBOX_DB: url } });
    expect(serve.stderr).toEqual([`hookbox receives at ${serve.url} and stores in ${shown}`]);
    const event = buildEvent('order.created', { id: 'evt_1' });
    expect(await deliverTo(serve.url, event, { secret: SECRET })).toMatchObject({ status: 200 });
    await serve.line('handler processed order.created');
    expect((await serve.stop('SIGTERM')).code).toBe(0);
    expect((await pool.query(`SELECT id FROM ${quoted(schema)}.orders`)).rows).toEqual([{ id: 'evt_1' }]);
    expect(readdirSync(cwd)).toEqual(['handlers.mjs']);

    const replayed = await hookbox(['replay', '--all', '--dry-run', '--json']);
    expect(JSON.parse(replayed.stdout)).toMatchObject({ id: 'evt_1', state: 'processed' });
  });

  it('does not start where there is nobody', async () => {
    const ran = await hookbox(['serve', '--port', '0'], `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('postgres://127.0.0.1:1/shop cannot be used'),
    });
  });
});

describe('hookbox scenario run on Postgres', () => {
  it('looks into the inbox behind --to, and knows which types nobody handles', async () => {
    writeFileSync(join(cwd, 'handlers.mjs'), "export default { 'order.ready': () => {} };");
    const env = { HOOKBOX_DB: url };
    const serve = await serving(['handlers.mjs', '--schema', schema], { cwd, env });
    const scenario = {
      about: 'Two types, one of which the receiver handles.',
      deliveries: [{ type: 'order.ready' }, { type: 'cart.abandoned' }],
      expect: { handled: 'once' },
    };
    writeFileSync(join(cwd, 'scenario.json'), JSON.stringify(scenario));
    const ran = await hookbox(['scenario', 'run', 'scenario.json', '--to', serve.url]);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/evt_\w+ is pending, because no handler takes cart\.abandoned\n/);
    expect(ran.stdout).not.toMatch(/no handler takes order\.ready/);
    await serve.stop('SIGTERM');

    // A receiver of its own has an inbox of its own.
    const own = await runHookbox(['scenario', 'run', 'happy-day'], { cwd, env });
    expect(own.code).toBe(0);
  });
});

it('hookbox events backup says what copies an inbox in Postgres', async () => {
  const ran = await hookbox(['events', 'backup', 'a copy.dump']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(`pg_dump --format=custom --schema=${schema} --file='a copy.dump'\n`);
  expect(readdirSync(cwd)).toEqual([]);
});

describe('hookbox doctor on Postgres', () => {
  interface Report {
    readonly code: number | null;
    readonly find: (check: string) => Finding | undefined;
  }

  async function examine(db = url): Promise<Report> {
    const { code, stdout, stderr } = await hookbox(['doctor', '--port', '0', '--json'], db);
    expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
    const { checks } = JSON.parse(stdout) as { checks: readonly Finding[] };
    return { code, find: (check) => checks.find((one) => one.check === check) };
  }

  it('finds a server well, changes nothing there, and has no word of files', async () => {
    const { code, find } = await examine();
    expect(code).toBe(0);
    expect(find('pg')).toMatchObject({ status: 'ok' });
    expect(find('server')?.what).toMatch(new RegExp(`^Postgres \\d+\\.\\d+ at ${shown} answers in [\\d.]+ ms$`));
    expect(find('primary')).toMatchObject({ status: 'ok' });
    expect(find('encoding')).toMatchObject({ status: 'ok', what: 'UTF8' });
    expect(find('durability')).toMatchObject({ status: 'ok', what: 'fsync is on, and synchronous_commit on' });
    expect(find('rights')?.what).toBe(`the role "hookbox" may make the schema ${schema}`);
    expect(find('migrations')?.what).toContain('holds no inbox yet');
    expect(find('server clock')).toMatchObject({ status: 'ok' });
    for (const check of ['folder', 'disk', 'file system', 'better-sqlite3', 'inbox', 'pooler']) {
      expect(find(check)).toBeUndefined();
    }
    expect(await schemas()).toBe(0);

    await madeInbox();
    const made = await examine();
    expect(made.find('rights')?.what).toBe('the role "hookbox" may do what an inbox needs');
    expect(made.find('migrations')?.what).toMatch(new RegExp(`^the schema ${schema} has version \\d+$`));
  });

  it('says what a role is to be granted', async () => {
    const role = await scratchRole();
    const at = (check: string) => async (): Promise<Finding | undefined> => (await examine(urlOf(role))).find(check);
    const rights = at('rights');
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT CREATE ON DATABASE'),
    });
    await madeInbox();
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT USAGE ON SCHEMA'),
    });
    await pool.query(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${role}`);
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT SELECT, INSERT'),
    });
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${role}`);
    expect(await rights()).toMatchObject({ status: 'ok' });
    expect(await at('migrations')()).toMatchObject({ status: 'ok' });
    await pool.query(`DROP TABLE ${quoted(schema)}.audit; DELETE FROM ${quoted(schema)}.migrations WHERE version = 2`);
    expect(await rights()).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('GRANT CREATE ON SCHEMA'),
    });
  });

  it('finds commits that nobody waits for, tables of somebody else, and those of a newer hookbox', async () => {
    const role = await scratchRole('SET synchronous_commit = off');
    await pool.query(`GRANT CREATE ON DATABASE postgres TO ${role}`);
    const lax = await examine(urlOf(role));
    expect(lax.code).toBe(1);
    expect(lax.find('durability')).toMatchObject({
      status: 'problem',
      advice: 'Run: ALTER ROLE … SET synchronous_commit = on',
    });

    await pool.query(`CREATE SCHEMA ${quoted(schema)}; CREATE TABLE ${quoted(schema)}.migrations (id int)`);
    expect((await examine()).find('migrations')).toMatchObject({ status: 'problem', advice: 'Give another --schema.' });
    await dropSchema(pool, schema);
    await madeInbox();
    await pool.query(`INSERT INTO ${quoted(schema)}.migrations (version, name, needs) VALUES (1000, 'next', 1000)`);
    expect((await examine()).find('migrations')).toMatchObject({
      status: 'problem',
      advice: 'Update the package hookbox in this process.',
    });
  });

  it('sees a pooler in between, which has numbers of its own for connections', async () => {
    const { hostname, port } = new URL(url);
    const pooler = createServer((client) => {
      const server = connect(Number(port), hostname);
      for (const socket of [client, server]) socket.on('error', () => {});
      client.pipe(server);
      server.on('data', (answer) => client.write(renumbered(answer))).on('end', () => client.end());
    });
    pooler.listen(0, hostname);
    await once(pooler, 'listening');
    onTestFinished(() => void pooler.close());
    const between = new URL(url);
    between.port = String((pooler.address() as AddressInfo).port); // of a server that listens on TCP
    expect((await examine(between.href)).find('pooler')?.what).toContain('there is one in between, such as PgBouncer');
  });

  it('says that nobody is there', async () => {
    const { code, find } = await examine(`postgres://ada:${PASSWORD}@127.0.0.1:1/shop`);
    expect(code).toBe(1);
    expect(find('server')).toMatchObject({
      status: 'problem',
      what: 'postgres://127.0.0.1:1/shop cannot be used: the connection to Postgres has failed (ECONNREFUSED)',
    });
  });

  it('judges what no server here is', () => {
    const well = {
      version: 180_004,
      encoding: 'UTF8',
      fsync: 'on',
      synchronous_commit: 'on',
      standby: false,
      role: 'a',
    };
    const problems = (server: Partial<typeof well>) =>
      judgeServer({ ...well, ...server }).flatMap(({ check, status }) => (status === 'problem' ? [check] : []));
    expect(problems({})).toEqual([]);
    expect(problems({ version: 130_011, standby: true })).toEqual(['server', 'primary']);
    expect(problems({ encoding: 'LATIN1', fsync: 'off' })).toEqual(['encoding', 'durability']);
    expect(judgeServer({ ...well, synchronous_commit: 'off', fsync: 'off' })).toHaveLength(4);
  });

  it('judges clocks that are apart', () => {
    expect(judgeApart(3)).toMatchObject({ status: 'ok', what: expect.stringContaining('3 ms ahead of this machine') });
    expect(judgeApart(-7_250)).toMatchObject({ status: 'warning', what: expect.stringContaining('7.3 s behind this') });
  });

  it('wants of a role no more than an inbox needs', () => {
    const rights: Rights = {
      role: 'shop',
      there: true,
      makesSchemas: false,
      uses: true,
      makesTables: false,
      tables: tableNames.length,
      closed: [],
    };
    expect(judgeRights(rights, 'hookbox')).toMatchObject({ status: 'ok' });
    expect(judgeRights({ ...rights, closed: ['queue'] }, 'hookbox')).toMatchObject({ status: 'problem' });
  });
});
