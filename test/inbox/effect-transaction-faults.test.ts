// @module-tag dear
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING, type Lease } from '../../src/inbox/work.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const attempt = () => ({ now: () => Date.now(), signal: new AbortController().signal });

async function claimed(inbox: Inbox): Promise<Lease> {
  await inbox.accept(incoming(), later());
  const request = { ...EVERYTHING, now: Date.now(), leaseMs: 60_000, ordered: false };
  const [event] = await inbox.claim(request, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  return event.lease;
}

async function connections(inbox: Inbox, fail: (database: SqliteDatabase) => void): Promise<SqliteDatabase[]> {
  const lease = await claimed(inbox);
  const seen: SqliteDatabase[] = [];
  const failing = inbox.transaction(
    lease,
    (database) => {
      seen.push(database);
      fail(database);
    },
    attempt(),
  );
  await expect(failing).rejects.toThrow();
  await inbox.transaction(lease, (database) => void seen.push(database), attempt());
  expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({ state: 'processed' });
  return seen;
}

const failWith = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

describe.each([true, false])('ctx.transaction, thread: %s', (thread) => {
  it.each(['SQLITE_IOERR_WRITE', 'SQLITE_READONLY_DBMOVED', 'SQLITE_CORRUPT', 'SQLITE_FULL', 'SQLITE_CANTOPEN'])(
    'after %s is done on a file that was opened afresh',
    async (code) => {
      await using inbox = sqliteInbox(scratchFile(), { thread });
      const [before, after] = await connections(inbox, failWith(code));
      expect(after).not.toBe(before);
      expect([before?.open, after?.open]).toEqual([false, true]);
    },
  );

  it('whose function has closed the connection, too', async () => {
    await using inbox = sqliteInbox(scratchFile(), { thread });
    const [before, after] = await connections(inbox, (database) => {
      database.close();
      throw new Error('closed');
    });
    expect(after).not.toBe(before);
  });

  it.each(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_ERROR', 'SQLITE_BUSY', 'E_SHOP'])(
    'after %s goes on with the connection it has',
    async (code) => {
      await using inbox = sqliteInbox(scratchFile(), { thread });
      const [before, after] = await connections(inbox, failWith(code));
      expect(after).toBe(before);
    },
  );

  it("never opens a merchant's own connection afresh", async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database }, { thread });
    const [before, after] = await connections(inbox, failWith('SQLITE_IOERR_WRITE'));
    expect(after).toBe(before);
    expect([after?.name, after?.open, database.open]).toEqual([database.name, true, true]);
  });
});
