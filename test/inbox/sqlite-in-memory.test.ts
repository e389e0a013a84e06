import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { backup } from '../../src/ops/backup.ts';
import { eraseEntity } from '../../src/ops/erase.ts';
import { listEvents } from '../../src/ops/find.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testInbox } from './conformance.ts';

function inMemory(path = ':memory:') {
  const database = new Database(path);
  onTestFinished(() => void database.close());
  return database;
}

testInbox("the inbox in a merchant's database in memory", () =>
  sqliteInbox({ database: inMemory() }, { ephemeral: true }),
);

it.each(['', ':memory:'])('a database in memory, "%s", is taken where loss is meant, tables and all', async (path) => {
  const { logger, lines } = recordedLog();
  const database = inMemory(path);
  database.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  const inbox = sqliteInbox({ database }, { ephemeral: true, logger });
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger,
    handlers: {
      '*': (event, ctx) => ctx.transaction((db) => db.prepare('INSERT INTO orders VALUES (?)').run(event.id)),
    },
  });
  await receiver.start();
  for (let time = 0; time < 2; time += 1) {
    expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 200 });
  }
  await expect.poll(async () => (await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
  expect(database.prepare('SELECT id FROM orders').all()).toEqual([{ id: 'evt_1' }]);
  expect((await listEvents(inbox)).events).toMatchObject([{ id: 'evt_1', state: 'processed' }]);
  expect(inbox.file).toBeUndefined();

  const copy = scratchFile('copy.db');
  await backup(inbox, copy, { actor: 'ada' });
  expect(existsSync(copy)).toBe(true);
  expect(await eraseEntity(inbox, 'ord_evt_1', { actor: 'ada' })).toMatchObject({ logEmptied: true });
  await receiver.close();
  await inbox.close();
  expect([lines, database.open]).toEqual([[], true]);
});
