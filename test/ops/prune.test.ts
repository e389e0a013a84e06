import type Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Inbox, Operations } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { PruneStep } from '../../src/inbox/operator/pruning.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { pruneEvents } from '../../src/ops/prune.ts';
import { Child } from '../helpers/child.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, orderEvents } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { FAILED, handled, key } from './events-in-states.ts';
import { testPruning, type PrunedRow } from './pruning.conformance.ts';
import { defineIdHash } from '../../src/inbox/sqlite/sql/statement.ts';

const ADA: By = { actor: 'ada', reason: 'the disk is nearly full', now: START + 5 };
const LATER = new Date(START + 3_600_001);
const KEY = key('evt');

let inbox: Inbox;
let database: Database.Database;

beforeEach(() => {
  ({ inbox, database } = inboxOnFile());
});

testPruning('pruning in SQLite', async () => ({
  inbox,
  async plant(events) {
    defineIdHash(database);
    const insert = database.prepare(`
      INSERT INTO hookbox_events (seq, endpoint, id, id_hash, type, created_ms, created_ns, verified, state, dead_reason,
        received_ms, settled_ms, due_ms, body)
      VALUES (?, ?, ?, hookbox_id_hash(?), ?, 0, 0, 1, ?, ?, 0, ?, 0, ?)
    `);
    database.exec('BEGIN IMMEDIATE; DELETE FROM hookbox_events');
    for (const [n, { endpoint, id, type, state, settledMs, body }] of events.entries()) {
      const settled = state === 'pending' ? null : settledMs;
      insert.run(n + 1, endpoint, id, id, type, state, state === 'dead' ? 'failed' : null, settled, body);
    }
    database.exec('COMMIT');
  },
  async rows() {
    const sql =
      'SELECT seq, type, endpoint, state, settled_ms, body IS NULL AS pruned FROM hookbox_events ORDER BY seq';
    return database.prepare(sql).all() as PrunedRow[];
  },
  async breaksAt(seq) {
    database.exec(`
      CREATE TRIGGER broken BEFORE UPDATE OF body ON hookbox_events WHEN old.seq = ${seq}
      BEGIN SELECT RAISE(ABORT, 'no'); END
    `);
  },
}));

it('passes over an event that is rerun between finding it and its turn', async () => {
  await handled(inbox, FAILED, orderEvent('evt'));
  const rerun = inbox.rerun(KEY, orderEvent('evt'), START + 10);
  const step = operationsOf(inbox).pruneSome({ settledBefore: LATER, states: ['dead'] }, 10);
  expect([await rerun, (await step).pruned]).toEqual([true, 0]);
  expect(await inbox.get(KEY)).toMatchObject({ state: 'pending', body: orderEvent('evt').body });
});

it('indexes what came in behind that, as a processor does once a minute', async () => {
  const events = orderEvents(4, (n) => ({ order: `ord_${n}` }));
  await handled(inbox, { outcome: 'processed' }, ...events);
  const indexed = () => database.prepare('SELECT 1 FROM hookbox_terms').all().length;
  expect(indexed()).toBe(0);
  await pruneEvents(inbox, { settledBefore: LATER }, ADA);
  expect(indexed()).toBeGreaterThanOrEqual(events.length);
});

describe('the size of a batch', () => {
  it('grows while batches are quick, to at most twice as many each time, and up to a bound', async () => {
    const { limits } = await watchedPruning(12, (limit) => limit / 10_000);
    for (const [at, limit] of limits.slice(1).entries()) {
      expect(limit).toBe(Math.min(2 * (limits[at] ?? 0), 1_000));
    }
    expect(limits.at(-1)).toBe(1_000);
  });

  it('shrinks when they take too long, down to a few', async () => {
    const { limits } = await watchedPruning(4, (limit) => limit * 2);
    const [first = 0, ...others] = limits;
    expect(new Set(others).size).toBe(1);
    expect(others[0]).toBeGreaterThan(0);
    expect(others[0]).toBeLessThan(first);
  });

  it('settles where a batch takes as long as it should, whatever it began with', async () => {
    const { limits } = await watchedPruning(8, (limit) => limit / 40);
    expect(new Set(limits.slice(-3)).size).toBe(1);
    expect(limits.at(-1)).toBeLessThan(1_000);
    const slower = await watchedPruning(8, (limit) => limit / 20);
    expect(slower.limits.at(-1)).toBe((limits.at(-1) ?? 0) / 2);
  });

  it('is left as it is by a batch that found nothing', async () => {
    const { limits } = await watchedPruning(3, () => 0, 0);
    expect(new Set(limits).size).toBe(1);
  });

  it('is as large on a disk whose commits take long', async () => {
    const quick = await watchedPruning(8, (limit) => limit / 100);
    const slow = await watchedPruning(8, (limit) => limit / 100, 1, 8);
    expect(slow.limits).toEqual(quick.limits);
    expect(slow.limits.at(-1)).toBeGreaterThan(50);
  });

  it('leaves the writer alone for longer than a batch has held it', async () => {
    const { rests } = await watchedPruning(4, () => 15);
    for (const rest of rests) expect(rest).toBeGreaterThan(15);
  });
});

async function watchedPruning(steps: number, workMs: (limit: number) => number, found = 1, commitMs = 0) {
  const limits: number[] = [];
  const rests: number[] = [];
  let endedAt: number | undefined;
  const operations: Pick<Operations, 'note' | 'pruneSome'> = {
    note: () => Promise.resolve(1),
    pruneSome: (_, limit): Promise<PruneStep> => {
      if (endedAt !== undefined) rests.push(performance.now() - endedAt);
      limits.push(limit);
      endedAt = performance.now();
      const next = limits.length < steps ? ({ state: 'processed', settledMs: 0, seq: limits.length } as const) : null;
      const work = workMs(limit);
      return Promise.resolve({ pruned: found * limit, next, workMs: work, heldMs: work + commitMs });
    },
  };
  const watched = { operations } as unknown as Inbox;
  await pruneEvents(watched, { settledBefore: LATER }, ADA);
  return { limits, rests };
}

it('holds its process until all of it is done, also while it rests', async () => {
  await using pruning = await Child.bundled(new URL('pruning-process.ts', import.meta.url), [scratchFile()]);
  expect(await pruning.line()).toBe('pruned');
  await pruning.finish();
});
