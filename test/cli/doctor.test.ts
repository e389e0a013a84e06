// @module-tag long
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { judgeClock, type Finding, unusable, checkHost, checkNode } from '../../src/cli/doctor/machine-checks.ts';
import { checkVersion, commitTimes, judgeSpace } from '../../src/cli/doctor/sqlite-checks.ts';
import { openFile } from '../../src/inbox/sqlite/opening/open.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { buildEvent, deliverTo, testInbox } from '../../src/testing/index.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, SECRET, startHookbox } from './run-hookbox.ts';

const root = suiteFolder();

let folder: string;
let db: string;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(root, 'one-'));
  db = join(folder, 'shop.db');
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

interface Report {
  readonly code: number | null;
  readonly healthy: boolean;
  readonly stderr: string;
  readonly text: string;
  readonly find: (check: string) => Finding | undefined;
}

async function examine(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Report> {
  const { code, stdout, stderr } = await runHookbox(['doctor', '--db', db, '--port', '0', '--json', ...args], { env });
  const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: readonly Finding[] };
  return { code, healthy, stderr, text: stdout, find: (check) => checks.find((one) => one.check === check) };
}

/** Everything in the folder, byte for byte. */
function contents(): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'hex')]));
}

async function filled(): Promise<ReturnType<typeof sqliteInbox>> {
  const inbox = sqliteInbox(db);
  const receiver = createReceiver({ secret: SECRET, inbox });
  await deliverTo(receiver, buildEvent('order.created'), { secret: SECRET });
  await receiver.close();
  return inbox;
}

function closing<It extends { close(): unknown }>(it: It): Disposable & { readonly it: It } {
  return { it, [Symbol.dispose]: () => void it.close() };
}

describe('hookbox doctor', () => {
  it('finds no problem where there is none, and leaves nothing behind', async () => {
    const report = await examine();
    expect(report).toMatchObject({ code: 0, healthy: true, stderr: '' });
    for (const check of [
      'node',
      'platform',
      'better-sqlite3',
      'temporary files',
      'host',
      'durability',
      'inbox',
      'secret',
      'clock',
      'port',
    ]) {
      expect(report.find(check)).toMatchObject({ status: 'ok', advice: null });
    }
    expect(report.find('file system')?.what).toContain(`${folder} is on `);
    expect(report.find('disk')?.what).toMatch(/^\d+ [GM]B free$/);
    expect(report.find('durability')?.what).toMatch(
      /^WAL and synchronous FULL after a write; a commit takes \d+\.\d\d ms$/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('times commits that write something', () => {
    using database = closing(openFile(db));
    const written = (): number => statSync(`${db}-wal`).size;
    const before = written();
    const times = commitTimes(database.it);
    const pages = times.length * Number(database.it.pragma('page_size', { simple: true }));
    expect(times.length).toBeGreaterThan(2);
    expect(written() - before).toBeGreaterThanOrEqual(pages);
  });

  it('prints a line for each check, and the advice below it', async () => {
    const ran = await runHookbox(['doctor', '--db', db, '--port', '0'], { env: { SIGNING_SECRET: 'short' } });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^0 problems, [12] warnings?\.\n$/) });
    expect(ran.stdout).toMatch(/^ok {7}node {13}Node \d+\.\d+\.\d+\nok {7}platform /);
    expect(ran.stdout).toContain(
      'warning  secret           the secret in SIGNING_SECRET has fewer than 16 characters\n' +
        '                          To do: Compare this secret with the secret in the dashboard.\n',
    );
  });

  it.each([
    ['no file', [], { SIGNING_SECRET: SECRET }],
    ['no secret', [], { SIGNING_SECRET: '' }],
  ])('uses hookbox.db in this folder and makes none, with %s', async (_, args, env) => {
    const { stdout } = await runHookbox(['doctor', '--port', '0', ...args], { cwd: folder, env });
    expect(stdout).toContain('hookbox.db does not exist yet; the receiver creates it when it first starts');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('ends with 130 when it is interrupted, and leaves nothing behind', async () => {
    const watcher = watch(folder);
    ends.push(() => watcher.close());
    const child = startHookbox(['doctor', '--db', db, '--port', '0']);
    const done = once(child, 'close');
    await once(watcher, 'change'); // it writes, and after that it looks at the clock for a while
    child.kill('SIGINT');
    await done;
    expect(child.exitCode).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['a port that is none', ['--port', '70000'], 'Use a whole number from 0 to 65535.'],
    ['a secret as an argument', ['--secret', 'x'], 'unknown option'],
  ])('given %s, prints nothing and exits with 2', async (_, args, message) => {
    const ran = await runHookbox(['doctor', ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
  });
});

describe('the inbox', () => {
  it('is looked at and left as it is', async () => {
    await (await filled()).close();
    const before = contents();
    const { mtimeMs } = statSync(db);
    const report = await examine();
    expect(report.code).toBe(0);
    expect(report.find('inbox')).toMatchObject({ status: 'ok', what: `${db} is in WAL mode` });
    expect(report.find('migrations')).toMatchObject({ status: 'ok' });
    expect(contents()).toEqual(before);
    expect(statSync(db).mtimeMs).toBe(mtimeMs);
  });

  it('is looked at while a receiver has it open', async () => {
    const inbox = await filled();
    ends.push(() => inbox.close());
    const { 'shop.db': file, 'shop.db-wal': log } = contents();
    const report = await examine();
    expect(report).toMatchObject({ code: 0, healthy: true });
    expect(report.find('migrations')).toMatchObject({ status: 'ok' });
    expect(contents()).toMatchObject({ 'shop.db': file, 'shop.db-wal': log });
  });

  it('was written by a newer hookbox', async () => {
    await (await filled()).close();
    const database = new Database(db);
    database.exec("INSERT INTO hookbox_migrations VALUES (99, 'later', 99, 0)");
    database.close();
    const report = await examine();
    expect(report).toMatchObject({ code: 1, healthy: false });
    expect(report.find('migrations')).toMatchObject({
      status: 'problem',
      advice: 'Update this installation of hookbox.',
    });
  });

  it.each([
    [
      'a database of the merchant without an inbox',
      () => new Database(db).exec('CREATE TABLE orders (id)').close(),
      'ok',
      'has no inbox yet',
    ],
    [
      'no database',
      () => writeFileSync(db, 'a text that is long enough to be no header of SQLite '.repeat(20)),
      'problem',
      'file is not a database',
    ],
    ['a folder', () => mkdirSync(db), 'problem', 'is a folder'],
  ])('is %s', async (_, make, status, what) => {
    make();
    const before = statSync(db).isDirectory() ? {} : contents();
    const report = await examine();
    expect(report.code).toBe(status === 'ok' ? 0 : 1);
    expect(report.find('inbox')).toMatchObject({ status, what: expect.stringContaining(what) });
    if (!statSync(db).isDirectory()) expect(contents()).toEqual(before);
  });

  it('is in a folder that is not there', async () => {
    db = join(folder, 'nowhere', 'shop.db');
    const report = await examine();
    expect(report.code).toBe(1);
    expect(report.find('folder')).toMatchObject({
      status: 'problem',
      what: `${join(folder, 'nowhere')} is not a folder`,
      advice: 'Create the folder, or use a different --db.',
    });
    expect(report.find('inbox')).toBeUndefined();
  });

  it('is behind a link: the folder it leads to counts', async () => {
    const real = mkdtempSync(join(root, 'real-'));
    await (await filled()).close();
    const link = join(real, 'link.db');
    symlinkSync(db, link);
    db = link;
    const report = await examine();
    expect(report.find('file system')?.what).toContain(folder);
    expect(readdirSync(real)).toEqual(['link.db']);
  });

  it('would be in memory', async () => {
    db = ':memory:';
    const report = await examine();
    expect(report.code).toBe(1);
    expect(report.find('inbox')).toMatchObject({ status: 'problem' });
  });
});

describe('the secret', () => {
  it.each([
    ['', 'problem', 'SIGNING_SECRET is missing or empty'],
    ['   ', 'problem', 'secret is empty'],
    ['undefined', 'problem', 'so an environment variable is not set'],
    ['null', 'problem', 'so an environment variable is not set'],
    [` ${SECRET}`, 'warning', 'begins or ends with white space'],
    [`${SECRET}\n`, 'warning', 'begins or ends with white space'],
    ['"whsec_0123456789abcdef"', 'warning', 'has quotation marks around it'],
    ['whsec_0123\u200b456789abcdef', 'warning', 'invisible characters'],
    ['whsec_0123é456789abcdef', 'warning', 'non-ASCII'],
    ['${SECRET_OF_THE_SHOP}', 'warning', 'placeholder'],
    ['<your signing secret>', 'warning', 'placeholder'],
    ['<your-signing-secret>', 'warning', 'placeholder'],
    ['s3cret', 'warning', 'fewer than 16 characters'],
    ['whsec_0123456789abcdef', 'ok', 'SIGNING_SECRET is set'],
  ])('%j is a %s', async (secret, status, what) => {
    const report = await examine([], { SIGNING_SECRET: secret });
    expect(report.code).toBe(status === 'problem' ? 1 : 0);
    expect(report.find('secret')).toMatchObject({ status, what: expect.stringContaining(what) });
    if (!['', 'undefined', 'null'].includes(secret.trim())) expect(report.text).not.toContain(secret.trim());
  });

  it('may be in a file, which an editor has ended with a newline', async () => {
    const file = join(root, 'secret.txt');
    writeFileSync(file, 'whsec_0123456789abcdef\n');
    const report = await examine(['--secret-file', file], { SIGNING_SECRET: '' });
    expect(report.find('secret')).toEqual({ check: 'secret', status: 'ok', what: `${file} is set`, advice: null });
    const missing = await examine(['--secret-file', join(root, 'nowhere')]);
    expect(missing.code).toBe(1);
    expect(missing.find('secret')?.what).toContain('hookbox cannot read the file');
  });
});

describe('the port', () => {
  async function listening(server: ReturnType<typeof createServer>): Promise<string> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => server.close());
    return String((server.address() as AddressInfo).port);
  }

  it('is taken by another program', async () => {
    const port = await listening(createServer((_, response) => void response.end('another')));
    const report = await examine(['--port', port]);
    expect(report.code).toBe(1);
    expect(report.find('port')).toMatchObject({ status: 'problem', what: `another program is listening on ${port}` });
  });

  it('is taken by a receiver', async () => {
    const receiver = createReceiver({
      secret: SECRET,
      inbox: testInbox().inbox,
      logger: { info() {}, warn() {}, error() {} },
    });
    const handler = webhookHandler(receiver);
    const port = await listening(createServer((request, response) => void handler(request, response)));
    const report = await examine(['--port', port]);
    expect(report.code).toBe(0);
    expect(report.find('port')).toMatchObject({ status: 'ok', what: `a receiver is already listening on ${port}` });
  });

  it('is free', async () => {
    const server = createServer();
    const port = await listening(server);
    server.close();
    await once(server, 'close');
    const report = await examine(['--port', port]);
    expect(report.find('port')).toMatchObject({ status: 'ok', what: `${port} is free` });
  });
});

describe('a port that needs more rights', () => {
  it('has no program to end', () => {
    const failure = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), { code: 'EACCES' });
    expect(unusable(80, failure)).toMatchObject({
      status: 'problem',
      advice: 'This user cannot listen on ports below 1024. Use a --port above 1023.',
    });
  });
});

describe('the rest', () => {
  it('names a host whose disk does not last', async () => {
    const report = await examine([], { AWS_LAMBDA_FUNCTION_NAME: 'orders' });
    expect(report.code).toBe(1);
    expect(report.find('host')).toMatchObject({ status: 'problem', what: expect.stringContaining('AWS Lambda') });
    expect(checkHost({ DYNO: 'web.1' })).toMatchObject({ status: 'problem' });
    expect(checkHost({})).toMatchObject({ status: 'ok' });
  });

  it('wants a Node that will do', () => {
    expect(checkNode('20.18.0')).toMatchObject({ status: 'problem' });
    expect(checkNode('22.14.0')).toMatchObject({ status: 'ok' });
  });

  it('wants room on the disk', () => {
    expect(judgeSpace(50e9)).toMatchObject({ status: 'ok', what: '50 GB free' });
    expect(judgeSpace(999e6)).toMatchObject({ status: 'warning', what: '999 MB free' });
    expect(judgeSpace(99.9e6)).toMatchObject({
      status: 'problem',
      what: '99 MB free, so hookbox limits the write-ahead log to 24 MB',
    });
  });

  it('takes tables that are older, and none that need a newer hookbox', () => {
    expect(checkVersion({ version: 0, needs: 0 })).toMatchObject({
      status: 'ok',
      what: expect.stringContaining('upgrades the tables'),
    });
    expect(checkVersion({ version: 98, needs: 1 })).toMatchObject({ status: 'ok' });
    expect(checkVersion({ version: 98, needs: 98 })).toMatchObject({ status: 'problem' });
  });

  it('wants a clock that is about right', () => {
    const now = Date.UTC(2026, 0, 1);
    const file = '/shop/hookbox.db';
    expect(judgeClock(now, 3, [{ file, at: now - 1_000 }])).toMatchObject({ status: 'ok' });
    expect(judgeClock(Date.UTC(1970, 0, 1), 0, [])).toMatchObject({ status: 'problem' });
    expect(judgeClock(Date.UTC(2101, 0, 1), 0, [])).toMatchObject({ status: 'problem' });
    expect(judgeClock(now, 0, [{ file, at: now + 3_600_000 }])).toMatchObject({
      status: 'warning',
      what: `the clock shows 2026-01-01T00:00:00.000Z, but ${file} was last modified after that time`,
    });
    expect(judgeClock(now, -4_000, [])).toMatchObject({ status: 'warning' });
  });
});
