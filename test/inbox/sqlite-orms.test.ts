import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import knex from 'knex';
import { Kysely, SqliteDialect } from 'kysely';
import { expect, it, onTestFinished, vi } from 'vitest';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { EVERYTHING } from '../../src/inbox/work.ts';

const table = sqliteTable('orders', { id: text().primaryKey() });
const builder = knex({ client: 'better-sqlite3', useNullAsDefault: true });
const kysely = new Kysely<{ orders: { id: string } }>({
  dialect: new SqliteDialect({ database: new Database(':memory:') }),
});

type Insert = (database: Database.Database, order: { id: string }) => void;

const orms: readonly (readonly [string, Insert])[] = [
  ['Drizzle', (database, order) => drizzle({ client: database }).insert(table).values(order).run()],
  [
    "Drizzle's transaction()",
    (database, order) =>
      drizzle({ client: database }).transaction((tx) => {
        tx.insert(table).values(order).run();
      }),
  ],
  [
    'Knex',
    (database, order) => {
      const { sql, bindings } = builder('orders').insert(order).toSQL().toNative();
      database.prepare(sql).run(...bindings);
    },
  ],
  [
    'Kysely',
    (database, order) => {
      const { sql, parameters } = kysely.insertInto('orders').values(order).compile();
      database.prepare(sql).run(...parameters);
    },
  ],
];

it.each(orms)('%s writes in ctx.transaction, and nothing when the function throws', async (_, insert) => {
  const database = new Database(':memory:');
  onTestFinished(() => void database.close());
  database.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  await using inbox = sqliteInbox({ database }, { ephemeral: true });
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const unused = vi.fn();
  const attempt = { now: () => START, signal: new AbortController().signal, unused };
  const ids = () => database.prepare('SELECT id FROM orders').pluck().all();

  const failing = inbox.transaction(
    event.lease,
    (given) => {
      insert(given, { id: 'a' });
      throw new Error('the function fails');
    },
    attempt,
  );
  await expect(failing).rejects.toThrow('the function fails');
  expect(ids()).toEqual([]);

  await inbox.transaction(event.lease, (given) => insert(given, { id: 'b' }), attempt);
  expect(ids()).toEqual(['b']);
  expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({ state: 'processed' });
  expect(unused).not.toHaveBeenCalled();
});

const uses: readonly (readonly [string, number, (given: Database.Database, own: Database.Database) => void])[] = [
  ['nothing', 1, () => {}],
  [
    'a query of Drizzle that is not run',
    1,
    (given) => void drizzle({ client: given }).insert(table).values({ id: 'a' }),
  ],
  ['a read', 0, (given) => void given.prepare('SELECT id FROM orders').all()],
  ['a statement on the connection itself', 0, (_, own) => void own.prepare("INSERT INTO orders VALUES ('a')").run()],
];

it.each(uses)('a function that does %s is reported %d times as unused', async (_, times, work) => {
  const database = new Database(':memory:');
  onTestFinished(() => void database.close());
  database.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  await using inbox = sqliteInbox({ database }, { ephemeral: true });
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const unused = vi.fn();
  const attempt = { now: () => START, signal: new AbortController().signal, unused };
  await inbox.transaction(event.lease, (given) => work(given, database), attempt);
  expect(unused).toHaveBeenCalledTimes(times);
});
