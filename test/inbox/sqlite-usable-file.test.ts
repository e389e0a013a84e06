import Database from 'better-sqlite3';
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, chmodSync, chownSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkDatabase } from '../../src/cli/doctor/sqlite-checks.ts';
import { InboxOpenError } from '../../src/errors.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { Child } from '../helpers/child.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { inOwnMounts } from '../helpers/own-mounts.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';

const OPENING = new URL('open-once.ts', import.meta.url);

async function openedBehind(mounting: string, path: string): Promise<string> {
  await using child = await Child.bundled(OPENING, [path], inOwnMounts(mounting));
  return await child.line();
}

async function usedInbox(): Promise<string> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file, { thread: false });
  await inbox.accept(incoming(), later());
  return file;
}

describe('a file with several names (hard links)', () => {
  it('is refused under each of them, and left as it is; once it has one again, it opens', async () => {
    const file = await usedInbox();
    const other = join(scratchFolder(), 'other.db');
    linkSync(file, other);
    const before = readFileSync(file);
    for (const name of [file, other]) {
      const open = () => sqliteInbox(name);
      expect(open).toThrow(InboxOpenError);
      expect(open).toThrow(expect.objectContaining({ code: 'SEVERAL_NAMES' }));
      expect(open).toThrow(`${name} has 2 names (hard links)`);
    }
    expect(readFileSync(file).equals(before)).toBe(true);
    rmSync(other);
    await using inbox = sqliteInbox(file);
    expect(await inbox.list()).toHaveLength(1);
  });

  it("is refused as a merchant's connection, too, which stays open", async () => {
    const file = await usedInbox();
    linkSync(file, join(scratchFolder(), 'other.db'));
    const database = new Database(file);
    expect(() => sqliteInbox({ database })).toThrow(expect.objectContaining({ code: 'SEVERAL_NAMES' }));
    expect(database.open).toBe(true);
    database.close();
  });

  it('that a link leads to, is refused as well', async () => {
    const file = await usedInbox();
    linkSync(file, join(scratchFolder(), 'other.db'));
    const link = join(scratchFolder(), 'link.db');
    symlinkSync(file, link);
    expect(() => sqliteInbox(link)).toThrow(expect.objectContaining({ code: 'SEVERAL_NAMES' }));
  });

  it.each([true, false])('that a backup has linked while it was in use, goes on; thread: %s', async (thread) => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { thread, logger: false });
    linkSync(file, join(scratchFolder(), 'snapshot.db'));
    expect((await inbox.accept(incoming(), later())).result).toBe('stored');
  });

  it('is told by the doctor, who does not open it', async () => {
    const file = await usedInbox();
    linkSync(file, join(scratchFolder(), 'other.db'));
    expect(checkDatabase(file)).toMatchObject([
      { check: 'inbox', status: 'problem', what: expect.stringContaining('has 2 names') },
    ]);
  });
});

describe.runIf(platform() === 'linux')('a file that is mounted as a single file', () => {
  it('is refused with the way out: mount the folder', async () => {
    const file = await usedInbox();
    const mounted = join(scratchFolder(), 'app.db');
    writeFileSync(mounted, '');
    const said = await openedBehind(`mount --bind '${file}' '${mounted}'`, mounted);
    expect(said).toMatch(/^MOUNTED_FILE: /);
    expect(said).toContain(`${mounted} is mounted as a single file`);
    expect(said).toContain('Mount the folder instead');
  });

  it('is refused behind a link, and with spaces in its name', async () => {
    const file = await usedInbox();
    const mounted = join(scratchFolder(), 'of the app.db');
    const link = join(scratchFolder(), 'link.db');
    writeFileSync(mounted, '');
    symlinkSync(mounted, link);
    expect(await openedBehind(`mount --bind '${file}' '${mounted}'`, link)).toMatch(/^MOUNTED_FILE: /);
  });

  it.each(['-wal', '-shm'])('is refused where that is so of what SQLite keeps beside it: %s', async (end) => {
    const file = scratchFile();
    const elsewhere = join(scratchFolder(), 'elsewhere');
    for (const path of [file, `${file}${end}`, elsewhere]) writeFileSync(path, '');
    const said = await openedBehind(`mount --bind '${elsewhere}' '${file}${end}'`, file);
    expect(said).toMatch(/^MOUNTED_FILE: /);
  });

  it('is told by the doctor', async () => {
    const file = await usedInbox();
    const mounted = join(scratchFolder(), 'app.db');
    writeFileSync(mounted, '');
    await using doctor = new Child(
      new URL('../../src/cli/hookbox.ts', import.meta.url),
      ['doctor', '--db', mounted, '--port', '0'],
      inOwnMounts(`mount --bind '${file}' '${mounted}'`),
    );
    for (let line = await doctor.line(); !line.includes('is mounted as a single file'); line = await doctor.line());
  });

  it('is no matter of its folder: one that is mounted opens, under both of its names', async () => {
    const file = await usedInbox();
    const mounted = join(scratchFolder(), 'data');
    mkdirSync(mounted);
    const mounting = `mount --bind '${dirname(file)}' '${mounted}'`;
    expect(await openedBehind(mounting, join(mounted, 'shop.db'))).toBe('stored');
    expect(await openedBehind(mounting, file)).toBe('stored');
  });
});

const USER = 65_534;

async function openedBy(user: number, path: string): Promise<string> {
  await using child = await Child.bundled(OPENING, [path, String(user)]);
  return await child.line();
}

async function inboxOfRoot(): Promise<string> {
  const file = scratchFile();
  await sqliteInbox(file, { thread: false }).close();
  chmodSync(dirname(file), 0o777);
  return file;
}

describe.runIf(process.getuid?.() === 0)('a file that this user may not use says which, whose, and what to do', () => {
  it('the file', async () => {
    const file = await inboxOfRoot();
    expect(await openedBy(USER, file)).toBe(
      `CANNOT_OPEN: ${file} cannot be opened: ${file} cannot be written to: it belongs to user 0 and group 0 with mode 600, ` +
        `and this process runs as user ${USER}. Give this user access to the file and its folder (chown), or pass a different path.`,
    );
  });

  it('its folder, which the log is made in', async () => {
    const file = await inboxOfRoot();
    chownSync(file, USER, USER);
    chmodSync(dirname(file), 0o755);
    expect(await openedBy(USER, file)).toContain(
      `cannot be opened: ${dirname(file)} cannot be written to: it belongs to`,
    );
    expect(await openedBy(USER, join(dirname(file), 'new.db'))).toContain(`${dirname(file)} cannot be written to: it`);
  });

  it('a log that root has left behind', async () => {
    const file = await inboxOfRoot();
    chownSync(file, USER, USER);
    writeFileSync(`${file}-wal`, '', { mode: 0o600 });
    expect(await openedBy(USER, file)).toContain(
      `cannot be opened: ${file}-wal cannot be written to: it belongs to user 0`,
    );
  });

  it('its folder, which cannot be entered', async () => {
    const file = await inboxOfRoot();
    chmodSync(dirname(file), 0o644);
    expect(await openedBy(USER, file)).toContain(
      `CANNOT_OPEN: ${file} cannot be opened: ${dirname(file)} cannot be entered`,
    );
  });

  it('a folder above it that cannot be entered: not that it is missing', async () => {
    const file = scratchFile();
    const inner = join(dirname(file), 'inner');
    mkdirSync(inner);
    const said = await openedBy(USER, join(inner, 'shop.db'));
    expect(said).toContain(
      `CANNOT_OPEN: ${join(inner, 'shop.db')} cannot be opened: ${dirname(file)} cannot be entered`,
    );
  });
});

describe.runIf(platform() === 'linux')('a file that nobody may use', () => {
  it('is on a file system that is mounted read-only', async () => {
    const file = scratchFile();
    const at = dirname(file);
    await sqliteInbox(file, { thread: false }).close();
    await using child = await Child.bundled(
      OPENING,
      [file],
      inOwnMounts(`mount --bind ${at} ${at}; mount -o remount,bind,ro ${at}`),
    );
    expect(await child.line()).toBe(
      `CANNOT_OPEN: ${file} cannot be opened: ${at} is on a read-only file system. Mount the file system for writing.`,
    );
  });
});

const SMALL_DISK = new URL('small-disk.ts', import.meta.url);

const PLACEMENTS = ['thread', 'loop'] as const;

const diskReport = z.object({ stored: z.array(z.string()), refused: z.array(z.string()) });

describe.runIf(process.platform === 'linux').each(PLACEMENTS)('a disk of 24 MB: %s', (placement) => {
  it('takes deliveries on and on: the log is copied into the file before it fills the disk', async () => {
    const folder = scratchFolder();
    const mounting = inOwnMounts(`mount -t tmpfs -o size=24m none ${folder}`);
    await using child = await Child.bundled(SMALL_DISK, [`${folder}/shop.db`, placement], mounting);
    expect(await child.line()).toBe('ready');
    child.say('1500');
    const { stored, refused } = diskReport.parse(JSON.parse(await child.line()));
    expect([stored.length, refused]).toEqual([1_500, []]);
    await child.finish();
  });
});
