import type Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { EventFilter } from '../../src/inbox/operator/filter.ts';
import { noteImported } from '../../src/inbox/operator/finding/seq-ranges.ts';
import { atOnce } from '../../src/inbox/rules/steps.ts';
import { receivedTimes } from '../../src/inbox/sqlite/operator/search/received-times.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { discardEvents } from '../../src/ops/discard.ts';
import { rerunEvents } from '../../src/ops/rerun.ts';
import { listEvents } from '../../src/ops/find.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { handled } from './events-in-states.ts';
import { allPages, idsOf } from './found-pages.ts';

const HOUR_MS = 60 * 60_000;

describe('a page', () => {
  /** Events that were received a second after the other up to now, all processed but for what `set` says. */
  function plant(database: Database.Database, count: number, set?: string): void {
    // What CAST makes of a text is in the encoding of the database.
    database.function('in_utf8', (text: string) => Buffer.from(text));
    database.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
      INSERT INTO hookbox_events (endpoint, id, type, created_ms, created_ns, entity, verified, state, received_ms,
        settled_ms, due_ms, body)
      SELECT 'default', 'evt_' || n, iif(n % 4000 = 1, 'order.failed', 'order.ready'), 0, 0, 'order::ord_' || (n % 7000), 1,
        'processed', ${START} + n * 1000, 1, 0, in_utf8('{"data":{"n":' || n || '}}')
      FROM n`);
    if (set !== undefined) database.exec(`UPDATE hookbox_events SET ${set}`);
  }
  const PENDING = "state = 'pending', settled_ms = NULL";

  const filters: Record<string, readonly [filter: EventFilter, fits: (n: number) => boolean, set?: string]> = {
    'without a filter': [{}, () => true],
    'by type': [{ types: ['order.failed'] }, (n) => n % 4_000 === 1],
    'that nothing fits': [{ types: ['order.none'] }, () => false],
    'by payload': [{ payload: [{ path: 'data.n', value: '7' }] }, (n) => n === 7],
    'by error': [{ error: 'x' }, () => false],
    'by an entity that is not indexed yet': [{ entity: 'ord_6999' }, (n) => n % 7_000 === 6_999],
    'by state, when all are ready': [
      { states: ['pending'], payload: [{ path: 'data.n', value: '19999' }] },
      (n) => n === 19_999,
      PENDING,
    ],
    'by state and type, when all are ready': [
      { states: ['pending'], types: ['order.failed'] },
      (n) => n % 4_000 === 1,
      PENDING,
    ],
    'by state, when all are fresh': [
      { states: ['pending'], payload: [{ path: 'data.n', value: '9' }] },
      (n) => n === 9,
      `${PENDING}, parked = 2`,
    ],
    'by state, when all are dead': [
      { states: ['dead', 'ignored'], payload: [{ path: 'data.n', value: '9' }] },
      (n) => n === 9,
      "state = 'dead', dead_reason = 'failed'",
    ],
  };
  it.each(Object.entries(filters))('%s looks at 5,000 of 20,000 events at most', async (_, [filter, fits, set]) => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(database, 20_000, set);

    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    const pages = await allPages(operations, filter, 500);
    const expected = Array.from({ length: 20_000 }, (_unused, n) => n + 1).filter(fits);
    expect(idsOf(pages)).toEqual(expected.toReversed().map((n) => `evt_${n}`));
    for (const { examined } of pages) expect(examined).toBeLessThanOrEqual(5_000);
    expect(pages.length).toBeLessThanOrEqual(4 + expected.length / 500 + 1);
    const examined = pages.reduce((sum, page) => sum + page.examined, 0);
    expect(examined).toBeLessThanOrEqual(20_000);
  });

  it('looks only at what an index knows, of however many events', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(
      database,
      20_000,
      `state = iif(seq % 5000 = 0, 'dead', 'processed'), dead_reason = iif(seq % 5000 = 0, 'failed', NULL)`,
    );
    await inbox.accept(incoming({ id: 'evt_20', body: 'other' }), later());
    database.exec(`
      UPDATE hookbox_events SET ${PENDING}, failures = 1 WHERE seq = 1;
      UPDATE hookbox_events SET ${PENDING}, parked = 1 WHERE seq = 2;
      UPDATE hookbox_events SET state = 'processing', settled_ms = NULL, lease_until_ms = 1, claimed_ms = 1 WHERE seq = 3;
    `);
    while ((await inbox.operations?.indexNew(5_000)) !== 0);

    const examined = async (filter: EventFilter): Promise<number> => {
      const page = await listEvents(inbox, filter);
      expect(page.next).toBeNull();
      return page.examined;
    };
    expect(await examined({ states: ['dead'] })).toBe(4);
    expect(await examined({ deadReasons: ['invalid'] })).toBe(4);
    expect(await examined({ fingerprint: 'failed' })).toBe(4);
    expect(await examined({ states: ['ignored', 'dead', 'pending', 'processing'] })).toBe(7);
    expect(await examined({ states: ['pending'], types: ['order.ready'] })).toBe(1);
    expect(await examined({ retrying: true })).toBe(1);
    expect(await examined({ redelivered: true })).toBe(1);
    expect(await examined({ conflict: true })).toBe(1);
    expect(await examined({ id: 'evt_77' })).toBe(1);
    expect(await examined({ entity: 'ord_42' })).toBe(3);
    // The narrowest of several.
    expect(await examined({ states: ['dead', 'pending'], entity: 'ord_42', types: ['order.ready'] })).toBe(3);
    expect(await examined({ redelivered: true, entity: 'ord_42' })).toBe(1);
  });

  it('begins and ends where the time is, with an hour on both sides', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(database, 20_000);
    const at = (n: number): Date => new Date(START + n * 1_000);

    const since = await listEvents(inbox, { since: at(19_990) }, { limit: 500 });
    expect(since.next).toBeNull();
    expect(since.examined).toBeLessThan(3_650);
    expect(since.events).toHaveLength(11);

    const until = await listEvents(inbox, { until: at(5_000) }, { limit: 10 });
    expect(until.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, n) => 4_999 - n));
    expect(until.examined).toBeLessThan(3_650);

    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    const both = await allPages(operations, { since: at(10_000), until: at(10_003) }, 500);
    expect(idsOf(both)).toEqual(['evt_10002', 'evt_10001', 'evt_10000']);
    expect(both.length).toBeLessThanOrEqual(2);

    expect(await listEvents(inbox, { since: at(90_000) })).toEqual({ events: [], next: null, examined: 0 });
    expect(await listEvents(inbox, { until: at(-90_000) })).toEqual({ events: [], next: null, examined: 0 });
  });

  it.each([
    [
      'events here and there that have a time of their own',
      `UPDATE hookbox_events SET received_ms = 0 WHERE seq % 20 = 0;
       UPDATE hookbox_events SET received_ms = received_ms * 2 WHERE seq % 20 = 1`,
    ],
    ['a single one where halving begins', 'UPDATE hookbox_events SET received_ms = 0 WHERE seq IN (10000, 10001)'],
    [
      'a clock that went an hour slow for a while',
      'UPDATE hookbox_events SET received_ms = received_ms - 3599000 WHERE seq BETWEEN 9000 AND 11000',
    ],
    [
      'a clock that went an hour fast for a while',
      'UPDATE hookbox_events SET received_ms = received_ms + 3599000 WHERE seq BETWEEN 9000 AND 11000',
    ],
  ])('is not misled by %s', async (_, change) => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(database, 20_000);
    database.exec(change);
    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    for (const n of [1, 3_000, 6_000, 7_000, 13_000, 14_000, 19_900]) {
      const within = { since: new Date(START + n * 1_000), until: new Date(START + (n + 60) * 1_000) };
      const expected = database
        .prepare('SELECT id FROM hookbox_events WHERE received_ms >= ? AND received_ms < ? ORDER BY seq DESC')
        .pluck()
        .all(within.since.getTime(), within.until.getTime());
      expect(idsOf(await allPages(operations, within, 500))).toEqual(expected);
      expect(expected.length).toBeGreaterThan(0);
    }
  });

  it('skips nothing of what an import has put among newer events, and goes on skipping around it', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(database, 20_000);
    // Two days older than what is around it, in two batches.
    database.exec(`UPDATE hookbox_events SET received_ms = received_ms - 172800000 WHERE seq BETWEEN 10001 AND 10400`);
    atOnce(noteImported(receivedTimes(database), 10_001, 10_200));
    atOnce(noteImported(receivedTimes(database), 10_201, 10_400));
    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');

    const old = { until: new Date(START - HOUR_MS) };
    const pages = await allPages(operations, old, 500);
    expect(idsOf(pages)).toHaveLength(400);
    // A later one, with as many events as it takes to be known by its own.
    database.exec('UPDATE hookbox_events SET received_ms = received_ms - 172800000 WHERE seq BETWEEN 12001 AND 12100');
    atOnce(noteImported(receivedTimes(database), 12_001, 12_100));
    expect(idsOf(await allPages(operations, old, 500))).toHaveLength(500);
    const around = await allPages(
      operations,
      { since: new Date(START + 2_000_000), until: new Date(START + 2_010_000) },
      500,
    );
    expect(idsOf(around)).toHaveLength(10);
    expect(around.reduce((sum, page) => sum + page.examined, 0)).toBeLessThan(10_000);
    const recent = await allPages(operations, { since: new Date(START + 19_990_000) }, 500);
    expect(recent.reduce((sum, page) => sum + page.examined, 0)).toBeLessThan(6_000);
  });

  it('an import into an empty file is in order, so searches skip as ever', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    plant(database, 20_000);
    for (let first = 1; first < 20_000; first += 200) atOnce(noteImported(receivedTimes(database), first, first + 199));
    expect((await listEvents(inbox, { since: new Date(START + 19_990_000) })).examined).toBeLessThan(3_650);
  });

  it('goes on where the one before ended while events arrive, are rerun and are discarded', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const failed = { outcome: 'dead', reason: 'failed', error: { name: 'Error', message: 'no', stack: null } } as const;
    await Promise.all(Array.from({ length: 120 }, (_, n) => handled(inbox, failed, orderEvent(`evt_${n}`))));
    const by = { actor: 'ada' };

    const seen: string[] = [];
    let round = 0;
    for (let before: number | null | undefined; before !== null;) {
      const { events, next } = await listEvents(inbox, { states: ['dead'] }, { limit: 10, before: before ?? null });
      seen.push(...events.map(({ id }) => id));
      before = next;
      round += 1;
      // What was shown goes, what is to come partly goes, and others come.
      await rerunEvents(inbox, events.slice(0, 5), by);
      await discardEvents(inbox, [{ endpoint: 'default', id: `evt_${round}` }], by);
      await handled(inbox, failed, orderEvent(`later_${round}`));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => id.startsWith('later'))).toEqual([]);
    expect(seen.length).toBeGreaterThan(100);
  });

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
    const pages = await allPages(operations, { payload: [{ path: 'data.n', value: '3' }] }, 10);
    searching.abort();
    await deliveries;
    expect(idsOf(pages)).toEqual(['evt_3']);
    // Nor does the index take them in at once, in the commit that deliveries share.
    expect(await operations.indexNew(1_000)).toBeGreaterThan(0);
    expect(pages[0]?.examined).toBeLessThan(70 + answered);
    expect(pages.length).toBeGreaterThan(1);
    // Many times while a page is looked for, and not only between two of them.
    expect(answered).toBeGreaterThan(2 * pages.length);
  });
});
