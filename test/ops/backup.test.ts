// @module-tag dear
import Database from 'better-sqlite3';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { sqliteInbox as threadedInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { auditLines, backup } from '../../src/ops/index.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { otherBinding, seenByAnotherProcess } from '../helpers/other-sqlite.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';
import { START } from '../helpers/virtual-clock.ts';
import { deliverDuring } from './deliver-during.ts';

const ADA: By = { actor: 'ada', via: 'cli', reason: 'nightly', now: START };

let file: string;
let target: string;
let inbox: Inbox;

beforeEach(() => {
  file = scratchFile();
  target = join(scratchFolder(), 'copy.db');
  inbox = sqliteInbox(file);
  onTestFinished(() => inbox.close());
});

describe('backup', () => {
  it('has every event up to one moment, and deliveries go on while it is made', async () => {
    const body = Buffer.alloc(20_000, 'x');
    await Promise.all(severalIncoming(500, { body }).map((event) => inbox.accept(event, later())));
    const { taken } = await deliverDuring(inbox, backup(inbox, target, ADA), (n) => ({ id: `evt_${500 + n}`, body }));
    expect(taken).toBeGreaterThan(5);

    await using restored = sqliteInbox(target);
    const events = await restored.list({ limit: 501 + taken });
    expect(events.map(({ id }) => id)).toEqual(events.map((_, n) => `evt_${n}`));
    expect(events.length).toBeGreaterThanOrEqual(500);
    expect(events.every((event) => event.body !== null && Buffer.compare(event.body, body) === 0)).toBe(true);
    const more = incoming({ id: 'evt_0', body });
    expect(await restored.accept(more, later())).toMatchObject({ result: 'duplicate', conflict: false });
    expect(await restored.accept(incoming({ id: 'new' }), later())).toMatchObject({ result: 'stored' });
  });

  it('is the work of another thread', async () => {
    const body = Buffer.alloc(20_000, 'x');
    await Promise.all(severalIncoming(500, { body }).map((event) => inbox.accept(event, later())));
    const [thread, whole] = [process.threadCpuUsage(), process.cpuUsage()];
    await backup(inbox, target, ADA);
    const [own, all] = [process.threadCpuUsage(thread), process.cpuUsage(whole)];
    expect((own.user + own.system) / (all.user + all.system)).toBeLessThan(0.5);
  });

  it('says how large it is, is for its owner alone, and leaves nothing else', async () => {
    await inbox.accept(incoming(), later());
    chmodSync(file, 0o644);
    const { bytes, file: named } = await backup(inbox, target, ADA);
    expect([bytes, named]).toEqual([statSync(target).size, target]);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(target))).toEqual(['copy.db']);
  });

  it("copies a merchant's own database whole, opened by a relative path", async () => {
    const own = merchantDatabase(relative(process.cwd(), scratchFile('own.db')));
    await using adopted = sqliteInbox({ database: own });
    await adopted.accept(incoming(), later());
    await backup(adopted, target, ADA);
    const copy = new Database(target, { readonly: true });
    onTestFinished(() => void copy.close());
    for (const table of ['orders', 'events', 'large_orders', 'hookbox_events', 'hookbox_migrations']) {
      const rows = `SELECT * FROM ${table}`;
      expect(copy.prepare(rows).all()).toEqual(own.prepare(rows).all());
    }
  });

  it('is audited by its name and size, and the copy has the line, too', async () => {
    const { bytes, audit } = await backup(inbox, target, ADA);
    const line = {
      seq: audit,
      actor: 'ada',
      via: 'cli',
      act: 'backup',
      reason: 'nightly',
      filter: { file: 'copy.db' },
    };
    expect((await auditLines(inbox)).lines).toMatchObject([{ ...line, counts: { bytes } }]);
    await using restored = sqliteInbox(target);
    expect((await auditLines(restored)).lines).toMatchObject([{ ...line, counts: { bytes: 0 } }]);
  });

  it.each([
    ['a file', () => writeFileSync(target, 'mine')],
    ['a link that leads nowhere', () => symlinkSync('/nowhere/at/all', target)],
    ['a folder', () => mkdirSync(target)],
    ['the inbox itself', () => (target = file)],
  ])('refuses a path that is %s', async (_, make) => {
    make();
    const before = readdirSync(dirname(target));
    await expect(backup(inbox, target, ADA)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: `${target} already exists. Pass a new path.`,
    });
    expect(readdirSync(dirname(target))).toEqual(before);
  });

  it.each(['file:copy.db', '${BACKUPS}/copy.db', 'undefined'])(
    'refuses what was not meant for a path: %s',
    async (path) => {
      await expect(backup(inbox, path, ADA)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      expect(existsSync(path)).toBe(false);
    },
  );

  it('refuses a folder that is not there', async () => {
    await expect(backup(inbox, join(target, 'in', 'it.db'), ADA)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('leaves nothing when it cannot be made, and says so in the audit', async () => {
    const body = Buffer.alloc(5_000, 'x');
    await Promise.all(severalIncoming(200, { body }).map((event) => inbox.accept(event, later())));
    const other = new Database(file);
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    const descriptor = openSync(file, 'r+');
    // The pages behind the first ones, as a failing disk leaves them.
    writeSync(descriptor, Buffer.alloc(40 * 4_096, 0xa5), 0, 40 * 4_096, 60 * 4_096);
    closeSync(descriptor);
    await fails(inbox, /^The backup failed: .*malformed/);
  });

  it('does not take a copy for a backup whose events cannot be', async () => {
    await inbox.accept(incoming(), later());
    const other = new Database(file);
    other.pragma('ignore_check_constraints = ON');
    other.exec("UPDATE hookbox_events SET state = 'dead'");
    other.close();
    await fails(inbox, /^The backup failed: the copy is faulty: CHECK constraint failed in hookbox_events/);
  });

  it("is not kept from it by what is wrong in a merchant's own tables", async () => {
    const own = merchantDatabase(scratchFile('own.db'));
    own.exec('CREATE TABLE prices (price REAL CHECK (price > 0))');
    own.pragma('ignore_check_constraints = ON');
    own.exec('INSERT INTO prices VALUES (-1)');
    await using adopted = sqliteInbox({ database: own });
    expect(await backup(adopted, target, ADA)).toMatchObject({ file: target });
  });

  it.each([
    ['with a space', 'hookbox_my table'],
    ['with quotes', `hookbox_"it's"`],
    ['with brackets', 'hookbox_[a]`b`'],
    ['with other letters', 'hookbox_große Bestellungen 🧾'],
    ['with a semicolon', 'hookbox_a); DROP TABLE orders; --'],
  ])('is not kept from it by a table of a merchant named as those of hookbox are, %s', async (_, name) => {
    const own = merchantDatabase(scratchFile('own.db'));
    const quoted = `"${name.replaceAll('"', '""')}"`;
    own.exec(`CREATE TABLE ${quoted} (price REAL CHECK (price > 0))`);
    own.pragma('ignore_check_constraints = ON');
    own.exec(`INSERT INTO ${quoted} VALUES (-1)`);
    await using adopted = sqliteInbox({ database: own });
    expect(await backup(adopted, target, ADA)).toMatchObject({ file: target });
    const copy = new Database(target, { readonly: true });
    onTestFinished(() => void copy.close());
    expect(copy.prepare(`SELECT * FROM ${quoted}`).all()).toEqual([{ price: -1 }]);
  });
});

describe('a backup', () => {
  it('through a connection of another SQLite leaves that one the locks it has on the file', async () => {
    const other = scratchFile('other.db');
    const own = merchantDatabase(other, { nativeBinding: otherBinding(scratchFolder()) });
    await using adopted = sqliteInbox({ database: own });
    await adopted.accept(incoming(), later());
    await backup(adopted, target, ADA);
    // Without locks, whoever closes the file would believe to be the last, and delete the log.
    expect(seenByAnotherProcess(other)).toEqual(['evt_1']);
    expect(existsSync(`${other}-wal`)).toBe(true);
    expect(await adopted.accept(incoming({ id: 'evt_2' }), later())).toMatchObject({ result: 'stored' });
    await using restored = sqliteInbox(target);
    expect(await restored.list()).toMatchObject([{ id: 'evt_1' }]);
  });

  it('through a connection that is alone on its file is made by that one', async () => {
    const own = merchantDatabase(scratchFile('own.db'));
    own.pragma('locking_mode = EXCLUSIVE');
    await using adopted = sqliteInbox({ database: own });
    await adopted.accept(incoming(), later());
    expect(await backup(adopted, target, ADA)).toMatchObject({ file: target });
  });

  it('is not waited for by an inbox that closes, and is whole', async () => {
    const threaded = threadedInbox(scratchFile('threaded.db'));
    const body = Buffer.alloc(20_000, 'x');
    for (const round of [1, 2, 3]) {
      const events = severalIncoming(2_000, { body });
      await Promise.all(events.map((event) => threaded.accept({ ...event, id: `${event.id}_${round}` }, later())));
    }
    const { operations } = threaded;
    if (operations === undefined) throw new Error('no operations');
    const ended: string[] = [];
    const copying = operations.backup(target).then((bytes) => {
      ended.push('backup');
      return bytes;
    });
    await expect.poll(() => readdirSync(dirname(target)).length, { interval: 1 }).toBe(1);
    await threaded.close();
    ended.push('close');
    expect(await copying).toBeGreaterThan(6_000 * 20_000);
    expect(ended).toEqual(['close', 'backup']);
    expect(readdirSync(dirname(target))).toEqual(['copy.db']);
  });

  it('is made in a process with options that its thread could not start with', async () => {
    const modules = new URL('../../dist/src/', import.meta.url);
    const script = `
    import { sqliteInbox } from '${modules.href}inbox/sqlite/sqlite-inbox.js';
    const inbox = sqliteInbox(${JSON.stringify(file)}, { thread: false });
    console.log(await inbox.operations.backup(${JSON.stringify(target)}));
    await inbox.close();`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(Number(said)).toBe(statSync(target).size);
  });
});

async function fails(inbox: Inbox, message: RegExp): Promise<void> {
  await expect(backup(inbox, target, ADA)).rejects.toMatchObject({
    name: 'InboxUnavailableError',
    code: 'FAILED',
    message: expect.stringMatching(message) as unknown,
  });
  expect(readdirSync(dirname(target))).toEqual([]);
  expect((await auditLines(inbox)).lines).toMatchObject([{ act: 'backup', counts: { bytes: 0, failed: 1 } }]);
}
