import Database from 'better-sqlite3';
import { KNOWN_VERSION } from '../../src/inbox/sqlite/opening/migrations.ts';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import type { Scope } from '../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, TAKER_MS } from '../../src/inbox/rules/takers.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { later } from '../helpers/incoming-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, type OrderEventParts } from '../helpers/order-event.ts';
import { START, VirtualClock } from '../helpers/virtual-clock.ts';

const SCHEMA_1 = readFileSync(new URL('handling-schema-1.sql', import.meta.url), 'utf8');

/** A file of the first version, with the connection of a process that still runs that. */
function fileOfVersion1() {
  const file = scratchFile();
  const database = new Database(file);
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.exec(SCHEMA_1);
  const insert = database.prepare(`
    INSERT INTO hookbox_events
      (endpoint, id, type, created_ms, created_ns, entity, verified, state, dead_reason, received_ms, due_ms, settled_ms, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  `);
  const insertOld = ({ endpoint, id, type, created, entity, receivedAt, body, valid }: IncomingEvent): void => {
    const state = valid ? ['pending', null] : ['dead', 'invalid'];
    const about = [endpoint, id, type, created?.ms ?? null, created?.ns ?? null, entity, 1];
    insert.run(...about, ...state, receivedAt, receivedAt, valid ? null : receivedAt, body);
  };
  return { file, database, insertOld };
}

const events = [
  orderEvent('second', { order: 'a', createdAt: 2 }),
  orderEvent('first', { order: 'a', createdAt: 1 }),
  orderEvent('other', { order: 'b', type: 'order.ready' }),
];
const invalid: IncomingEvent = {
  ...orderEvent('invalid'),
  body: Buffer.from('{"id":"invalid"}'),
  type: null,
  created: null,
  entity: null,
  valid: false,
};

it('a file of the first schema version keeps its events through the upgrade, and they are handled', async () => {
  const { file, database, insertOld } = fileOfVersion1();
  for (const event of [...events, invalid]) insertOld(event);

  await using inbox = sqliteInbox(file);
  const versions = database.prepare('SELECT version FROM hookbox_migrations ORDER BY version').pluck().all();
  expect(versions[0]).toBe(1);
  expect(versions.length).toBeGreaterThan(1);
  const kept = await inbox.list();
  expect(kept.map(({ id, state }) => [id, state])).toEqual([
    ['second', 'pending'],
    ['first', 'pending'],
    ['other', 'pending'],
    ['invalid', 'dead'],
  ]);
  expect(kept.map(({ body }) => Buffer.from(body ?? []).toString())).toEqual(
    [...events, invalid].map(({ body }) => Buffer.from(body).toString()),
  );
  for (const event of [...events, invalid]) {
    expect(await inbox.accept(event, later())).toEqual({ result: 'duplicate', conflict: false, replaced: false });
  }

  const clock = new VirtualClock();
  const handled: string[] = [];
  const processor = createProcessor({
    inbox,
    clock,
    logger: silent,
    handlers: {
      '*': async ({ id }, context) => {
        await context.transaction(() => handled.push(id));
      },
    },
  });
  await processor.start();
  await clock.advance(2_000);
  expect(handled.toSorted()).toEqual(['first', 'other', 'second']);
  expect(handled.indexOf('first')).toBeLessThan(handled.indexOf('second'));

  // The old half of a rolling deploy goes on storing.
  insertOld(orderEvent('late', { order: 'a', createdAt: 0, receivedAt: START + 1_000 }));
  await clock.advance(2_000);
  expect(handled.at(-1)).toBe('late');
  expect((await inbox.list()).map(({ state }) => state)).toEqual([
    'processed',
    'processed',
    'processed',
    'dead',
    'processed',
  ]);
  await processor.close();
});

/** SQLite writes columns that a later version adds behind the last one. */
const ADDED_COLUMNS =
  /,\s*(?:fingerprint TEXT|erased_ms INTEGER|discarded_ms INTEGER|yields INTEGER [^,]*\(0, 1\)\)|trace TEXT|(?:cleared|effect|closing) INTEGER [^,]*\(0, 1\)\))/g;

it('that file is what the first version makes, in every table and index', async () => {
  const { database } = fileOfVersion1();
  const file = scratchFile();
  await sqliteInbox(file).close();
  const fresh = new Database(file);
  onTestFinished(() => void fresh.close());
  const schemaOf = (of: Database.Database): Map<string, string> => {
    const rows = of
      .prepare<[], { name: string; sql: string }>('SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL')
      .all();
    return new Map(
      rows.map(({ name, sql }) => [name, sql.replaceAll(ADDED_COLUMNS, '').replaceAll(/\s+/g, ' ').trim()]),
    );
  };
  const now = schemaOf(fresh);
  const then = schemaOf(database);
  expect(then.size).toBeGreaterThan(3);
  for (const [name, sql] of then) expect(now.get(name), name).toBe(sql);
});

/** What a process of the versions before endpoints were known does about takers, in its own words. */
function oldProcess(file: string) {
  const database = new Database(file);
  onTestFinished(() => void database.close());
  return {
    announce(type: string, now: number): void {
      const sql = `
        INSERT INTO hookbox_takers (type, seen_ms) VALUES (:type, :now)
        ON CONFLICT (type) DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms)`;
      database.prepare(sql).run({ type, now });
    },
    /** Whether it would ignore events of a type. */
    wouldIgnore(type: string, now: number): boolean {
      const sql =
        "SELECT NOT EXISTS (SELECT 1 FROM hookbox_takers WHERE hookbox_takers.type IN (:type, '*') AND seen_ms > :takenSince)";
      return (
        database
          .prepare(sql)
          .pluck()
          .get({ type, takenSince: now - TAKER_MS }) === 1
      );
    },
  };
}

describe('while a deploy is under way, old and new processes share a file:', () => {
  const at = (endpoint: string, id: string, parts: OrderEventParts = {}): IncomingEvent => ({
    ...orderEvent(id, { order: `${endpoint} ${id}`, ...parts }),
    endpoint,
  });
  const stateOf = async (inbox: Inbox, endpoint: string, id: string) => (await inbox.get({ endpoint, id }))?.state;
  const CREATED: Scope = { endpoints: ['shop-a'], types: ['order.created'] };
  const CARTS: Scope = { endpoints: ['shop-b'], types: ['cart.abandoned'] };

  it('an old one does not ignore what a new one handles, from one announcement to the next', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const old = oldProcess(file);
    expect(old.wouldIgnore('order.created', START)).toBe(true);
    await inbox.announce(CREATED, START, null);
    // Five minutes lie between two announcements.
    for (const now of [START, START + TAKER_MS / 2 + 10_000]) expect(old.wouldIgnore('order.created', now)).toBe(false);
    await inbox.announce({ endpoints: ['shop-b'], types: '*' }, START, null);
    expect(old.wouldIgnore('order.ready', START + TAKER_MS / 2)).toBe(false);
  });

  it('a new one takes an old one for a taker at every endpoint', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const old = oldProcess(file);
    await inbox.accept(at('shop-b', 'evt_1'), later());
    old.announce('order.created', START);
    expect(await inbox.unhandled(START + TAKER_MS - 1)).toEqual([]);
    const now = START + TAKER_MS;
    await inbox.announce(CARTS, now, START);
    expect(await stateOf(inbox, 'shop-b', 'evt_1')).toBe('pending');
    // It has gone, and is missed.
    expect(await inbox.unhandled(now)).toMatchObject([{ endpoint: 'shop-b', since: new Date(START) }]);
    const later7 = START + IGNORE_AFTER_MS;
    await inbox.announce(CARTS, later7, later7 - TAKER_MS);
    expect(await stateOf(inbox, 'shop-b', 'evt_1')).toBe('ignored');
  });

  it('a new one is a taker at its own endpoint only, although it tells old ones of its types', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await inbox.accept(at('shop-a', 'here'), later());
    await inbox.accept(at('shop-b', 'there'), later());
    for (let now = START; now < START + 2 * TAKER_MS; now += TAKER_MS / 2) await inbox.announce(CREATED, now, null);
    await inbox.announce(CARTS, START + 2 * TAKER_MS, START + TAKER_MS);
    expect(await stateOf(inbox, 'shop-a', 'here')).toBe('pending');
    expect(await stateOf(inbox, 'shop-b', 'there')).toBe('ignored');
  });

  it('what an old one says is not forgotten when new ones say the same after it, or at the same moment', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const old = oldProcess(file);
    await inbox.accept(at('shop-b', 'evt_1'), later());
    for (const now of [START, START + TAKER_MS / 2, START + TAKER_MS]) {
      await inbox.announce(CREATED, now, null);
      old.announce('order.created', now);
      await inbox.announce(CREATED, now, null);
      await inbox.announce(CREATED, now + 1, null);
    }
    const seen = START + TAKER_MS;
    expect(await inbox.unhandled(seen + TAKER_MS - 1)).toEqual([]);
    expect(await inbox.unhandled(seen + TAKER_MS)).toMatchObject([{ endpoint: 'shop-b', since: new Date(seen) }]);
  });

  it('an event of an old handler holds back newer ones while that was seen in the last ten minutes', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const old = oldProcess(file);
    await inbox.accept(at('shop-b', 'older', { order: 'one', createdAt: 1 }), later());
    await inbox.accept(at('shop-b', 'newer', { order: 'one', createdAt: 2, type: 'order.ready' }), later());
    const ready: Scope = { endpoints: ['shop-b'], types: ['order.ready'] };
    const claim = (now: number) => inbox.claim({ ...ready, leaseMs: 1_000, ordered: true, now }, 10);
    old.announce('order.created', START);
    await inbox.announce(CREATED, START + 1, null);
    expect(await claim(START + TAKER_MS - 1)).toEqual([]);
    await inbox.announce(ready, START + TAKER_MS, null);
    expect(await claim(START + TAKER_MS)).toMatchObject([{ id: 'newer' }]);
  });

  it('a file of the version before gets what is new, and what was said of takers holds', async () => {
    const file = scratchFile();
    const database = new Database(file);
    onTestFinished(() => void database.close());
    await sqliteInbox(file).close();
    // As the version before left it.
    const indexes = database.prepare<[], { name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%(endpoint, %' AND name NOT LIKE '%rejected%'",
    );
    for (const { name } of indexes.all()) database.exec(`DROP INDEX ${name}`);
    database.exec(`
      DROP INDEX hookbox_events_waiting_of_type;
      DROP TABLE hookbox_handling;
      ALTER TABLE hookbox_takers DROP COLUMN mirrored_ms;
      ALTER TABLE hookbox_takers DROP COLUMN others_ms;
      DROP TABLE hookbox_clock;
      DROP INDEX hookbox_events_yielding;
      DROP INDEX IF EXISTS hookbox_events_holding;
      DROP INDEX hookbox_events_uncleared;
      ALTER TABLE hookbox_events DROP COLUMN cleared;
      ALTER TABLE hookbox_events DROP COLUMN effect;
      ALTER TABLE hookbox_events DROP COLUMN closing;
      DROP INDEX hookbox_attempts_found;
      ALTER TABLE hookbox_attempts DROP COLUMN found_by;
      ALTER TABLE hookbox_events DROP COLUMN yields;
      ALTER TABLE hookbox_events DROP COLUMN trace;
      ALTER TABLE hookbox_attempts DROP COLUMN skipped;
      DROP TABLE hookbox_processors;
      DROP TABLE hookbox_marks;
      DROP TABLE hookbox_pauses;
      DROP TABLE hookbox_event_acts;
      ALTER TABLE hookbox_bulks DROP COLUMN does;
      ALTER TABLE hookbox_bulks DROP COLUMN heard_ms;
      ALTER TABLE hookbox_bulks DROP COLUMN heard_worked;
      ALTER TABLE hookbox_bulks DROP COLUMN stopped;
      DELETE FROM hookbox_migrations WHERE version >= 4;
    `);
    oldProcess(file).announce('order.created', START);
    await using inbox = sqliteInbox(file);
    expect(database.prepare('SELECT version, needs FROM hookbox_migrations ORDER BY version DESC').get()).toEqual({
      version: KNOWN_VERSION,
      needs: 13,
    });
    await inbox.accept(at('shop-b', 'evt_1'), later());
    await inbox.announce({ ...CREATED, types: '*' }, START + 1, null);
    expect(await inbox.unhandled(START + TAKER_MS)).toMatchObject([{ endpoint: 'shop-b', since: new Date(START) }]);
  });
});
