// @module-tag longest
import type Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { noteOutOfOrder } from '../../src/inbox/operator/finding/indexes.ts';
import { rowsOf, sqlite } from '../../src/inbox/sqlite/operator/access.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { START } from '../helpers/virtual-clock.ts';
import { allPages, idsOf } from './found-pages.ts';
import { testSearchPage, type Planted, type PlantedStore } from './search-page.conformance.ts';
import { defineIdHash } from '../../src/inbox/sqlite/sql/statement.ts';

const PENDING = "state = 'pending', settled_ms = NULL";
const PLANTED: Readonly<Record<Planted, string>> = {
  processed: "state = 'processed'",
  ready: PENDING,
  fresh: `${PENDING}, parked = 2`,
  dead: "state = 'dead', dead_reason = 'failed'",
  'some dead': `state = iif(seq % 5000 = 0, 'dead', 'processed'), dead_reason = iif(seq % 5000 = 0, 'failed', NULL)`,
};
const STANDING: Readonly<Record<Parameters<PlantedStore['stand']>[1], string>> = {
  retrying: `${PENDING}, failures = 1`,
  parked: `${PENDING}, parked = 1`,
  processing: "state = 'processing', settled_ms = NULL, lease_until_ms = 1, claimed_ms = 1",
};

testSearchPage('a page in SQLite', async () => {
  const database = merchantDatabase();
  const inbox = sqliteInbox({ database });
  return {
    inbox,
    async plant(count, as) {
      plant(database, count);
      if (as !== undefined) database.exec(`UPDATE hookbox_events SET ${PLANTED[as]}`);
    },
    async stand(seq, as) {
      database.exec(`UPDATE hookbox_events SET ${STANDING[as]} WHERE seq = ${seq}`);
    },
    async receiveAt(ms, where) {
      database.exec(`UPDATE hookbox_events SET received_ms = ${ms} WHERE ${where}`);
    },
    receivedWithin: async (since, until) =>
      database
        .prepare<[number, number], string>(
          'SELECT id FROM hookbox_events WHERE received_ms >= ? AND received_ms < ? ORDER BY seq DESC',
        )
        .pluck()
        .all(since.getTime(), until.getTime()),
    noteOutOfOrder: async (first, last) =>
      noteOutOfOrder({ rows: (asked) => rowsOf(database, asked) }, sqlite, first, last),
    [Symbol.asyncDispose]: () => inbox.close(),
  };
});

function plant(database: Database.Database, count: number): void {
  // What CAST makes of a text is in the encoding of the database.
  defineIdHash(database);
  database.function('in_utf8', (text: string) => Buffer.from(text));
  database.exec(`
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
    INSERT INTO hookbox_events (endpoint, id, id_hash, type, created_ms, created_ns, entity, verified, state,
      received_ms, settled_ms, due_ms, body)
    SELECT 'default', 'evt_' || n, hookbox_id_hash('evt_' || n), iif(n % 4000 = 1, 'order.failed', 'order.ready'), 0, 0, 'order::ord_' || (n % 7000), 1,
      'processed', ${START} + n * 1000, 1, 0, in_utf8('{"data":{"n":' || n || '}}')
    FROM n`);
}

it('reads no more bodies than it should, and lets deliveries in meanwhile', async () => {
  const database = merchantDatabase();
  await using inbox = sqliteInbox({ database });
  database.pragma('synchronous = FULL');
  plant(database, 120);
  database.exec(`
      UPDATE hookbox_events
      SET body = in_utf8('{"data":{"n":' || seq || ',"pad":"' || printf('%.*c', 1000000, 'x') || '"}}')`);

  let answered = 0;
  const searching = new AbortController();
  const deliveries = (async () => {
    while (!searching.signal.aborted) {
      await inbox.accept(incoming({ id: `new_${answered}` }), later());
      answered += 1;
    }
  })();
  const { operations } = inbox;
  if (operations === undefined) throw new Error('cannot be looked into');
  const pages = await allPages(operations, { body: [{ path: 'data.n', value: '3' }] }, 10);
  searching.abort();
  await deliveries;
  expect(idsOf(pages)).toEqual(['evt_3']);
  expect(await operations.indexNew(1_000)).toBeGreaterThan(0);
  expect(pages[0]?.examined).toBeLessThan(70 + answered);
  expect(pages.length).toBeGreaterThan(1);
  expect(answered).toBeGreaterThan(2 * pages.length);
});
