import Database from 'better-sqlite3';
import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const NORMAL = 1;
const FULL = 2;
const EXTRA = 3;

describe('a file of its own is written with synchronous = FULL', () => {
  it('when it is new', async () => {
    const [inbox, database] = openSeen(scratchFile());
    await using _ = inbox;
    await store(inbox, 100);
    expect(synchronous(database)).toBe(FULL);
  });

  it('when it is opened again', async () => {
    const file = scratchFile();
    await using first = sqliteInbox(file);
    await store(first, 10);
    await first.close();
    const [inbox, database] = openSeen(file);
    await using _ = inbox;
    expect(synchronous(database)).toBe(FULL);
    await store(inbox, 100);
    expect(synchronous(database)).toBe(FULL);
  });

  it.each(['DELETE', 'TRUNCATE', 'WAL'])("when it was a merchant's, in journal mode %s", async (mode) => {
    const file = scratchFile();
    const merchant = merchantDatabase(file);
    merchant.pragma(`journal_mode = ${mode}`);
    merchant.pragma(`synchronous = ${NORMAL}`);
    const [inbox, database] = openSeen(file);
    await using _ = inbox;
    await store(inbox, 100);
    expect(synchronous(database)).toBe(FULL);
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
  });

  it('which better-sqlite3 alone would not do', () => {
    const database = merchantDatabase();
    database.pragma('journal_mode = WAL');
    database.exec('CREATE TABLE written (x)');
    // If this fails, better-sqlite3 is built differently.
    expect(synchronous(database)).toBe(NORMAL);
  });
});

describe("a merchant's connection is written with synchronous = FULL", () => {
  it.each(['DELETE', 'WAL'])('in journal mode %s before', async (mode) => {
    const database = merchantDatabase();
    database.pragma(`journal_mode = ${mode}`);
    database.exec("UPDATE orders SET total = 1 WHERE id = 'ord_1'");
    await using inbox = sqliteInbox({ database });
    await store(inbox, 100);
    expect(synchronous(database)).toBe(FULL);
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
  });

  it('with synchronous OFF or NORMAL before', async () => {
    for (const before of [0, NORMAL]) {
      const database = merchantDatabase();
      database.pragma(`synchronous = ${before}`);
      await using inbox = sqliteInbox({ database });
      await store(inbox, 1);
      expect(synchronous(database)).toBe(FULL);
    }
  });

  it('or with EXTRA, where the merchant asked for more', async () => {
    const database = merchantDatabase();
    database.pragma(`synchronous = ${EXTRA}`);
    await using inbox = sqliteInbox({ database });
    await store(inbox, 1);
    expect(synchronous(database)).toBe(EXTRA);
  });

  it.each([
    ['synchronous = OFF', /synchronous/],
    ['synchronous = NORMAL', /synchronous/],
    // Without the write-ahead log, a crash during a commit loses the whole file.
    ['journal_mode = MEMORY', /journal.mode/],
  ])('and nothing is taken while they have %s', async (lowered, says) => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await store(inbox, 3);

    database.pragma(lowered);
    const refused = { code: 'FAILED', message: expect.stringMatching(says) as string };
    await expect(inbox.accept(incoming({ id: 'lost?' }), later())).rejects.toMatchObject(refused);
    await expect(inbox.accept(incoming({ id: 'evt_0' }), later())).rejects.toMatchObject(refused);
    expect((await inbox.list()).map(({ id }) => id)).toEqual(['evt_0', 'evt_1', 'evt_2']);

    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    expect((await inbox.accept(incoming({ id: 'lost?' }), later())).result).toBe('stored');
  });
});

function openSeen(file: string): [Inbox, Database.Database] {
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  try {
    const inbox = sqliteInbox(file);
    const database = pragma.mock.contexts.at(-1);
    if (!(database instanceof Database) || database.name !== file) throw new Error('no connection was seen');
    return [inbox, database];
  } finally {
    pragma.mockRestore();
  }
}

function synchronous(database: Database.Database): unknown {
  return database.pragma('synchronous', { simple: true });
}

async function store(inbox: Inbox, count: number): Promise<void> {
  await Promise.all(severalIncoming(count).map((event) => inbox.accept(event, later())));
}
