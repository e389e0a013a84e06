// @module-tag repeated
// @module-tag dear
import { expect, it } from 'vitest';
import { sqliteInbox as threaded } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { testInbox } from './conformance.ts';
import { emptiedInbox } from '../helpers/emptied-inbox.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase, openMerchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

testInbox('the inbox in a file of its own', () => sqliteInbox(scratchFile()));

testInbox("the inbox among a merchant's tables, on their open connection", () =>
  sqliteInbox({ database: merchantDatabase() }),
);

testInbox(
  'the inbox in a file of its own, with a thread that writes',
  emptiedInbox((file) => threaded(file)),
  () => threaded(scratchFile()),
);

testInbox(
  "the inbox among a merchant's tables, on their open connection, with a thread that writes",
  emptiedInbox((file) => {
    const database = openMerchantDatabase(file);
    const inbox = threaded({ database });
    const close = async (): Promise<void> => {
      await inbox.close();
      database.close();
    };
    return { ...inbox, close };
  }),
  () => threaded({ database: merchantDatabase() }),
);

testInbox("the inbox among a merchant's tables, on a connection of its own", () => {
  const file = scratchFile();
  merchantDatabase(file);
  return sqliteInbox(file);
});

it('keeps its events when it is closed and opened again, also what was waiting for the close', async () => {
  const file = scratchFile();
  const first = sqliteInbox(file);
  const events = severalIncoming(50);
  const accepting = Promise.all(events.map((event) => first.accept(event, later())));
  await first.close();
  await accepting;

  await using second = sqliteInbox(file);
  expect((await second.list()).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  for (const event of events) expect((await second.accept(event, later())).result).toBe('duplicate');
});

it('shows two inboxes on one file the same events, in one order of arrival', async () => {
  const file = scratchFile();
  await using one = sqliteInbox(file);
  await using other = sqliteInbox(file);
  const events = severalIncoming(40);
  const results = await Promise.all(
    events.flatMap((event) => [one, other].map((inbox) => inbox.accept(event, later()))),
  );
  expect(results.filter(({ result }) => result === 'stored')).toHaveLength(40);
  expect(await one.list()).toEqual(await other.list());
  expect((await one.list()).every(({ redeliveries }) => redeliveries.count === 1)).toBe(true);
});
