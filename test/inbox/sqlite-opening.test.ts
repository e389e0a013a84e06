import Database from 'better-sqlite3';
import { copyFileSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InboxOpenError } from '../../src/errors.ts';
import { openConnection, whyNoTemporaryFiles } from '../../src/inbox/sqlite/opening/better-sqlite.ts';
import { migrate } from '../../src/inbox/sqlite/opening/schema.ts';
import { Child } from '../helpers/child.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { inOwnMounts } from '../helpers/own-mounts.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';
import { START } from '../helpers/virtual-clock.ts';
import { ANY } from '../ops/events-in-states.ts';

const OPENING = new URL('opening-process.ts', import.meta.url);
const LOCK_HOLDER = new URL('lock-holder.ts', import.meta.url);

describe('a path that cannot be an inbox says what to do', () => {
  it('a folder that is missing: create it', () => {
    const folder = join(scratchFolder(), 'missing');
    expectRefusal(() => sqliteInbox(join(folder, 'shop.db')), 'FOLDER_MISSING', [folder, 'Create the folder']);
    expect(readdirSync(dirname(folder))).toEqual([]);
  });

  it('a folder that is a file: give another path', () => {
    const file = scratchFile('note.txt');
    writeFileSync(file, 'a note');
    expectRefusal(() => sqliteInbox(join(file, 'shop.db')), 'FOLDER_MISSING', [file, 'Pass a path']);
    expect(readFileSync(file, 'utf8')).toBe('a note');
  });

  it('a folder itself: give the path of a file', () => {
    const folder = scratchFolder();
    expectRefusal(() => sqliteInbox(folder), 'CANNOT_OPEN', [folder, /is a (folder|directory)/, /Pass/]);
  });

  it('a file that is no database: give another path, and its bytes stay as they are', () => {
    const file = scratchFile('notes.txt');
    const notes = 'These are notes, not a database. '.repeat(200);
    writeFileSync(file, notes);
    expectRefusal(() => sqliteInbox(file), 'NOT_A_DATABASE', [file, 'Pass a different path', 'not changed']);
    expect(readFileSync(file, 'utf8')).toBe(notes);
    expect(readdirSync(dirname(file))).toEqual(['notes.txt']);
  });

  it('a file too short to be a database, as well', () => {
    const file = scratchFile('short.txt');
    writeFileSync(file, 'short');
    expectRefusal(() => sqliteInbox(file), 'NOT_A_DATABASE', [file]);
    expect(readFileSync(file, 'utf8')).toBe('short');
  });

  it('a database that may only be read: check the permissions', () => {
    const file = scratchFile();
    merchantDatabase(file).close();
    const bytes = readFileSync(file);
    bytes[18] = 3; // a write version SQLite does not know yet: it may only read such a file, even as root
    writeFileSync(file, bytes);
    expectRefusal(() => sqliteInbox(file), 'CANNOT_OPEN', [file, 'permissions']);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it('what does not survive the process: use memoryInbox()', () => {
    expectRefusal(() => sqliteInbox(':memory:'), 'NOT_DURABLE', ['path of a file', 'memoryInbox()']);
  });
});

describe('a connection that cannot be an inbox says what to do', () => {
  it.each(['', ':memory:'])('in memory, "%s": open a file', (path) => {
    const database = new Database(path);
    expectRefusal(() => sqliteInbox({ database }), 'NOT_DURABLE', ['Open a file', 'memoryInbox()']);
    expect(database.open).toBe(true);
    database.close();
  });

  it('read-only: open it for writing', () => {
    const file = scratchFile();
    merchantDatabase(file);
    const database = new Database(file, { readonly: true });
    expectRefusal(() => sqliteInbox({ database }), 'CANNOT_OPEN', [file, 'Open it for writing']);
    expect(database.open).toBe(true);
    database.close();
  });

  it('closed: give an open one', () => {
    const database = merchantDatabase();
    database.close();
    expectRefusal(() => sqliteInbox({ database }), 'CANNOT_OPEN', ['Pass an open connection']);
  });

  it('in the middle of a transaction: end it, which stays open', () => {
    const database = merchantDatabase();
    database.exec('BEGIN');
    expectRefusal(() => sqliteInbox({ database }), 'CANNOT_OPEN', ['open transaction', 'End the transaction']);
    expect(database.inTransaction).toBe(true);
  });

  it('to a file that is no database, which it can be', () => {
    const file = scratchFile('notes.txt');
    writeFileSync(file, 'These are notes, not a database. '.repeat(200));
    const database = new Database(file);
    expectRefusal(() => sqliteInbox({ database }), 'NOT_A_DATABASE', [file]);
    expect(database.open).toBe(true);
    database.close();
  });
});

describe('a path that is unusual', () => {
  it.each(['shop with spaces.db', 'ünï çødé 店.db', '%20?mode=memory.db', "o'brien;--.db", 'shop'])(
    'works: %s',
    async (name) => {
      const file = scratchFile(name);
      await using inbox = sqliteInbox(file);
      await inbox.accept(incoming(), later());
      expect(statSync(file).size).toBeGreaterThan(0);
      await using again = sqliteInbox(file);
      expect(await again.list()).toHaveLength(1);
    },
  );

  it('works: an empty file, as mktemp makes it', async () => {
    const file = scratchFile();
    writeFileSync(file, '');
    await using inbox = sqliteInbox(file);
    expect((await inbox.accept(incoming(), later())).result).toBe('stored');
  });

  it('works: a link to a file, which are one inbox', async () => {
    const file = scratchFile();
    const link = join(dirname(file), 'link.db');
    await using inbox = sqliteInbox(file);
    symlinkSync(file, link);
    await using linked = sqliteInbox(link);
    await inbox.accept(incoming(), later());
    expect((await linked.accept(incoming(), later())).result).toBe('duplicate');
  });
});

describe('a file that a different version of hookbox has written', () => {
  it('is refused when it needs a newer one: update the package, and the file is unchanged', async () => {
    const file = await usedInbox();
    const database = new Database(file);
    database.exec("INSERT INTO hookbox_migrations VALUES (999, 'from the future', 999, 0)");
    const before = database.serialize();
    expectRefusal(() => sqliteInbox(file), 'NEEDS_NEWER_HOOKBOX', [file, '999', 'Update hookbox']);
    expectRefusal(() => sqliteInbox({ database }), 'NEEDS_NEWER_HOOKBOX', [file, '999', 'Update hookbox']);
    expect(database.serialize().equals(before)).toBe(true);
    expect(database.open).toBe(true);
    database.close();
  });

  it('is opened when it is newer but still fit for this one, and nothing in it is taken back', async () => {
    const file = await usedInbox();
    const database = new Database(file);
    database.exec("INSERT INTO hookbox_migrations VALUES (999, 'from the future', 1, 0)");
    database.exec('ALTER TABLE hookbox_events ADD COLUMN mood TEXT');
    database.close();
    await using inbox = sqliteInbox(file);
    expect((await inbox.accept(incoming({ id: 'evt_new' }), later())).result).toBe('stored');
    expect((await inbox.accept(incoming({ id: 'evt_0', body: '{"n":0}' }), later())).result).toBe('duplicate');
    expect((await inbox.list()).map(({ id }) => id)).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_new']);
  });
});

describe('migrating', () => {
  it('twice changes nothing', async () => {
    const file = await usedInbox();
    const database = new Database(file);
    const look = () => ({
      schema: database.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all(),
      versions: database.prepare('SELECT * FROM hookbox_migrations').all(),
      events: database.prepare('SELECT * FROM hookbox_events').all(),
    });
    const before = look();
    await using _ = sqliteInbox(file);
    migrate(database);
    migrate(database);
    expect(look()).toEqual(before);
    expect(before.versions.length).toBeGreaterThan(0);
    database.close();
  });

  it('that fails half-way leaves nothing behind, and the transaction is ended', () => {
    const database = merchantDatabase();
    database.exec('CREATE TABLE hookbox_conflicts (this_is_in_the_way)');
    expect(() => sqliteInbox({ database })).toThrow(InboxOpenError);
    expect(database.inTransaction).toBe(false);
    const ours = database.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'hookbox_%'").pluck().all();
    expect(ours).toEqual(['hookbox_conflicts']);
  });
});

describe('two processes', () => {
  it('may open the same new file at the same moment', async () => {
    await using one = await Child.bundled(OPENING);
    await using other = await Child.bundled(OPENING);
    expect([await one.line(), await other.line()]).toEqual(['ready', 'ready']);
    for (let round = 0; round < 10; round += 1) {
      const file = scratchFile();
      const at = Date.now() + 30;
      one.say(JSON.stringify({ file, at, id: 'evt_one' }));
      other.say(JSON.stringify({ file, at, id: 'evt_other' }));
      expect([round, await one.line(), await other.line()]).toEqual([round, 'stored', 'stored']);
      await using inbox = sqliteInbox(file);
      expect((await inbox.list()).map(({ id }) => id).sort()).toEqual(['evt_one', 'evt_other']);
    }
  });

  it('wait for one another: a lock that is released in time is no reason to fail', async () => {
    const file = await usedInbox();
    await using holder = new Child(LOCK_HOLDER, [file, '500']);
    expect(await holder.line()).toBe('locked');
    await using inbox = sqliteInbox(file);
    expect(await holder.line()).toBe('released');
    expect(await inbox.list()).toHaveLength(3);
  });

  it('do not wait for ever: a lock that stays says what to do', async () => {
    const file = await usedInbox();
    await using holder = new Child(LOCK_HOLDER, [file]);
    expect(await holder.line()).toBe('locked');
    expectRefusal(() => sqliteInbox(file), 'LOCKED', [file, 'another process', 'start again']);
    await holder.finish();
    await using inbox = sqliteInbox(file);
    expect(await inbox.list()).toHaveLength(3);
  });
});

describe('a copy of a file', () => {
  it('that was closed is a whole inbox', async () => {
    const file = await usedInbox();
    const copy = scratchFile('copy.db');
    copyFileSync(file, copy);
    await using inbox = sqliteInbox(copy);
    expect(await inbox.list()).toEqual(await readList(file));
  });
});

function expectRefusal(open: () => unknown, code: InboxOpenError['code'], says: readonly (string | RegExp)[]): void {
  const failure = thrown(open);
  expect(failure).toBeInstanceOf(InboxOpenError);
  expect(failure).toMatchObject({ code });
  for (const part of says) expect(String(failure)).toMatch(part);
}

function thrown(open: () => unknown): unknown {
  try {
    return new Error(`it opened: ${String(open())}`);
  } catch (failure) {
    return failure;
  }
}

async function usedInbox(): Promise<string> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  for (const event of severalIncoming(3)) await inbox.accept(event, later());
  return file;
}

async function readList(file: string) {
  await using inbox = sqliteInbox(file);
  return inbox.list();
}

async function readByHandler(inbox: ReturnType<typeof sqliteInbox>, sql: string): Promise<unknown> {
  const event = orderEvent('evt_1');
  await store(inbox, event);
  const claimed = await inbox.claimOne(event, { ...ANY, now: START });
  if (typeof claimed === 'string') throw new Error(claimed);
  const attempt = { now: () => START, signal: new AbortController().signal };
  let read: unknown;
  await inbox.transaction(
    claimed.lease,
    (database) => {
      read = database.prepare(sql).get();
    },
    attempt,
  );
  return read;
}

it('a file may hold views that reach for what only a program should use: ours do not follow them', async () => {
  const file = scratchFile();
  const hostile = new Database(file);
  hostile.exec('CREATE VIEW orders AS SELECT * FROM pragma_database_list');
  expect(hostile.prepare('SELECT file FROM orders').get()).toEqual({ file });
  hostile.close();
  await using inbox = sqliteInbox(file);
  await expect(readByHandler(inbox, 'SELECT file FROM orders')).rejects.toThrow('unsafe use');
});

it("the merchant's own connection keeps what they have set", async () => {
  const database = merchantDatabase();
  database.exec('CREATE VIEW files AS SELECT * FROM pragma_database_list');
  await using inbox = sqliteInbox({ database });
  expect(await readByHandler(inbox, 'SELECT name FROM files')).toEqual({ name: 'main' });
  expect(database.pragma('trusted_schema', { simple: true })).toBe(1);
});

it.each([
  ['a C library that is too old', "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found"],
  ['a binary of glibc on musl', 'Error loading shared library ld-linux-x86-64.so.2: No such file or directory'],
  ['a binary for another processor', 'better_sqlite3.node: invalid ELF header'],
])('%s: says that it is the binary, and what it needs', async (_, said) => {
  const file = scratchFile();
  await using child = new Child(new URL('unfit-binary.ts', import.meta.url), [file, said]);
  const refused = await child.line();
  expect(refused).toMatch(/^SQLITE_DOES_NOT_LOAD: better-sqlite3 does not load on /);
  for (const part of [said, `${platform()} ${arch()}`, 'x64 or arm64', 'glibc 2.34 or newer, or musl', 'npm ci']) {
    expect(refused).toContain(part);
  }
  expect(await child.line()).toContain('better-sqlite3 does not load on');
  expect(existsSync(file)).toBe(false);
});

const SERVER = new URL('without-temporary-files.ts', import.meta.url);
const report = z.object({
  stored: z.number(),
  handled: z.number(),
  ready: z.union([z.literal(true), z.string()]),
  attempts: z.array(z.string()),
  backup: z.string(),
  exported: z.number(),
  log: z.array(z.object({ message: z.string(), facts: z.object({ cause: z.string().optional() }).loose() })),
});
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Mounts other disks in place of the folders for temporary files. */
function withTemporaryFolders(mounted: string, then: string): readonly string[] {
  return inOwnMounts(`
    mount --bind '${ROOT}' /mnt
    for at in /tmp /var/tmp; do
      mount -t tmpfs ${mounted} none $at
      case '${ROOT}' in $at/*) mkdir -p '${ROOT}'; mount --bind /mnt '${ROOT}';; esac
      ${then}
    done
    cd /proc`);
}

/** As `docker run --read-only` mounts them. */
const READ_ONLY = withTemporaryFolders('', 'mount -o remount,ro $at');
const FULL = withTemporaryFolders('-o size=4k', 'head -c 4096 /dev/zero > $at/full');

const OF_SQLITE = /\(SQLITE_(CANTOPEN|FULL|IOERR_\w+)\)$/;

async function served(around: readonly string[], source: string): Promise<z.infer<typeof report>> {
  await using server = await Child.bundled(SERVER, [scratchFile(), source], around);
  return report.parse(JSON.parse(await server.line()));
}

describe.runIf(platform() === 'linux')('where SQLite can make no temporary file', () => {
  it.each([
    ['as the root is read-only, with a thread', READ_ONLY, 'thread'],
    ['as the root is read-only, on the loop', READ_ONLY, 'loop'],
    ["as the root is read-only, beside a merchant's connection", READ_ONLY, 'merchant in memory'],
    ['as the disk of /tmp is full', FULL, 'thread'],
  ])('a burst is stored and handled, and operators can do their work: %s', async (_, around, source) => {
    const done = await served(around, source);
    expect(done).toMatchObject({ stored: 200, handled: 200, ready: true, backup: 'made', log: [] });
    expect(done.exported).toBeGreaterThan(200);
  });

  describe.each([
    ['as the root is read-only', READ_ONLY],
    ['as the disk of /tmp is full', FULL],
  ])('%s', (_, around) => {
    it("a merchant's connection with temporary files says what to set, and uses up no attempt", async () => {
      const { stored, attempts, log } = await served(around, 'merchant');
      expect(stored).toBe(200);
      expect(log[0]?.message).toContain('PRAGMA temp_store = MEMORY');
      expect(log[0]?.facts.cause).toMatch(OF_SQLITE);
      expect(attempts.length).toBeGreaterThan(0);
      expect(attempts.filter((outcome) => outcome !== 'interrupted' && outcome !== 'running')).toEqual([]);
    });
  });

  it("a merchant's connection without a thread beside it is not ready, and the log has the code", async () => {
    const { ready, log } = await served(READ_ONLY, 'merchant, loop');
    expect(ready).toMatch(OF_SQLITE);
    const claim = log.find(({ message }) => message === 'cannot claim events');
    expect(claim?.facts.cause).toBe(ready);
  });
});

it('every connection of ours has its temporary data in memory', () => {
  const database = openConnection(scratchFile());
  expect(database.pragma('temp_store', { simple: true })).toBe(2);
  database.close();
});

it('elsewhere SQLite can make temporary files', () => {
  expect(whyNoTemporaryFiles()).toBeNull();
});
