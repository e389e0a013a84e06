import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { Child } from '../helpers/child.ts';
import { inOwnMounts } from '../helpers/own-mounts.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const OPENING = new URL('open-once.ts', import.meta.url);
/** Nobody. */
const USER = 65_534;

/** What a process says that may not do all that root may. */
async function openedBy(user: number, path: string): Promise<string> {
  await using child = new Child(OPENING, [path, String(user)]);
  return await child.line();
}

/** An inbox of root's, in a folder that anybody may enter and write to. */
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
    await using child = new Child(
      OPENING,
      [file],
      inOwnMounts(`mount --bind ${at} ${at}; mount -o remount,bind,ro ${at}`),
    );
    expect(await child.line()).toBe(
      `CANNOT_OPEN: ${file} cannot be opened: ${at} is on a read-only file system. Mount the file system for writing.`,
    );
  });
});
