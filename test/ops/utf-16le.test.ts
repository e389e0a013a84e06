import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { listEvents } from '../../src/ops/find.ts';
import { eraseEntity } from '../../src/ops/erase.ts';
import { encodedFolders } from '../inbox/utf-16-folder.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';

vi.mock('../helpers/scratch-folder.ts', async (original) => encodedFolders('UTF-16le', await original()));

// What is found, erased, pruned and grouped in a file of UTF-8 is so in a merchant's file of UTF-16, too.
import './erase.test.ts';
import './find.test.ts';
import './fingerprint.test.ts';
import './prune.test.ts';
import './search.test.ts';

test('these files are in UTF-16le', () => {
  const database = new Database(scratchFile());
  expect(database.pragma('encoding', { simple: true })).toBe('UTF-16le');
  database.close();
});

test('what an older hookbox could not read there when it indexed it is found and erased', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  await store(inbox, { ...orderEvent('evt_1', { order: 'ord_1' }), entity: null });
  const database = new Database(file);
  database.exec("INSERT INTO hookbox_progress (what, seq) VALUES ('terms', 1)");
  database.close();
  expect((await listEvents(inbox, { entity: 'ord_1' })).events).toMatchObject([{ id: 'evt_1' }]);
  expect(await eraseEntity(inbox, 'ord_1', { actor: 'ada' })).toMatchObject({ erased: 1 });
});
