import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { migrate, versionOf, schema, type Migration } from '../../src/inbox/sqlite/opening/schema.ts';
import { later } from '../helpers/incoming-event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const SECOND: Migration = {
  version: 2,
  name: 'imagined',
  needs: 2,
  sql: 'ALTER TABLE hookbox_events ADD COLUMN colour TEXT; CREATE TABLE hookbox_colours (name TEXT PRIMARY KEY) STRICT;',
};

async function fileWithAnEvent(): Promise<{ file: string; database: Database.Database }> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  await inbox.accept(orderEvent('evt_1'), later());
  const database = new Database(file);
  onTestFinished(() => void database.close());
  return { file, database };
}

const columns = (database: Database.Database): unknown =>
  database.prepare("SELECT count(*) FROM pragma_table_info('hookbox_events') WHERE name = 'colour'").pluck().get();

it('a step to the next version keeps the events, is taken once, and shuts out a process that does not know it', async () => {
  const { file, database } = await fileWithAnEvent();
  expect(versionOf(database)).toEqual({ version: 1, needs: 1 });

  migrate(database, [schema, SECOND]);
  migrate(database, [schema, SECOND]);
  expect(versionOf(database)).toEqual({ version: 2, needs: 2 });
  expect(columns(database)).toBe(1);
  expect(database.prepare('SELECT id, state FROM hookbox_events').all()).toEqual([{ id: 'evt_1', state: 'pending' }]);

  expect(() => sqliteInbox(file)).toThrow(expect.objectContaining({ code: 'NEEDS_NEWER_HOOKBOX' }));
});

it('a step that fails half way leaves the file as it was', async () => {
  const { file, database } = await fileWithAnEvent();
  const broken = { ...SECOND, sql: `${SECOND.sql} INSERT INTO hookbox_nowhere VALUES (1);` };
  expect(() => migrate(database, [schema, broken])).toThrow('hookbox_nowhere');
  expect(versionOf(database)).toEqual({ version: 1, needs: 1 });
  expect(columns(database)).toBe(0);
  await using inbox = sqliteInbox(file);
  expect(await inbox.list()).toHaveLength(1);
});
