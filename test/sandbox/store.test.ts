import Database from 'better-sqlite3';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { frozenClock } from '../../src/sandbox/clock.ts';
import { openStore } from '../../src/sandbox/open-store.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { openShop, START } from './shop.ts';

const NOTES = 'CREATE TABLE notes (id TEXT PRIMARY KEY) STRICT;';

function open(file?: string, seed = 1) {
  return openStore({ file, clock: frozenClock(START), seed, tables: [NOTES] });
}

function idsOf(store: ReturnType<typeof open>, count: number): string[] {
  return Array.from({ length: count }, () => store.write((transaction) => transaction.newId('ord')));
}

describe('a transaction of a sandbox', () => {
  it('is committed whole, or leaves nothing: no row, no id, and nobody is told', () => {
    using store = disposable(open());
    let commits = 0;
    store.onCommit(() => (commits += 1));
    const fails = () =>
      store.write((transaction) => {
        transaction.run('INSERT INTO notes VALUES (?)', transaction.newId('note'));
        throw new Error('changed its mind');
      });
    expect(fails).toThrow('changed its mind');
    expect(store.all('SELECT * FROM notes')).toEqual([]);
    expect(commits).toBe(0);
    const [first] = idsOf(disposable(open()), 1);
    expect(idsOf(store, 1)).toEqual([first]);
    expect(commits).toBe(1);
  });

  it('is refused inside of another, and the other goes on', () => {
    using store = disposable(open());
    store.write((transaction) => {
      expect(() => store.write(() => 1)).toThrow('already open');
      transaction.run("INSERT INTO notes VALUES ('one')");
    });
    expect(store.all('SELECT * FROM notes')).toEqual([{ id: 'one' }]);
  });

  it('has one time', () => {
    using store = disposable(open());
    store.write((transaction) => {
      store.clock.moveTo(START + 5);
      expect(transaction.now).toBe(START);
    });
  });
});

describe('ids', () => {
  it('are the same for the same seed, and others for another', () => {
    const [ids, again, others] = [open(), open(), open(undefined, 2)].map((store) => idsOf(disposable(store), 50));
    expect(again).toEqual(ids);
    expect(others?.filter((id) => ids?.includes(id))).toEqual([]);
  });

  it('never meet', () => {
    using store = disposable(open());
    const ids = store.write((transaction) => Array.from({ length: 20_000 }, () => transaction.newId('ord')));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/^ord_[0-9A-Za-z]{16}$/);
  });

  it('go on in a file that is opened again, with the seed that it was made with', () => {
    const file = scratchFile();
    const expected = idsOf(disposable(open()), 4);
    const before = open(file);
    const ids = idsOf(before, 2);
    before.close();
    using store = disposable(open(file, 99));
    expect([...ids, ...idsOf(store, 2)]).toEqual(expected);
    expect(store.isOld).toBe(true);
  });
});

describe('the file of a sandbox', () => {
  it('keeps the time of its last transaction', () => {
    const file = scratchFile();
    const before = open(file);
    before.clock.moveTo(START + 90_000);
    before.write(() => {});
    before.clock.moveTo(START + 95_000); // nothing has happened then
    before.close();
    using store = disposable(open(file));
    expect(store.clock.now()).toBe(START + 90_000);
  });

  it('is for its owner alone', () => {
    const file = scratchFile();
    open(file).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('belongs to one at a time', () => {
    const file = scratchFile();
    const first = open(file);
    expect(() => open(file)).toThrow('it is open in another process');
    first.close();
    open(file).close();
  });

  it.each([
    [
      'something that is no database',
      (file: string) => writeFileSync(file, 'a letter to the editor '.repeat(50)),
      'not a SQLite',
    ],
    [
      'a database of something else',
      (file: string) => new Database(file).exec('CREATE TABLE t (a)').close(),
      'not a sandbox file',
    ],
    [
      'a sandbox of another version',
      (file: string) => {
        open(file).close();
        new Database(file).exec('PRAGMA user_version = 7').close();
      },
      'a different version of hookbox',
    ],
  ])('is not %s, which is left as it was', (_, make, message) => {
    const file = scratchFile();
    make(file);
    const before = readFileSync(file);
    expect(() => open(file)).toThrow(message);
    expect(() => open(file)).toThrow(file);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('is not there after it could not be made: the next one makes it whole', () => {
    const file = scratchFile();
    const bad = () => openStore({ file, clock: frozenClock(START), tables: ['CREATE TABLE nonsense ('] });
    expect(bad).toThrow('syntax error');
    using store = disposable(open(file));
    expect(store.isOld).toBe(false);
  });

  it('says in which folder it cannot be', () => {
    expect(() => open('/nowhere/at/all/sandbox.db')).toThrow('/nowhere/at/all/sandbox.db cannot be opened');
  });
});

it('an event and its deliveries go with the change that was taken back', async () => {
  await using shop = openShop({ webhooks: [{ to: async () => new Response() }] });
  const fails = () =>
    shop.store.write((transaction) => {
      transaction.run("INSERT INTO events (id, type, created_at, body) VALUES ('evt', 'order.created', 1, x'')");
      throw new Error('changed its mind');
    });
  expect(fails).toThrow('changed its mind');
  expect(shop.store.all('SELECT * FROM events')).toEqual([]);
  expect(shop.store.all('SELECT * FROM due')).toEqual([]);
});

function disposable<T extends { close(): void }>(store: T): T & Disposable {
  return Object.assign(store, { [Symbol.dispose]: () => store.close() });
}
