import Database from 'better-sqlite3';
import { array, assert, asyncProperty, boolean, constantFrom, integer, record, subarray } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entityOf } from '../../src/events/entity.ts';
import { fingerprintOf } from '../../src/inbox/fingerprint.ts';
import type { Inbox, IncomingEvent, StoredEvent } from '../../src/inbox/inbox.ts';
import type { EventFilter } from '../../src/inbox/operations/filter.ts';
import type { EventPage, Search } from '../../src/inbox/operations/search.ts';
import { search } from '../../src/inbox/sqlite/operations/search/search.ts';
import { noteImported } from '../../src/inbox/sqlite/operations/search/ranges.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { deadReasons, eventStates } from '../../src/inbox/state.ts';
import type { Attempt } from '../../src/inbox/work.ts';
import { discardEvents, rerunEvents } from '../../src/ops/act.ts';
import { listEvents } from '../../src/ops/find.ts';
import { rerun } from '../../src/ops/rerun.ts';
import { memoryInbox } from '../../src/inbox/memory.ts';
import { incoming, later } from '../inbox/incoming-event.ts';
import { merchantDatabase } from '../inbox/merchant-database.ts';
import { ownFolder, scratchFile } from '../inbox/scratch-folder.ts';
import { orderEvent, store } from '../processing/order-event.ts';
import { START } from '../processing/virtual-clock.ts';
import { busyShop, ERRORS, MERCHANTS, NUMBERS, TYPES } from './busy-shop.ts';
import { ANY, bury, handled, invalidThen } from './events-in-states.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** All pages of a search, as far as they go. */
async function allPages(
  { search: find }: Pick<Search, 'search'>,
  filter: EventFilter,
  limit: number,
): Promise<readonly EventPage[]> {
  const pages: EventPage[] = [];
  for (let before: number | null | undefined; before !== null;) {
    const page = await find(filter, { limit, ...(before !== undefined && { before }) });
    pages.push(page);
    before = page.next;
  }
  return pages;
}

const idsOf = (pages: readonly EventPage[]): string[] => pages.flatMap(({ events }) => events.map(({ id }) => id));

async function found(inbox: Inbox, filter: EventFilter): Promise<string[]> {
  const { events } = await listEvents(inbox, filter);
  return events.map(({ id }) => id);
}

describe('a search, whatever the filter', () => {
  /** More than a search looks at in its first step. */
  const COUNT = 600;
  const folder = ownFolder();
  let database: Database.Database;
  let inbox: Inbox;
  /** when what nobody handled was put away, by seq */
  let putAwayAt: ReadonlyMap<number, Date>;
  let stored: readonly { event: StoredEvent; attempts: readonly Attempt[]; data: Record<string, string | null> }[];
  beforeAll(async () => {
    database = new Database(`${folder.path}/shop.db`);
    inbox = sqliteInbox({ database });
    const delivered = await busyShop(inbox, database, COUNT);
    stored = await Promise.all(
      delivered.map(async (one) => {
        const event = await inbox.get(one);
        if (event === null) throw new Error(`${one.id} is not there`);
        const { data } = JSON.parse(Buffer.from(one.body).toString()) as { data: Record<string, string | null> };
        return { event, attempts: await inbox.attempts(one), data };
      }),
    );
    const rows = database
      .prepare<[], { seq: number; at: number }>(
        "SELECT seq, settled_ms AS at FROM hookbox_events WHERE state = 'ignored' AND discarded_ms IS NULL",
      )
      .all();
    putAwayAt = new Map(rows.map(({ seq, at }) => [seq, new Date(at)]));
  });
  afterAll(() => {
    database.close();
    folder[Symbol.dispose]();
  });

  const filters = record(
    {
      endpoint: constantFrom('default', 'second', 'third'),
      id: integer({ min: 0, max: 750 }).map((n) => `evt_${n}`),
      types: subarray([...TYPES, 'order.failed']),
      states: subarray([...eventStates]),
      deadReasons: subarray([...deadReasons]),
      since: integer({ min: -100, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
      until: integer({ min: -100, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
      entity: constantFrom('ord_7', 'ord_19', 'prod_3', 'loc_1', 'order:mer%3A2:ord_5', 'order:mer_1:ord_7', 'mer_1'),
      merchant: constantFrom('mer_1', 'mer:2', 'mer_3', ''),
      error: constantFrom('the till', 'THE TILL', '100%', '%', '_', 'drucker LÄUFT über', 'tillerror: a', 'nothing'),
      fingerprint: constantFrom(
        ...ERRORS.map((message) => fingerprintOf({ name: 'TillError', message })),
        'invalid',
        'nothing',
      ),
      ignoredSince: integer({ min: -100, max: 1_600 }).map((n) => new Date(START + n * MINUTE_MS)),
      retrying: boolean(),
      redelivered: boolean(),
      conflict: boolean(),
      payload: array(
        constantFrom(
          ...NUMBERS.map((value) => ({ path: 'data.total', value })),
          { path: 'data.total', value: '0' },
          { path: 'data.merchant_id', value: 'null' },
          { path: 'data.merchant_id', value: 'mer:2' },
          { path: 'data.odd "name"\\[0]', value: '2' },
          { path: 'data.odd "name"\\[1].ok', value: 'true' },
          { path: 'data.odd "name"\\[1]', value: '{"ok":true}' },
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );
  // With all sixteen conditions nothing is found; a few of them say more.
  const fewConditions = filters.chain((filter) =>
    subarray(Object.keys(filter) as (keyof EventFilter)[], { maxLength: 3 }).map(
      (names) => Object.fromEntries(names.map((name) => [name, filter[name]])) as EventFilter,
    ),
  );

  const sameNumber = new Map([
    ...['1.50', '1.5', '15e-1'].map((text) => [text, '1.5'] as const),
    ['-0.0', '0'],
    ['0', '0'],
  ]);
  const canonical = (text: string): string => sameNumber.get(text) ?? text;

  /** What each condition says, in the simplest words there are. */
  function fits({ event, attempts, data }: (typeof stored)[number], filter: EventFilter): boolean {
    const ids = [data['id'], data['product_id'], data['location_id']];
    // One without an entity is found by what its body says.
    const named =
      event.entity ?? (event.body === null ? null : entityOf(JSON.parse(Buffer.from(event.body).toString())));
    const names = named === null && event.body === null ? [] : [named, ...ids];
    const error = attempts.findLast((attempt) => attempt.error !== null)?.error;
    const print =
      event.state !== 'dead' || event.body === null ? null : error ? fingerprintOf(error) : event.deadReason;
    const text = error ? `${error.name}: ${error.message}` : null;
    const putAway = putAwayAt.get(event.seq) ?? null;
    const isRetrying = event.state === 'pending' && attempts.some(({ outcome }) => outcome === 'failed');
    return (
      (filter.endpoint === undefined || filter.endpoint === event.endpoint) &&
      (filter.id === undefined || filter.id === event.id) &&
      (filter.types === undefined || filter.types.some((type) => type === event.type)) &&
      (filter.states === undefined || filter.states.includes(event.state)) &&
      (filter.deadReasons === undefined || filter.deadReasons.some((reason) => reason === event.deadReason)) &&
      (filter.since === undefined || event.receivedAt >= filter.since) &&
      (filter.until === undefined || event.receivedAt < filter.until) &&
      (filter.entity === undefined || names.includes(filter.entity)) &&
      (filter.merchant === undefined || (data['merchant_id'] ?? null) === filter.merchant) &&
      (filter.error === undefined || text?.toLowerCase().includes(filter.error.toLowerCase()) === true) &&
      (filter.fingerprint === undefined || filter.fingerprint === print) &&
      (filter.ignoredSince === undefined || (putAway !== null && putAway >= filter.ignoredSince)) &&
      (filter.retrying === undefined || filter.retrying === isRetrying) &&
      (filter.redelivered === undefined || filter.redelivered === event.redeliveries.count > 0) &&
      (filter.conflict === undefined || filter.conflict === (event.conflict !== null)) &&
      (filter.payload ?? []).every(({ path, value }) => {
        if (event.body === null) return false;
        const body = Buffer.from(event.body).toString();
        if (path === 'data.total') return canonical(/"total":([^}]*)/.exec(body)?.[1] ?? '') === canonical(value);
        if (path === 'data.merchant_id') return String(data['merchant_id']) === value;
        const [number, { ok }] = data['odd "name"\\'] as unknown as [number, { ok: boolean }];
        if (path.endsWith('[0]')) return String(number) === value;
        return path.endsWith('.ok') && String(ok) === value;
      })
    );
  }

  it('has something of everything to find', () => {
    for (const state of eventStates) expect(stored.some(({ event }) => event.state === state)).toBe(true);
    expect(stored.some(({ event }) => event.body === null)).toBe(true);
    expect(MERCHANTS).toContain(null);
    expect(putAwayAt.size).toBeGreaterThan(0);
  });

  it.each([
    ['nothing is indexed yet', 0],
    ['half of the events are indexed', 300],
    ['all events are indexed', 600],
  ])('finds what fits, newest first and each once, when %s', async (_, indexed) => {
    database.exec('DELETE FROM hookbox_terms; DELETE FROM hookbox_progress');
    for (let left = COUNT; left > COUNT - indexed;) {
      left = (await inbox.operations?.indexNew(left - (COUNT - indexed))) ?? 0;
    }
    // A search that cannot write does not index either.
    const searching = search({
      database: () => database,
      write: () => Promise.reject(new Error('the disk is full')),
      notify: () => {},
    });
    let finds = 0;
    await assert(
      asyncProperty(fewConditions, integer({ min: 30, max: 500 }), async (filter, limit) => {
        const expected = stored.filter((one) => fits(one, filter)).toReversed();
        const pages = await allPages(searching, filter, limit);
        expect(idsOf(pages)).toEqual(expected.map(({ event }) => event.id));
        for (const { events, next } of pages) if (next !== null) expect(events).toHaveLength(limit);
        if (expected.length > 0 && expected.length < stored.length) finds += 1;
      }),
      { numRuns: 80 },
    );
    expect(finds).toBeGreaterThan(10);
  });
});

describe('a page', () => {
  /** Events that were received a second after the other up to now, all processed but for what `set` says. */
  function plant(database: Database.Database, count: number, set = 'seq = seq'): void {
    database.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
      INSERT INTO hookbox_events (endpoint, id, type, created_ms, created_ns, entity, verified, state, received_ms,
        settled_ms, due_ms, body)
      SELECT 'default', 'evt_' || n, iif(n % 4000 = 1, 'order.failed', 'order.ready'), 0, 0, 'order::ord_' || (n % 7000), 1,
        'processed', ${START} + n * 1000, 1, 0, CAST('{"data":{"n":' || n || '}}' AS BLOB)
      FROM n;
      UPDATE hookbox_events SET ${set}`);
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
    noteImported(database, 10_001, 10_200);
    noteImported(database, 10_201, 10_400);
    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');

    const old = { until: new Date(START - HOUR_MS) };
    const pages = await allPages(operations, old, 500);
    expect(idsOf(pages)).toHaveLength(400);
    // A later one, with as many events as it takes to be known by its own.
    database.exec('UPDATE hookbox_events SET received_ms = received_ms - 172800000 WHERE seq BETWEEN 12001 AND 12100');
    noteImported(database, 12_001, 12_100);
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
    for (let first = 1; first < 20_000; first += 200) noteImported(database, first, first + 199);
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
      SET body = CAST('{"data":{"n":' || seq || ',"pad":"' || printf('%.*c', 1000000, 'x') || '"}}' AS BLOB)`);

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

describe('the conditions of a search', () => {
  it('compares a text by what it says and a number by its value, whole and exactly', async () => {
    const cases: readonly (readonly [written: string, value: string, fits: boolean])[] = [
      ['12.5', '12.50', true],
      ['12.50', '12.5', true],
      ['12.50', '12.50', true],
      ['1250e-2', '12.5', true],
      ['100', '1e2', true],
      ['0.1', '0.10000000000000000001', false],
      ['12345678901234567890', '12345678901234567890', true],
      ['12345678901234567890', '12345678901234567891', false],
      ['1', '01', true],
      ['1', ' 1', false],
      ['-0.0', '0', true],
      ['1e400', 'Infinity', false],
      ['"12.50"', '12.50', true],
      ['"12.50"', '12.5', false],
      ['"\\u0061\\n\\ud83d\\ude00"', 'a\n😀', true],
      ['""', '', true],
      ['"null"', 'null', true],
      ['null', 'null', true],
      ['true', 'true', true],
      ['false', 'true', false],
      ['[1]', '[1]', false],
      ['{}', '{}', false],
      ['[]', '', false],
    ];
    await using inbox = sqliteInbox(scratchFile());
    await Promise.all(
      cases.map(([written], n) => inbox.accept(incoming({ id: `${n}`, body: `{"data":{"x":${written}}}` }), later())),
    );
    for (const [n, [written, value, fits]] of cases.entries()) {
      const ids = await found(inbox, { id: `${n}`, payload: [{ path: 'data.x', value }] });
      expect([written, value, ids.length]).toEqual([written, value, fits ? 1 : 0]);
    }
  });

  it('a path leads through lists and names of any kind, and nowhere else', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const names = ['a"b', 'a\\', '$', '#', '*', "it's", '?', ' ', '\n', '注文', '\u0000', '%', '-1', '"x":1,"y'];
    const data = Object.fromEntries(names.map((name, n) => [name, [[{ n }]]]));
    await inbox.accept(incoming({ body: JSON.stringify({ data }) }), later());
    for (const [n, name] of names.entries()) {
      expect(await found(inbox, { payload: [{ path: `data.${name}[0][0].n`, value: String(n) }] })).toEqual(['evt_1']);
      expect(await found(inbox, { payload: [{ path: `data.${name}[0][1].n`, value: String(n) }] })).toEqual([]);
      expect(await found(inbox, { payload: [{ path: `data.${name}[0][0].n.x`, value: String(n) }] })).toEqual([]);
    }
  });

  it('bodies that are broken, deep, large or gone break no page and fit nothing', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const bodies: Record<string, Uint8Array | string> = {
      'not JSON': '{"data":{"x":1}',
      empty: '',
      'not UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x00]),
      'JSON in another encoding': Buffer.from('{"data":{"x":1}}', 'utf16le'),
      'a zero byte': '{"data":{"x":\u00001}}',
      deep: `{"data":{"x":${'['.repeat(200_000)}1${']'.repeat(200_000)}}}`,
      'a number': '1',
      'a list': '[{"data":{"x":1}}]',
      JSON5: '{data:{x:1}}',
    };
    for (const [id, body] of Object.entries(bodies)) await inbox.accept(incoming({ id, body }), later());
    await inbox.accept(incoming({ id: 'large', body: `{"pad":"${'x'.repeat(1_000_000)}","data":{"x":1}}` }), later());
    await inbox.accept({ ...invalidThen(orderEvent('invalid')), body: Buffer.from('{"data":{"x":1}}') }, later());
    await handled(inbox, { outcome: 'processed' }, { ...orderEvent('pruned'), body: Buffer.from('{"data":{"x":1}}') });
    bury(database, 'pruned');

    expect(await found(inbox, { payload: [{ path: 'data.x', value: '1' }] })).toEqual(['invalid', 'large']);
    expect(await found(inbox, { merchant: 'mer_1' })).toEqual([]);
    expect(await inbox.operations?.indexNew(100)).toBe(0);
  });

  it('error texts are taken as they are, in any case of any alphabet, of the last attempt that has one', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const messages = ['100% sure', '1000 sure', 'a_b', 'axb', 'ÇA NE MARCHE PAS', 'it\'s \\ "quoted"'];
    for (const message of messages) {
      const error = { name: 'TillError', message, stack: 'secret stack' };
      await handled(inbox, { outcome: 'retry', error, dueAt: START }, orderEvent(message));
    }
    await handled(
      inbox,
      { outcome: 'dead', reason: 'failed', error: { name: 'Error', message: 'first', stack: null } },
      orderEvent('twice'),
    );
    await rerun(inbox, { endpoint: 'default', id: 'twice' });
    const claimed = await inbox.claimOne(orderEvent('twice'), { ...ANY, now: START + 10 });
    if (typeof claimed === 'string') throw new Error(claimed);
    const error = { name: 'Error', message: 'second', stack: null };
    await inbox.settle(claimed.lease, { outcome: 'dead', reason: 'failed', error }, START + 11);

    expect(await found(inbox, { error: '%' })).toEqual(['100% sure']);
    expect(await found(inbox, { error: '_' })).toEqual(['a_b']);
    expect(await found(inbox, { error: 'ça ne' })).toEqual(['ÇA NE MARCHE PAS']);
    expect(await found(inbox, { error: 'IT\'S \\ "' })).toEqual(['it\'s \\ "quoted"']);
    expect(await found(inbox, { error: 'TillError: 1000' })).toEqual(['1000 sure']);
    expect(await found(inbox, { error: 'secret stack' })).toEqual([]);
    expect(await found(inbox, { error: 'first' })).toEqual([]);
    expect(await found(inbox, { error: 'second' })).toEqual(['twice']);
    expect(await found(inbox, { error: '' })).toHaveLength(7);
  });

  it.each([
    ['a list of no types', { types: [] }],
    ['a list of no states', { states: [] }],
    ['a list of no reasons', { deadReasons: [] }],
  ])('%s fits nothing', async (_, filter) => {
    await using inbox = sqliteInbox(scratchFile());
    await store(inbox, orderEvent('evt_1'));
    expect(await listEvents(inbox, filter)).toEqual({ events: [], next: null, examined: expect.any(Number) });
  });

  it.each<readonly [string, object]>([
    ['an unknown condition', { state: ['dead'] }],
    ['a condition of Object itself', { constructor: 'x' }],
    ['an unknown state', { states: ['died'] }],
    ['one state instead of a list', { states: 'dead' }],
    ['an unknown reason', { deadReasons: ['sad'] }],
    ['a time that is none', { since: new Date(NaN) }],
    ['a time as text', { until: '2026-01-01' }],
    ['a flag as text', { retrying: 'yes' }],
    ['a number for a text', { id: 7 }],
    ['no condition for the body', { payload: [null] }],
    ['half a condition for the body', { payload: [{ path: 'data.id' }] }],
    ...['', '.', 'a.', '.a', 'a..b', '[0]', 'a[]', 'a[x]', 'a[-1]', 'a[0', 'a]', 'a[0]b', 'a[99999999999]'].map(
      (path): [string, object] => [`the path ${path}`, { payload: [{ path, value: '1' }] }],
    ),
  ])('%s is refused, since it would find more than is meant', async (_, filter) => {
    await using inbox = sqliteInbox(scratchFile());
    await store(inbox, orderEvent('evt_1'));
    await expect(listEvents(inbox, filter as EventFilter)).rejects.toMatchObject({
      name: 'ConfigurationError',
      code: 'INVALID_OPTION',
    });
  });

  it.each([0, -1, 1.5, NaN, 501])('a page of %s events is refused', async (limit) => {
    await using inbox = sqliteInbox(scratchFile());
    await expect(listEvents(inbox, {}, { limit })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('an inbox that cannot be looked into says so', async () => {
    await using inbox = memoryInbox();
    await expect(listEvents(inbox)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});

describe('entities and merchants', () => {
  const of = (id: string, type: string, data: object, entity: string | null): IncomingEvent =>
    incoming({ id, type, entity, body: JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data }) });

  it.each([
    ['before they are indexed', false],
    ['when they are indexed', true],
  ])('are found by name and by id %s', async (_, indexed) => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const events = [
      of('order', 'order.ready', { merchant_id: 'mer_7', id: 'ord_42' }, 'order:mer_7:ord_42'),
      of('colon', 'order.ready', { merchant_id: 'm%3A:x', id: 'a:b%' }, 'order:m%253A%3Ax:a%3Ab%25'),
      of('cart', 'cart.abandoned', { id: 'cart_1' }, 'cart::cart_1'),
      of('stock', 'inventory.updated', { product_id: 'prod_1', location_id: 'loc_1' }, 'inventory::prod_1:loc_1'),
      of('nowhere', 'inventory.updated', { product_id: 'prod_1' }, 'inventory::prod_1:'),
      of('own', 'order.ready', { merchant_id: 'mer_7' }, 'table:7'),
      of('own like ours', 'order.ready', {}, 'order:a:b:c'),
      of('alone', 'shop.opened', { merchant_id: 'mer_8' }, null),
      of('odd merchant', 'order.ready', { merchant_id: { id: 'mer_9' } }, null),
    ];
    for (const event of events) await inbox.accept(event, later());
    using lock = indexed ? null : lockOf(file);
    expect(lock === null).toBe(indexed);
    if (indexed) expect(await inbox.operations?.indexNew(100)).toBe(0);

    const expected: readonly (readonly [EventFilter, readonly string[]])[] = [
      [{ entity: 'order:mer_7:ord_42' }, ['order']],
      [{ entity: 'ord_42' }, ['order']],
      [{ entity: 'ord_4' }, []],
      [{ entity: 'mer_7' }, []],
      [{ entity: 'a:b%' }, ['colon']],
      [{ entity: 'a%3Ab%25' }, []],
      [{ entity: 'cart_1' }, ['cart']],
      [{ entity: 'prod_1' }, ['nowhere', 'stock']],
      [{ entity: 'loc_1' }, ['stock']],
      [{ entity: '' }, []],
      [{ entity: 'table:7' }, ['own']],
      [{ entity: '7' }, []],
      [{ entity: 'c' }, []],
      [{ merchant: 'mer_7' }, ['own', 'order']],
      [{ merchant: 'm%3A:x' }, ['colon']],
      [{ merchant: 'mer_8' }, ['alone']],
      [{ merchant: 'mer_9' }, []],
      [{ merchant: '{"id":"mer_9"}' }, []],
      [{ merchant: 'mer_7', entity: 'ord_42' }, ['order']],
    ];
    // At the same time, since each of them waits a while for a lock.
    const pages = await Promise.all(expected.map(([filter]) => found(inbox, filter)));
    expect(pages).toEqual(expected.map(([, ids]) => ids));
  });

  /** Holds the lock of a file, so that nothing else can write to it. */
  function lockOf(file: string): Disposable {
    const database = new Database(file);
    database.exec('BEGIN IMMEDIATE');
    return {
      [Symbol.dispose]: () => {
        database.exec('ROLLBACK');
        database.close();
      },
    };
  }

  it('become indexed by being searched', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await Promise.all(
      Array.from({ length: 300 }, (_, n) => store(inbox, orderEvent(`evt_${n}`, { order: `ord_${n}` }))),
    );
    const examined: number[] = [];
    for (let time = 0; time < 10; time += 1) {
      examined.push((await listEvents(inbox, { entity: 'ord_0' })).examined);
    }
    expect(examined.at(-1)).toBe(1);
    expect(await inbox.operations?.indexNew(1)).toBe(0);
  });

  it('are indexed a batch at a time, and how many are left is told', async () => {
    await using inbox = sqliteInbox(scratchFile());
    for (let n = 0; n < 7; n += 1) await store(inbox, orderEvent(`evt_${n}`));
    expect(await inbox.operations?.indexNew(3)).toBe(4);
    expect(await inbox.operations?.indexNew(3)).toBe(1);
    expect(await inbox.operations?.indexNew(3)).toBe(0);
    expect(await inbox.operations?.indexNew(3)).toBe(0);
  });

  it.each([
    ['after it was indexed', true],
    ['before it is', false],
  ])('are those of the body that took the place of another, %s', async (_, indexed) => {
    await using inbox = sqliteInbox(scratchFile());
    const index = async (): Promise<void> => {
      while ((await inbox.operations?.indexNew(10)) !== 0);
    };
    const first = of('evt_1', 'order.ready', { merchant_id: 'mer_1', id: 'ord_1' }, 'order:mer_1:ord_1');
    const second = of('evt_1', 'order.ready', { merchant_id: 'mer_2', id: 'ord_2' }, 'order:mer_2:ord_2');
    await inbox.accept({ ...first, verified: false }, later());
    await inbox.accept(invalidThen(of('evt_2', 'order.ready', { merchant_id: 'mer_1' }, null)), later());
    if (indexed) await index();
    await inbox.accept(second, later());
    await inbox.accept({ ...second, id: 'evt_2' }, later());
    await index();

    for (const filter of [{ entity: 'ord_1' }, { entity: 'order:mer_1:ord_1' }, { merchant: 'mer_1' }]) {
      expect(await found(inbox, filter)).toEqual([]);
    }
    for (const filter of [{ entity: 'ord_2' }, { entity: 'order:mer_2:ord_2' }, { merchant: 'mer_2' }]) {
      expect(await found(inbox, filter)).toEqual(['evt_2', 'evt_1']);
    }
  });

  it.each([
    ['before they are indexed', false],
    ['when they are indexed', true],
  ])('of events without one are those that their bodies name, %s', async (_, indexed) => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const data = { merchant_id: 'mer_7', id: 'ord_2' };
    const events = [
      invalidThen(of('invalid', 'order.ready', { ...data, items: 'none' }, null)),
      of('unknown', 'refund.made', { id: 'ref_1', order_id: 'ord_2', cart_id: 'cart_2', product_id: 'prod_2' }, null),
      of('alone', 'order.ready', data, null),
      of('number', 'refund.made', { id: 42, order_id: { id: 'ord_2' }, cart_id: null, product_id: '' }, null),
      of('named otherwise', 'order.ready', data, 'table:7'),
      { ...invalidThen(orderEvent('no JSON')), body: Buffer.from('{"data":{"id":"ord_2"}') },
    ];
    for (const event of events) await inbox.accept(event, later());
    using lock = indexed ? null : lockOf(file);
    expect(lock === null).toBe(indexed);
    if (indexed) expect(await inbox.operations?.indexNew(100)).toBe(0);

    const expected = {
      ord_2: ['alone', 'unknown', 'invalid'],
      'order:mer_7:ord_2': ['alone', 'invalid'],
      ref_1: ['unknown'],
      cart_2: ['unknown'],
      prod_2: ['unknown'],
      '42': ['number'],
      mer_7: [],
      null: [],
      '': [],
    };
    const pages = await Promise.all(Object.keys(expected).map((entity) => found(inbox, { entity })));
    expect(pages).toEqual(Object.values(expected));
    expect(await found(inbox, { payload: [{ path: 'data.items', value: 'none' }] })).toEqual(['invalid']);
  });

  it('are known of an invalid event once a rerun has made it valid', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await store(
      inbox,
      invalidThen(orderEvent('evt_1', { order: 'ord_1' })),
      invalidThen(orderEvent('evt_2', { order: 'ord_1' })),
    );
    await inbox.operations?.indexNew(10);
    const own = { entity: () => 'table:7' };
    expect(await found(inbox, { entity: 'table:7' })).toEqual([]);
    await rerun(inbox, { endpoint: 'default', id: 'evt_1' }, own);
    await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_2' }], { actor: 'ada' }, own);
    expect(await found(inbox, { entity: 'table:7' })).toEqual(['evt_2', 'evt_1']);
  });

  it('stay known of what was pruned', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const event = of('evt_1', 'order.ready', { merchant_id: 'mer_7', id: 'ord_42' }, 'order:mer_7:ord_42');
    await handled(inbox, { outcome: 'processed' }, event);
    bury(database, 'evt_1');
    for (const filter of [{ entity: 'ord_42' }, { merchant: 'mer_7' }]) {
      expect(await found(inbox, filter)).toEqual(['evt_1']);
    }
  });
});
