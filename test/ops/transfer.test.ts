import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { inboxOnFile, sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { exportEvents, importEvents } from '../../src/ops/index.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { plantDead } from './events-in-states.ts';
import { ADA, exported, fill } from './filled-inbox.ts';
import { testImportHandled } from './import-handled.conformance.ts';
import { testTransfer } from './transfer.conformance.ts';

const OURS = { trusted: true } as const;

testTransfer('transfer between files', {
  open: async () => opened(),
  async plantDead(inbox, ...events) {
    plantDead(database(inbox), ...events);
  },
  async breaksAt(inbox, id) {
    database(inbox).exec(`
      CREATE TRIGGER broken BEFORE INSERT ON hookbox_events WHEN new.id = '${id}'
      BEGIN SELECT RAISE(ABORT, 'no'); END
    `);
  },
});

testImportHandled('handled ids in a file', { open: async () => opened() });

it('export and import keep each column, but for those that mean something only where an event is handled or was erased', async () => {
  const inbox = opened();
  await fill(inbox);
  const copy = opened();
  await importEvents(copy, await exported(inbox), ADA, OURS);
  const own = new Set(['seq', 'parked', 'fence', 'claimed_ms', 'lease_until_ms', 'id_hash']);
  const all = database(inbox).prepare<[], string>("SELECT name FROM pragma_table_info('hookbox_events')").pluck().all();
  const columns = all.filter((column) => !own.has(column));
  expect(columns).toContain('body');
  const sql = `SELECT ${columns.join(', ')} FROM hookbox_events ORDER BY seq`;
  expect(database(copy).prepare(sql).all()).toEqual(database(inbox).prepare(sql).all());
  for (const table of ['hookbox_attempts', 'hookbox_redeliveries', 'hookbox_conflicts', 'hookbox_entities']) {
    const rows = `SELECT * FROM ${table} ORDER BY 1, 2`;
    expect(database(copy).prepare(rows).all()).toEqual(database(inbox).prepare(rows).all());
  }
});

it('export and import work between two merchants own connections', async () => {
  const [from, to] = [merchantDatabase(scratchFile('a.db')), merchantDatabase(scratchFile('b.db'))];
  from.defaultSafeIntegers(true);
  to.defaultSafeIntegers(true);
  await using source = sqliteInbox({ database: from });
  await using target = sqliteInbox({ database: to });
  await fill(source);
  const lines: string[] = [];
  from.exec('BEGIN; UPDATE orders SET total = 1');
  from.exec('COMMIT');
  for await (const line of exportEvents(source, ADA)) lines.push(line);
  await importEvents(target, lines, ADA, OURS);
  expect(await exported(target)).toEqual(lines);
});
it('an export shows each event as it was at one moment, while another process settles it', async () => {
  const inbox = opened();
  await store(inbox, orderEvent('evt'));
  const other = new Database(database(inbox).name);
  onTestFinished(() => void other.close());
  const reading = database(inbox);
  const prepare = reading.prepare.bind(reading);
  let overtaken = false;
  // Right after the event was read, somebody else ends its attempt.
  const settle = () => {
    if (overtaken) return;
    overtaken = true;
    other.exec(`
      UPDATE hookbox_events SET state = 'processed', settled_ms = 1, attempts = 1, parked = 0;
      INSERT INTO hookbox_attempts
        (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack)
      VALUES (1, 1, 'auto', 'processed', 1, 1, NULL, NULL, NULL);
    `);
  };
  Object.assign(reading, {
    prepare(sql: string) {
      const statement = prepare(sql);
      if (!sql.includes('body_sha256')) return statement;
      const all = statement.all.bind(statement);
      return Object.assign(statement, {
        all(...values: readonly unknown[]) {
          const rows = all(...values);
          settle();
          return rows;
        },
      });
    },
  });
  await using adopted = sqliteInbox({ database: reading });
  const [, line = ''] = await exported(adopted);
  expect(overtaken).toBe(true);
  expect(JSON.parse(line)).toMatchObject({ event: { state: 'pending', begun: 0, attempts: [] } });
});

const connections = new WeakMap<Inbox, Database.Database>();

function opened(): Inbox {
  const { inbox, database } = inboxOnFile();
  connections.set(inbox, database);
  return inbox;
}

function database(inbox: Inbox): Database.Database {
  const found = connections.get(inbox);
  if (found === undefined) throw new Error('not opened here');
  return found;
}
