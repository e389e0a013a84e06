import { expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { countEvents, deadGroups, findEvents, getEvent, listEvents } from '../../src/ops/index.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { START } from '../helpers/virtual-clock.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { busyShop } from './busy-shop.ts';
import { everyFilter } from './every-filter.ts';
import { sqliteShop } from './searched-store.ts';
import { faults, planOf, recorded } from './query-plan.ts';
import { noteOutOfOrder } from '../../src/inbox/sqlite/operator/search-indexes.ts';

async function askWaits(inbox: Inbox): Promise<void> {
  const { events } = await listEvents(inbox, { states: ['pending', 'processing'] }, { limit: 500 });
  await inbox.announce({ endpoints: '*', types: '*' }, START, null);
  const waits = await operationsOf(inbox).waits(events, START);
  expect(waits.map((wait) => wait?.reason)).toEqual(expect.arrayContaining(['later', 'running']));
}

it.each([
  ['as SQLite guesses how large the tables are', false],
  ['with statistics of the tables', true],
])('never goes through a whole table, %s', async (_, analysed) => {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close();
  const texts = recorded(database);
  await using inbox = sqliteInbox({ database });
  const before = new Set(texts);
  await busyShop({ inbox, ...sqliteShop(database) }, 60);
  noteOutOfOrder(database, 20, 30);

  while ((await inbox.operations?.indexNew(20)) !== 0);
  for (const filter of everyFilter()) {
    const page = await listEvents(inbox, filter, { limit: 3 });
    await listEvents(inbox, filter, { limit: 3, before: page.next });
    await listEvents(inbox, filter, { limit: 3, order: 'oldest' });
    await countEvents(inbox, filter);
  }
  const { next, nextAt } = await listEvents(inbox, {}, { limit: 3, order: 'failed' });
  await listEvents(inbox, {}, { limit: 3, order: 'failed', before: next, ...(nextAt && { beforeAt: nextAt }) });
  await findEvents(inbox, 'ORD_1');
  await deadGroups(inbox);
  await getEvent(inbox, { endpoint: 'default', id: 'evt_1' });
  await askWaits(inbox);

  if (analysed) database.exec('ANALYZE');
  const asked = [...texts].filter(
    (sql) => !before.has(sql) && /\bhookbox_/.test(sql) && /^\s*(SELECT|WITH|DELETE|INSERT)/.test(sql),
  );
  const found = asked.flatMap((sql) => faults(sql, planOf(database, sql)).map((fault) => ({ sql, fault })));
  expect(found).toEqual([]);

  // Nothing of this is worth anything if it was not the statements of the search that were looked at.
  const all = asked.join('\n');
  for (const table of ['events', 'terms', 'attempts', 'redeliveries', 'conflicts', 'progress']) {
    expect(all).toContain(`hookbox_${table}`);
  }
  for (const index of [
    'by_id',
    'dead',
    'put_away',
    'put_away_at',
    'retrying',
    'aside',
    'leased',
    'due_of_endpoint',
    'due_of_type',
  ]) {
    const plans = asked.flatMap((sql) => planOf(database, sql));
    expect(plans.join('\n')).toContain(`INDEX hookbox_events_${index}`);
  }
});

it.each([
  ["SELECT seq FROM hookbox_events WHERE type = 'order.created' LIMIT 5", 'SCAN hookbox_events'],
  ["SELECT seq FROM hookbox_events WHERE state = 'dead' ORDER BY received_ms LIMIT 5", 'USE TEMP B-TREE FOR ORDER BY'],
  ['SELECT count(*) FROM hookbox_events', 'SCAN hookbox_events USING COVERING INDEX'],
  ['SELECT count(*) FROM hookbox_events WHERE seq > ?', 'SEARCH hookbox_events USING INTEGER PRIMARY KEY (rowid>?)'],
  ['SELECT term FROM hookbox_terms WHERE seq = ?', 'SCAN hookbox_terms'],
  ["SELECT seq FROM hookbox_attempts WHERE error_message LIKE '%x%'", 'SCAN hookbox_attempts'],
  ['SELECT seq FROM hookbox_redeliveries WHERE count > 1', 'SCAN hookbox_redeliveries'],
])('would be found out: %s', async (sql, fault) => {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close();
  expect(faults(sql, planOf(database, sql)).join('\n')).toContain(fault);
});
