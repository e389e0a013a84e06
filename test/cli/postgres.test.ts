// @module-tag postgres
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../src/inbox/postgres/sql/tables.ts';
import { buildEvent, deliverTo } from '../../src/testing/index.ts';
import { onPostgres, PASSWORD } from './on-postgres.ts';
import { runHookbox, runProcess, SECRET, type Ran } from './run-hookbox.ts';
import { serving } from './serving.ts';
import { stockedInbox } from './stocked-inbox.ts';

/** The page is JSX, which Node does not run from its source. */
const fromSource = process.env['HOOKBOX_FROM_SOURCE'] === '1';

const there = onPostgres();

interface Watched extends Ran {
  readonly loaded: readonly string[];
}

/** Verbs that only make sense where there is an inbox. */
const READING = [
  'events list',
  'events show evt_1',
  'events tail',
  'events stats',
  'events rejected',
  'events audit',
  'events bulks',
  'events export',
  'events rerun evt_1',
  'events discard evt_1',
  'events prune --older-than 1d --dry-run',
  'events erase ord_1 --dry-run',
  'replay --all --dry-run',
  'fixtures capture evt_1',
];

describe('where there is no inbox in Postgres', () => {
  it.each(READING)('%s makes none, and names the schema', async (line) => {
    const ran = await there.hookbox(line.split(' '));
    expect(ran).toEqual({
      code: 4,
      stdout: '',
      stderr: `error: No hookbox inbox exists in the schema ${there.schema} of ${there.shown}. Check --db and --schema, or create one with hookbox migrate.\n`,
    });
    expect(await there.isSchemaThere()).toBe(false);
  });

  it('neither does the page, nor a dry run of an import', async () => {
    writeFileSync(join(there.cwd, 'export.ndjson'), '');
    const dry = await there.hookbox(['events', 'import', 'export.ndjson', '--dry-run']);
    expect(dry).toMatchObject({ code: 4, stderr: expect.stringContaining(`in the schema ${there.schema} of`) });
    if (!fromSource) {
      const page = await there.hookbox(['ui', '--port', '0']);
      expect(page).toMatchObject({ code: 4, stderr: expect.stringContaining(`in the schema ${there.schema} of`) });
    }
    expect(await there.isSchemaThere()).toBe(false);
    expect(readdirSync(there.cwd)).toEqual(['export.ndjson']);
  });
});

describe('the password of a URL', () => {
  it.each([
    ['nobody listens', () => `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`, 1, ': the connection to Postgres'],
    [
      'the database is not there',
      () => there.url.replace(/\/postgres$/, '/nowhere'),
      1,
      'database "nowhere" does not exist',
    ],
    [
      'a character of it is not escaped',
      () => `postgres://ada:1/${PASSWORD}@127.0.0.1:1/shop`,
      1,
      'hookbox cannot use',
    ],
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
      ].map((args) => there.hookbox(args, made())),
    );
    for (const { stdout, stderr } of ran) expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
    expect(ran[0]).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(ran.map((each) => each.code)).toEqual([code, code, code, code]);
  });

  it('is not printed where it is wrong', async () => {
    // Of whom a password is asked, there or not.
    const ran = await there.hookbox(['events', 'list'], there.urlOf('guarded'));
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Check the role and password of the connection.'),
    });
    expect(ran.stderr).not.toContain(PASSWORD);
  });
});

/** What a URL looks like in a hurry: whole, of another tool, quoted in a file of variables, with a space, as parameters. */
const HURRIED = [
  `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`,
  `jdbc:postgresql://ada:${PASSWORD}@127.0.0.1:1/shop`,
  `"postgres://ada:${PASSWORD}@127.0.0.1:1/shop"`,
  `postgres://ada:one ${PASSWORD}@127.0.0.1:1/shop`,
  `jdbc:postgresql://127.0.0.1:1/shop?user=ada&password=${PASSWORD}`,
];
/** Where a URL may end up that was meant for HOOKBOX_DB. */
const MISPLACED = [
  'events import URL --db shop.db',
  'events export --db shop.db --out URL',
  'events backup URL --db shop.db',
  'events show URL --db shop.db',
  'events list URL',
  'events URL',
  'URL',
  'events list --schema URL',
  'fixtures capture evt_dead_1 --db shop.db --out URL',
  'migrate URL',
  'migrate --schema URL --db URL',
  'replay URL --db shop.db --dry-run',
  'replay --all --to URL --db shop.db',
  'sandbox --db URL --port 0',
  'sandbox --to URL --port 0',
  'scenario run URL',
  'serve URL --db shop.db --port 0',
  'sign URL',
  'trigger URL',
  'trigger order.created --secret-file URL',
  'check URL',
  'verify URL --signature 00',
  'doctor --port 0 --db URL',
];

describe('a URL in a wrong place is not repeated', () => {
  it.each(MISPLACED)('hookbox %s', async (line) => {
    await stockedInbox(join(there.cwd, 'shop.db'));
    for (const url of HURRIED) {
      const given = line.split(' ').map((arg) => (arg === 'URL' ? url : arg));
      const { code, stdout, stderr } = await runHookbox(given, { cwd: there.cwd });
      expect.soft(code, url).not.toBe(0);
      expect.soft(`${stdout}${stderr}`, url).not.toMatch(new RegExp(`${PASSWORD}|ada\\b`));
      expect.soft(stderr, url).not.toBe('');
    }
  });

  it.each(['jdbc:', '"', 'DATABASE_URL='])('nor is HOOKBOX_DB, where it begins with %s', async (before) => {
    const HOOKBOX_DB = `${before}postgresql://ada:${PASSWORD}@127.0.0.1:1/shop`;
    for (const args of [['events', 'list'], ['migrate'], ['doctor', '--port', '0', '--json'], ['ui', '--port', '0']]) {
      if (fromSource && args[0] === 'ui') continue;
      const ran = await runHookbox(args, { cwd: there.cwd, env: { HOOKBOX_DB } });
      expect(ran).toEqual({
        code: 2,
        stdout: '',
        stderr: 'error: --db must be the path of a file, or a URL that begins with postgres:// or postgresql://.\n',
      });
    }
    expect(readdirSync(there.cwd)).toEqual([]);
  });
});

it('what was not stored is laid to Postgres, and not to a disk', async () => {
  {
    await using inbox = postgresInbox(there.url, { schema: there.schema });
    const refused = { endpoint: 'default', reason: 'inbox-failing', bytes: null, sha256: null, source: null };
    await inbox.operations?.noteRejected([{ ...refused, count: 3, at: Date.now() }]);
  }
  const { code, stdout, stderr } = await there.hookbox(['events', 'rejected']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('inbox-failing') });
  expect(stderr).toContain('Postgres was unreachable, full or read-only');
  expect(stderr).not.toMatch(/disk|file/);
});

describe('which inbox is meant', () => {
  it('is what --db says, or else HOOKBOX_DB, or else a file of this folder', async () => {
    await there.makeInbox();
    expect((await there.hookbox(['fixtures', 'capture', 'evt_1'])).stdout).toContain('"id":"evt_1"');
    const byOption = await there.hookbox(['fixtures', 'capture', 'evt_1', '--db', there.url], 'nothing.db');
    expect(byOption).toMatchObject({ code: 0, stdout: expect.stringContaining('"id":"evt_1"') });
    const file = await runHookbox(['fixtures', 'capture', 'evt_1'], { cwd: there.cwd, env: { HOOKBOX_DB: 'shop.db' } });
    expect(file).toMatchObject({
      code: 4,
      stderr: 'error: The file shop.db does not exist. Pass the path of the inbox with --db.\n',
    });
    const usual = await runHookbox(['fixtures', 'capture', 'evt_1'], { cwd: there.cwd });
    expect(usual.stderr).toContain('The file hookbox.db does not exist.');
  });

  it('is no file with a schema', async () => {
    const ran = await runHookbox(['events', 'list', '--schema', 'shop'], { cwd: there.cwd });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--schema needs an inbox in Postgres') });
  });
});

describe('what a command loads', () => {
  /** Which files of packages and of hookbox it loads, in a process of its own. */
  async function watched(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Watched> {
    const into = join(there.cwd, 'loaded');
    const hooks = new URL('watched-modules.ts', import.meta.url).href;
    const ran = await runProcess(args, {
      cwd: there.cwd,
      env: { NODE_OPTIONS: `--import ${hooks}`, WATCHED_INTO: into, ...env },
    });
    return { ...ran, loaded: readFileSync(into, 'utf8').split('\n') };
  }

  it('is nothing of Postgres for an inbox in a file, and no SQLite for one in Postgres', async () => {
    await stockedInbox(join(there.cwd, 'hookbox.db'));
    await there.makeInbox();
    const onFile = await watched(['fixtures', 'capture', 'evt_done']);
    expect(onFile.code).toBe(0);
    expect(onFile.loaded.filter((file) => /inbox\/postgres\/|node_modules\/pg/.test(file))).toEqual([]);
    const onServer = await watched(['fixtures', 'capture', 'evt_1', '--schema', there.schema], {
      HOOKBOX_DB: there.url,
    });
    expect(onServer.code).toBe(0);
    expect(onServer.loaded.filter((file) => file.includes('node_modules/pg/'))).not.toEqual([]);
    expect(onServer.loaded.filter((file) => file.includes('node_modules/better-sqlite3'))).toEqual([]);
  });

  it('is missed with a sentence that says what to install', async () => {
    const without = { HOOKBOX_DB: there.url, WITHOUT_PACKAGE: 'pg' };
    const missing = await watched(['events', 'list'], without);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('Run: npm install pg') });
    const doctor = await watched(['doctor', '--port', '0'], without);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('npm install pg') });
    expect((await watched(['migrate', '--print'], { WITHOUT_PACKAGE: 'pg' })).code).toBe(0);
  });
});

describe('hookbox serve on Postgres', () => {
  it('makes the inbox, stores, and runs handlers whose effects are in one transaction with their events', async () => {
    await there.pool.query(
      `CREATE SCHEMA ${quoted(there.schema)}; CREATE TABLE ${quoted(there.schema)}.orders (id text)`,
    );
    writeFileSync(
      join(there.cwd, 'handlers.mjs'),
      `export default { 'order.created': async (event, ctx) => {
         await ctx.transaction((client) => client.query('INSERT INTO ${quoted(there.schema)}.orders VALUES ($1)', [event.id]));
       } };`,
    );
    const serve = await serving(['handlers.mjs', '--schema', there.schema], {
      cwd: there.cwd,
      env: { HOOKBOX_DB: there.url },
    });
    expect(serve.stderr).toEqual([`hookbox receives deliveries at ${serve.url} and stores them in ${there.shown}`]);
    const event = buildEvent('order.created', { id: 'evt_1' });
    expect(await deliverTo(serve.url, event, { secret: SECRET })).toMatchObject({ status: 200 });
    await serve.line('handler processed order.created');
    expect((await serve.stop('SIGTERM')).code).toBe(0);
    expect((await there.pool.query(`SELECT id FROM ${quoted(there.schema)}.orders`)).rows).toEqual([{ id: 'evt_1' }]);
    expect(readdirSync(there.cwd)).toEqual(['handlers.mjs']);

    const replayed = await there.hookbox(['replay', '--all', '--dry-run', '--json']);
    expect(JSON.parse(replayed.stdout)).toMatchObject({ id: 'evt_1', state: 'processed' });
  });

  it('does not start where there is nobody', async () => {
    const ran = await there.hookbox(['serve', '--port', '0'], `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('hookbox cannot use postgres://127.0.0.1:1/shop'),
    });
  });
});

describe('hookbox scenario run on Postgres', () => {
  it('looks into the inbox behind --to, and knows which types nobody handles', async () => {
    writeFileSync(join(there.cwd, 'handlers.mjs'), "export default { 'order.ready': () => {} };");
    const env = { HOOKBOX_DB: there.url };
    const serve = await serving(['handlers.mjs', '--schema', there.schema], { cwd: there.cwd, env });
    const scenario = {
      about: 'Two types, one of which the receiver handles.',
      deliveries: [{ type: 'order.ready' }, { type: 'cart.abandoned' }],
      expect: { handled: 'once' },
    };
    writeFileSync(join(there.cwd, 'scenario.json'), JSON.stringify(scenario));
    const ran = await there.hookbox(['scenario', 'run', 'scenario.json', '--to', serve.url]);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/evt_\w+ is pending, because no handler handles cart\.abandoned\n/);
    expect(ran.stdout).not.toMatch(/no handler handles order\.ready/);
    await serve.stop('SIGTERM');

    // A receiver of its own has an inbox of its own.
    const own = await runHookbox(['scenario', 'run', 'happy-day'], { cwd: there.cwd, env });
    expect(own.code).toBe(0);
  });
});

it('hookbox events backup says what copies an inbox in Postgres', async () => {
  const ran = await there.hookbox(['events', 'backup', 'a copy.dump']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(`pg_dump --format=custom --schema=${there.schema} --file='a copy.dump'\n`);
  expect(readdirSync(there.cwd)).toEqual([]);
});
