import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type fsModule from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';

const fs = createRequire(import.meta.url)('node:fs') as typeof fsModule;

function modesBeside(file: string): Readonly<Record<string, string>> {
  const folder = dirname(file);
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );
}

function openedModes(): readonly string[] {
  const modes: string[] = [];
  const { openSync } = fs;
  const spy = vi.spyOn(fs, 'openSync').mockImplementation((...args: Parameters<typeof openSync>) => {
    const handle = openSync(...args);
    modes.push((fs.fstatSync(handle).mode & 0o777).toString(8));
    return handle;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return modes;
}

beforeEach(() => {
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
});

describe('under a umask that lets everybody read', () => {
  it('a new inbox, its log and its index are for their owner alone', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await inbox.accept(incoming(), later());
    expect(modesBeside(file)).toEqual({ 'shop.db': '600', 'shop.db-shm': '600', 'shop.db-wal': '600' });
  });

  it('there is no moment in which others could read it', async () => {
    const file = scratchFile();
    const born = openedModes();
    await sqliteInbox(file).close();
    expect(born).toEqual(['600']);
  });

  // Closing a file releases all locks of the process on it, also those of other connections.
  it('a file that is there is opened by SQLite alone', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const opened = openedModes();
    await sqliteInbox(file).close();
    await inbox.accept(incoming(), later());
    expect(opened).toEqual([]);
  });

  it('so is one behind a link that leads nowhere yet', async () => {
    const target = scratchFile('target.db');
    const link = scratchFile('link.db');
    symlinkSync(target, link);
    await using inbox = sqliteInbox(link);
    await inbox.accept(incoming(), later());
    expect(modesBeside(target)['target.db']).toBe('600');
  });

  it('a file that is there keeps its mode, and what is beside it gets that too', async () => {
    const file = scratchFile();
    writeFileSync(file, '', { mode: 0o600 });
    chmodSync(file, 0o640);
    await using inbox = sqliteInbox(file);
    await inbox.accept(incoming(), later());
    expect(modesBeside(file)).toEqual({ 'shop.db': '640', 'shop.db-shm': '640', 'shop.db-wal': '640' });
  });

  it("the merchant's own database keeps its mode", async () => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    chmodSync(file, 0o644);
    await using inbox = sqliteInbox({ database });
    await inbox.accept(incoming(), later());
    expect(modesBeside(file)['shop.db']).toBe('644');
  });
});

describe('a path without a folder in front', () => {
  it('stays the file that it was when the inbox was made, wherever the process goes', async () => {
    const [home, elsewhere] = [scratchFolder(), scratchFolder()];
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(home);
    await using inbox = sqliteInbox('shop.db');
    await inbox.accept(incoming({ id: 'evt_before' }), later());

    process.chdir(elsewhere);
    await inbox.accept(incoming({ id: 'evt_moved' }), later());
    expect(readdirSync(elsewhere)).toEqual([]);

    await sqliteInbox('shop.db').close();
    expect(await inbox.accept(incoming({ id: 'evt_before' }), later())).toMatchObject({ result: 'duplicate' });
    expect((await inbox.list()).map(({ id }) => id)).toEqual(['evt_before', 'evt_moved']);
    await using there = sqliteInbox('shop.db');
    expect(await there.list()).toEqual([]);
    await using again = sqliteInbox(join(home, 'shop.db'));
    expect(await again.list()).toHaveLength(2);
  });

  it('is named whole when the file is gone', async () => {
    const [home, elsewhere] = [scratchFolder(), scratchFolder()];
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(home);
    await using inbox = sqliteInbox('shop.db');
    process.chdir(elsewhere);
    for (const name of readdirSync(home)) fs.rmSync(join(home, name));
    await expect(inbox.accept(incoming(), later())).rejects.toThrow(join(home, 'shop.db'));
  });

  it("of the merchant's own connection does not matter any more", async () => {
    const [home, elsewhere] = [scratchFolder(), scratchFolder()];
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(home);
    const database = merchantDatabase('shop.db');
    process.chdir(elsewhere);
    await using inbox = sqliteInbox({ database });
    expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    await inbox.operations?.backup('copy.db');
    expect(readdirSync(elsewhere)).toEqual(['copy.db']);
  });
});
