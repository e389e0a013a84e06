import Database from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Acceptance } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

describe('while a merchant is in the middle of something on the shared connection', () => {
  it.each(['COMMIT', 'ROLLBACK'])('events wait for the end of their transaction: %s', async (end) => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    database.exec("BEGIN; INSERT INTO orders VALUES ('ord_3', 1)");
    const accepting = watched(Promise.all(severalIncoming(5).map((event) => inbox.accept(event, later()))));
    await sleep(100);
    expect(accepting.settled()).toBe(false);
    expect(database.inTransaction).toBe(true);

    database.exec(end);
    expect((await accepting.promise).map(({ result }) => result)).toEqual(Array.from({ length: 5 }, () => 'stored'));
    expect(await inbox.list()).toHaveLength(5);
    const found = database.prepare("SELECT 1 FROM orders WHERE id = 'ord_3'").get();
    expect(found === undefined).toBe(end === 'ROLLBACK');
  });

  it('events wait until they have read their rows to the end', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    let accepting = watched(Promise.resolve<Acceptance | null>(null));
    for (const _ of database.prepare("SELECT * FROM orders WHERE id = 'ord_1'").iterate()) {
      accepting = watched(inbox.accept(incoming(), later()));
      await sleep(100);
      expect(accepting.settled()).toBe(false);
    }
    expect(await accepting.promise).toMatchObject({ result: 'stored' });
  });

  it('events are given up at their deadline, and none of them is in the transaction', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    database.exec('BEGIN');
    await expect(inbox.accept(incoming(), performance.now() + 100)).rejects.toMatchObject({ code: 'DEADLINE' });
    database.exec('COMMIT');
    expect(await inbox.list()).toEqual([]);
  });

  it('no transaction of ours is open in any turn of the event loop', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const inTransaction: boolean[] = [];
    await Promise.all(
      severalIncoming(2_000).map(async (event) => {
        await inbox.accept(event, later());
        inTransaction.push(database.inTransaction);
      }),
    );
    expect(inTransaction).toEqual(Array.from({ length: 2_000 }, () => false));
  });
});

describe("a merchant's busy_timeout", () => {
  it.each([0, 1_234, 5_000])('of %i ms is what it was, after storing and after waiting', async (timeout) => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    database.pragma(`busy_timeout = ${timeout}`);
    await using inbox = sqliteInbox({ database });
    expect(database.pragma('busy_timeout', { simple: true })).toBe(timeout);
    await inbox.accept(incoming(), later());
    expect(database.pragma('busy_timeout', { simple: true })).toBe(timeout);

    const holder = merchantDatabase(file);
    holder.exec('BEGIN IMMEDIATE');
    const accepting = inbox.accept(incoming({ id: 'evt_2' }), later());
    await sleep(50);
    expect(database.pragma('busy_timeout', { simple: true })).toBe(timeout);
    holder.exec('COMMIT');
    await accepting;
    expect(database.pragma('busy_timeout', { simple: true })).toBe(timeout);
  });

  it('does not block the event loop: the lock of the same process can still be released', async () => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    database.pragma('busy_timeout = 20000');
    await using inbox = sqliteInbox({ database });
    const holder = merchantDatabase(file);
    holder.exec('BEGIN IMMEDIATE');
    setTimeout(() => holder.exec('COMMIT'), 100);
    expect((await inbox.accept(incoming(), performance.now() + 10_000)).result).toBe('stored');
  });
});

describe('with defaultSafeIntegers(true)', () => {
  it('an inbox works, and the merchant still gets BigInts', async () => {
    const database = merchantDatabase().defaultSafeIntegers(true);
    await using inbox = sqliteInbox({ database });
    const created = { ms: 1_767_225_600_123, ns: 456_789 };
    await inbox.accept(incoming({ created, receivedAt: 1_000 }), later());
    await inbox.accept(incoming({ created, receivedAt: 2_000 }), later());
    await inbox.accept(incoming({ created, receivedAt: 3_000, body: 'other' }), later());
    const [stored] = await inbox.list();
    expect(stored).toMatchObject({
      seq: 1,
      created,
      verified: true,
      receivedAt: new Date(1_000),
      redeliveries: { count: 2, firstAt: new Date(2_000), lastAt: new Date(3_000) },
      conflict: { count: 1, firstAt: new Date(3_000) },
    });
    expect(await inbox.list({ after: 1 })).toEqual([]);
    expect(database.prepare('SELECT count(*) AS n FROM orders').get()).toEqual({ n: 2n });
  });

  it('an inbox opens a second time', async () => {
    const database = merchantDatabase().defaultSafeIntegers(true);
    await using first = sqliteInbox({ database });
    await first.accept(incoming(), later());
    await using second = sqliteInbox({ database });
    expect((await second.accept(incoming(), later())).result).toBe('duplicate');
  });
});

describe("what is the merchant's", () => {
  const settings = [
    'user_version',
    'application_id',
    'foreign_keys',
    'cache_size',
    'wal_autocheckpoint',
    'journal_size_limit',
    'busy_timeout',
    'temp_store',
    'locking_mode',
    'recursive_triggers',
    'query_only',
    'auto_vacuum',
    'page_size',
  ];
  const OURS = "(name LIKE 'hookbox\\_%' ESCAPE '\\' OR tbl_name LIKE 'hookbox\\_%' ESCAPE '\\')";

  it.each<[string, (database: Database.Database, file: string) => Inbox]>([
    ['on their connection', (database) => sqliteInbox({ database })],
    ['in their file', (_, file) => sqliteInbox(file)],
  ])('stays as it was, %s', async (_, open) => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    database.pragma('user_version = 42');
    database.pragma('application_id = 1234567');
    database.pragma('foreign_keys = OFF');
    database.pragma('cache_size = -333');
    database.pragma('wal_autocheckpoint = 77');
    const look = () => ({
      settings: settings.map((name) => [name, database.pragma(name, { simple: true })]),
      schema: database.prepare(`SELECT * FROM sqlite_master WHERE NOT ${OURS} ORDER BY name`).raw().all().map(String),
      orders: database.prepare('SELECT * FROM orders').all(),
      events: database.prepare('SELECT * FROM events').all(),
    });
    const before = look();

    await using inbox = open(database, file);
    await Promise.all(severalIncoming(50).map((event) => inbox.accept(event, later())));
    await inbox.accept(incoming({ id: 'evt_1', body: 'other' }), later());
    await inbox.close();
    const after = look();
    expect(after).toEqual(before);
    expect(before.settings.slice(0, 2)).toEqual([
      ['user_version', 42],
      ['application_id', 1_234_567],
    ]);
  });

  it('is told from ours by its name: every table and index of ours is called hookbox_…', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await inbox.accept(incoming(), later());
    const database = new Database(file);
    const names = database.prepare<[], string>('SELECT name FROM sqlite_master').pluck().all();
    expect(names).toEqual(expect.arrayContaining(['hookbox_events', 'hookbox_migrations']));
    expect(names.filter((name) => !name.startsWith('hookbox_'))).toEqual([]);
    expect(database.pragma('user_version', { simple: true })).toBe(0);
    expect(database.pragma('application_id', { simple: true })).toBe(0);
    database.close();
  });

  it('includes the connection: close leaves it open', async () => {
    const database = merchantDatabase();
    const inbox = sqliteInbox({ database });
    await inbox.accept(incoming(), later());
    await inbox.close();
    expect(database.open).toBe(true);
    expect(database.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(2);
  });

  it('may be closed under our feet: events are refused, and nothing else happens', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await inbox.accept(incoming(), later());
    database.close();
    for (const event of severalIncoming(2)) {
      await expect(inbox.accept(event, later())).rejects.toMatchObject({ code: 'FAILED' });
    }
  });
});

function watched<T>(promise: Promise<T>): { readonly promise: Promise<T>; settled(): boolean } {
  let settled = false;
  const watching = promise.finally(() => {
    settled = true;
  });
  watching.catch(() => {}); // whoever awaits the promise sees it
  return { promise: watching, settled: () => settled };
}
