import type Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { counts } from '../../src/inbox/operator/counts.ts';
import type { Access } from '../../src/inbox/sqlite/operator/access.ts';
import { operatorTables } from '../../src/inbox/sqlite/operator/tables.ts';
import { countEngine } from '../../src/inbox/sqlite/operator/counts.ts';
import type { Statements } from '../../src/inbox/sqlite/engine/sqlite-store.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { DAY, MINUTE, NOON } from './counted.ts';
import { testCounts, type CountedStore, type FilledEvents } from './counts.conformance.ts';
import { testMarks } from './marks.conformance.ts';
import { bury } from './events-in-states.ts';
import { defineIdHash } from '../../src/inbox/sqlite/sql/statement.ts';

function opened(file = scratchFile()) {
  const database = merchantDatabase(file);
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  return { database, inbox, operations: operationsOf(inbox) };
}

async function countedFile(): Promise<CountedStore> {
  const file = scratchFile();
  const { database, inbox } = opened(file);
  return {
    inbox,
    another: async () => opened(file).inbox,
    bury: async (id) => bury(database, id),
    fill: async (events) => fill(database, events),
    sums: async () => database.prepare('SELECT * FROM hookbox_count_sums').all(),
  };
}

testCounts('counts in SQLite', countedFile);
testMarks('marks in SQLite', countedFile);

function fill(database: Database.Database, { state, count, parked = false, failures }: FilledEvents): void {
  const isFresh = state === 'pending' && failures === 0;
  defineIdHash(database);
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
       INSERT INTO hookbox_events
         (endpoint, id, id_hash, type, created_ms, created_ns, verified, state, dead_reason, received_ms, settled_ms, due_ms, parked,
          failures, body)
       SELECT 'default', :state || :parked || n, hookbox_id_hash(:state || :parked || n), 'order.ready', 1, 0, 1, :state, iif(:state = 'dead', 'failed', NULL), 1,
         iif(:state = 'pending', NULL, 1), 1, :parked, :failures, x'00'
       FROM numbers`,
    )
    .run({ state, count, parked: parked ? 1 : isFresh ? 2 : 0, failures });
}

describe('coarsening', () => {
  it('moves a thousand rows at a time, so that no delivery waits for it', async () => {
    const { database } = opened();
    const insert = database.prepare("INSERT INTO hookbox_counts VALUES (?, 'answer-ms', ?, 1)");
    database.transaction(() => {
      for (let n = 0; n < 5_500; n += 1) insert.run(NOON + Math.floor(n / 20) * MINUTE, String(n % 20));
    })();
    const changes = database.prepare<[], number>('SELECT total_changes()').pluck();
    const perTransaction: number[] = [];
    const access: Access = {
      database: () => database,
      write: async (work) => {
        const before = changes.get() ?? 0;
        const result = database.transaction(() => work({ database } as unknown as Statements, 0, () => false))();
        perTransaction.push((changes.get() ?? 0) - before);
        return result;
      },
      alone: async (work) => work(database),
      notify() {},
    };
    const operations = counts(operatorTables(access), countEngine(access));
    await operations.coarsen(NOON + DAY);
    // Each row is added to two sums at most, and deleted.
    expect(Math.max(...perTransaction)).toBeLessThanOrEqual(3_000);
    expect(perTransaction.length).toBeGreaterThan(10);
    expect(await operations.counts(0, NOON + DAY)).toHaveLength(Math.ceil(5_500 / 20 / 60) * 20);
  });
});
