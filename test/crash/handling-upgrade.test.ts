import Database from 'better-sqlite3';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import type { IncomingEvent } from '../../src/inbox/inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { later } from '../inbox/incoming-event.ts';
import { silent } from '../inbox/order-delivery.ts';
import { scratchFile } from '../inbox/scratch-folder.ts';
import { orderEvent } from '../processing/order-event.ts';
import { START, VirtualClock } from '../processing/virtual-clock.ts';

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
const ADDED_COLUMNS = /,\s*(?:fingerprint TEXT|erased_ms INTEGER|discarded_ms INTEGER)/g;

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
