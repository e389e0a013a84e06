import type Database from 'better-sqlite3';
import { beforeEach, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { inboxOnFile, sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { previewBulk, runBulk } from '../../src/ops/bulks.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { testBulks, type Written } from './bulks.conformance.ts';
import { testBulkOutcomes } from './bulk-outcome.conformance.ts';
import { bury, invalidThen, plantDead } from './events-in-states.ts';

const NOW = START + 1_000;
const ADA: By = { actor: 'ada', reason: 'the shop was down', now: NOW };
const UNLIMITED = { ratePerSecond: Infinity };

let file: string;
let inbox: Inbox;
let database: Database.Database;

beforeEach(() => {
  ({ inbox, database, file } = inboxOnFile());
});

const WRITES: Readonly<Record<Written, string>> = {
  'the events': 'UPDATE ON hookbox_events',
  'the results': 'UPDATE ON hookbox_bulk_events',
  'the bulk': 'UPDATE ON hookbox_bulks',
  'the line of the audit': 'INSERT ON hookbox_audit',
  'the counts of that line': 'UPDATE ON hookbox_audit',
};

testBulks('bulks in SQLite', async () => {
  database.exec(`
    CREATE TABLE moves (id TEXT NOT NULL, was TEXT NOT NULL, becomes TEXT NOT NULL) STRICT;
    CREATE TRIGGER log_moves AFTER UPDATE OF state ON hookbox_events WHEN old.state != new.state
    BEGIN INSERT INTO moves VALUES (new.id, old.state, new.state); END;
  `);
  return {
    inbox,
    second: () => sqliteInbox(file),
    async plant(...events) {
      plantDead(database, ...events);
    },
    async bury(id) {
      bury(database, id);
    },
    async dieAgain() {
      const sql =
        "UPDATE hookbox_events SET state = 'dead', dead_reason = 'failed', settled_ms = 1 WHERE state = 'pending'";
      return database.prepare(sql).run().changes;
    },
    async moves(was, becomes) {
      const sql = 'SELECT count(DISTINCT id) AS events, count(*) AS moves FROM moves WHERE was = ? AND becomes = ?';
      return database.prepare(sql).get(was, becomes) as { events: number; moves: number };
    },
    async heardEarlier(id, ms) {
      database.prepare('UPDATE hookbox_bulks SET heartbeat_ms = heartbeat_ms - ? WHERE id = ?').run(ms, id);
    },
    rows: async () => database.prepare('SELECT * FROM hookbox_events').all(),
    bulks: async () => database.prepare<[], number>('SELECT count(*) FROM hookbox_bulks').pluck().get() ?? 0,
    async snapshots() {
      const rows = database
        .prepare<[], { bulk: number; ids: string }>(
          `SELECT bulk, json_group_array(id ORDER BY id) AS ids
           FROM hookbox_bulk_events AS b JOIN hookbox_events AS e ON e.seq = b.seq GROUP BY bulk ORDER BY bulk`,
        )
        .all();
      return rows.map(({ bulk, ids }) => ({ bulk, ids: JSON.parse(ids) as string[] }));
    },
    async breaks(what) {
      database.exec(`CREATE TRIGGER no_write BEFORE ${WRITES[what]} BEGIN SELECT raise(ABORT, 'no'); END`);
      return async () => void database.exec('DROP TRIGGER no_write');
    },
  };
});

testBulkOutcomes('what became of bulks in SQLite', async () => inbox);

it('a run ends a batch early when it takes long, because deliveries share its commit', async () => {
  await store(inbox, ...ids(10).map((id) => invalidThen(orderEvent(id))));
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  const slow = () => {
    const until = performance.now() + 30;
    while (performance.now() < until);
    return 'slow';
  };
  const bulk = await operationsOf(inbox).advanceBulk(id, 100, ADA, { entity: slow });
  expect(bulk).toMatchObject({ worked: 1, state: 'running' });
});

it('a run gives deliveries their turn', async () => {
  plant(ids(2_000));
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  let batches = 0;
  const running = runBulk(inbox, id, ADA, { ...UNLIMITED, onProgress: () => (batches += 1) });
  const turns = new Set<number>();
  for (let n = 0; statesOf(['evt_1999'])[0] === 'dead'; n += 1) {
    expect(await inbox.accept(orderEvent(`new_${n}`), later())).toMatchObject({ result: 'stored' });
    turns.add(batches);
  }
  expect(await running).toMatchObject({ state: 'done', counts: { done: 2_000 } });
  expect(turns.size).toBeGreaterThan(batches / 2);
});

function plant(ids: readonly string[]): void {
  plantDead(database, ...ids.map((id) => orderEvent(id)));
}

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `evt_${n}`);
}

function statesOf(ids: readonly string[]): unknown[] {
  const state = database.prepare('SELECT state FROM hookbox_events WHERE id = ?').pluck();
  return ids.map((id) => state.get(id));
}
