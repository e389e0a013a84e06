import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { ANY } from '../ops/events-in-states.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

/** What a handler can read through `ctx.transaction`. */
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
