import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { Operations } from '../../src/inbox/operator/operations.ts';
import { prunableStates, type PruneCriteria, type PruneStep } from '../../src/inbox/operator/removal.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { pruneEvents } from '../../src/ops/prune.ts';
import { later } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { deliverDuring } from './deliver-during.ts';
import { FAILED, handled, inStates } from './events-in-states.ts';

const ADA: By = { actor: 'ada', reason: 'the disk is nearly full', now: START + 5 };
const LATER = new Date(START + 3_600_001);
const KEY = { endpoint: 'default', id: 'evt' };

let inbox: Inbox;
let database: Database.Database;

beforeEach(() => {
  const file = scratchFile();
  inbox = sqliteInbox(file);
  database = new Database(file);
  onTestFinished(async () => {
    database.close();
    await inbox.close();
  });
});

describe('pruneEvents', () => {
  it.each(['processed', 'dead (failed)', 'dead (crashed)', 'dead (invalid)', 'ignored'] as const)(
    'makes a tombstone of an event that is %s',
    async (name) => {
      await inStates[name](inbox);
      const before = await inbox.get(KEY);
      const body = before?.body ?? Buffer.alloc(0);
      await inbox.accept({ ...orderEvent('evt'), body: Buffer.from('{"other":1}'), valid: false }, later());
      const states = [...prunableStates];

      expect(await pruneEvents(inbox, { settledBefore: LATER, states }, ADA)).toMatchObject({ pruned: 1 });
      expect(await inbox.get(KEY)).toMatchObject({ state: before?.state, body: null, conflict: null });
      for (const { error } of await inbox.attempts(KEY)) expect(error?.message ?? '').toBe('');
      // The same bytes are known still. (Invalid ones, or the body of an invalid event would be replaced.)
      const again = { ...orderEvent('evt'), body, valid: false };
      expect(await inbox.accept(again, later())).toEqual({ result: 'duplicate', conflict: false, replaced: false });
      expect(await pruneEvents(inbox, { settledBefore: LATER, states }, ADA)).toMatchObject({ pruned: 0 });
    },
  );

  it.each(['pending', 'retrying', 'in processing'] as const)('leaves an event that is %s', async (name) => {
    await inStates[name](inbox);
    const before = await inbox.get(KEY);
    expect(await pruneEvents(inbox, { settledBefore: LATER, states: prunableStates }, ADA)).toMatchObject({
      pruned: 0,
    });
    expect(await inbox.get(KEY)).toEqual(before);
  });

  it('takes only processed events unless told otherwise', async () => {
    await handled(inbox, { outcome: 'processed' }, orderEvent('processed'));
    await handled(inbox, FAILED, orderEvent('dead'));
    expect(await pruneEvents(inbox, { settledBefore: LATER }, ADA)).toMatchObject({ pruned: 1 });
    expect(await inbox.get({ ...KEY, id: 'dead' })).not.toMatchObject({ body: null });
  });

  it('takes exactly what the criteria fit, and a dry run counts the same without taking it', async () => {
    const types = ['order.created', 'order.ready', 'cart.abandoned'];
    const endpoints = ['default', 'second'];
    const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values], { minLength: 1 });
    const criteria = fc.record(
      {
        settledBefore: fc.integer({ min: 0, max: 12 }).map((at) => new Date(START + at)),
        states: some(prunableStates),
        types: some(types),
        endpoint: fc.constantFrom(...endpoints),
      },
      { requiredKeys: ['settledBefore'] },
    );
    await fc.assert(
      fc.asyncProperty(criteria, fc.integer({ min: 1, max: 200 }), async (criteria, seed) => {
        plant(80, (n) => ({
          type: types[(n * seed) % types.length] ?? '',
          endpoint: endpoints[(n + seed) % 2] ?? '',
          state: ['processed', 'dead', 'ignored', 'pending'][(n * 7 + seed) % 4] ?? '',
          settledMs: START + ((n * 5 + seed) % 11),
        }));
        const all = rows();
        const fits = ({ state, type, endpoint, settled_ms }: Row): boolean =>
          (criteria.states ?? ['processed']).some((wanted) => wanted === state) &&
          (criteria.types?.includes(type) ?? true) &&
          (criteria.endpoint === undefined || criteria.endpoint === endpoint) &&
          settled_ms !== null &&
          settled_ms < criteria.settledBefore.getTime();
        const wanted = all.filter(fits).map(({ seq }) => seq);

        expect(await pruneEvents(inbox, criteria, ADA, { dryRun: true })).toEqual({
          pruned: wanted.length,
          audit: null,
        });
        expect(rows()).toEqual(all);
        expect(await pruneEvents(inbox, criteria, ADA)).toMatchObject({ pruned: wanted.length });
        expect(
          rows()
            .filter(({ pruned }) => pruned === 1)
            .map(({ seq }) => seq),
        ).toEqual(wanted);
      }),
      { numRuns: 40 },
    );
  });

  it('passes over an event that is rerun between finding it and its turn', async () => {
    await handled(inbox, FAILED, orderEvent('evt'));
    const rerun = inbox.rerun(KEY, orderEvent('evt'), START + 10);
    const step = operationsOf(inbox).pruneSome({ settledBefore: LATER, states: ['dead'] }, 10);
    expect([await rerun, (await step).pruned]).toEqual([true, 0]);
    expect(await inbox.get(KEY)).toMatchObject({ state: 'pending', body: orderEvent('evt').body });
  });

  it('takes all of very many that were settled at the same moment', async () => {
    plant(3_500, (n) => ({ state: 'processed', type: n % 2 === 0 ? 'order.created' : 'order.ready' }));
    const criteria: PruneCriteria = { settledBefore: LATER, types: ['order.ready'] };
    expect(await pruneEvents(inbox, criteria, ADA)).toMatchObject({ pruned: 1_750 });
    expect(rows().filter(({ pruned, type }) => (pruned === 1) !== (type === 'order.ready'))).toEqual([]);
  });

  it('looks at no more than a thousand events at a time, however few fit', async () => {
    plant(2_500, (n) => ({ state: 'processed', type: n === 2_400 ? 'order.ready' : 'order.created' }));
    const operations = operationsOf(inbox);
    const criteria: PruneCriteria = { settledBefore: LATER, types: ['order.ready'] };
    const first = await operations.pruneSome(criteria, 50);
    const second = await operations.pruneSome(criteria, 50, { after: first.next });
    const third = await operations.pruneSome(criteria, 50, { after: second.next });
    expect([first.pruned, second.pruned, third.pruned]).toEqual([0, 0, 1]);
    expect([first.next?.seq, second.next?.seq, third.next]).toEqual([1_000, 2_000, null]);
  });

  it('ends a batch of large bodies early, and goes on where it ended', async () => {
    plant(60, () => ({ state: 'processed', body: Buffer.alloc(1_000_000, 'x') }));
    const operations = operationsOf(inbox);
    const first = await operations.pruneSome({ settledBefore: LATER }, 60);
    expect(first.pruned).toBeLessThan(60);
    expect(await pruneEvents(inbox, { settledBefore: LATER }, ADA)).toMatchObject({ pruned: 60 - first.pruned });
  });

  it('lets deliveries in while it runs', async () => {
    plant(3_000, () => ({ state: 'processed' }));
    const pruning = pruneEvents(inbox, { settledBefore: LATER }, ADA);
    const { taken, result } = await deliverDuring(inbox, pruning, (n) => ({ id: `new_${n}` }));
    expect(result).toMatchObject({ pruned: 3_000 });
    expect(taken).toBeGreaterThan(5);
  });

  it.each([
    ['no time', { settledBefore: new Date(NaN) }],
    ['no state', { settledBefore: LATER, states: [] }],
    ['a state that needs its bodies', { settledBefore: LATER, states: ['pending'] as unknown as ['dead'] }],
  ])('refuses %s', async (_, criteria) => {
    await expect(pruneEvents(inbox, criteria, ADA)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect((await auditLines(inbox)).lines).toEqual([]);
  });
});

describe('the audit of pruning', () => {
  it('says who, why, what and how many', async () => {
    plant(30, () => ({ state: 'processed' }));
    const criteria: PruneCriteria = { settledBefore: LATER, states: ['processed', 'dead'], endpoint: 'default' };
    const { audit } = await pruneEvents(inbox, criteria, ADA);
    expect((await auditLines(inbox)).lines).toEqual([
      {
        seq: audit,
        at: new Date(START + 5),
        actor: 'ada',
        via: 'code',
        act: 'prune',
        reason: 'the disk is nearly full',
        filter: { settledBefore: LATER.toISOString(), states: ['processed', 'dead'], endpoint: 'default' },
        counts: { pruned: 30 },
      },
    ]);
  });

  it('says nothing of a dry run', async () => {
    plant(3, () => ({ state: 'processed' }));
    await pruneEvents(inbox, { settledBefore: LATER }, ADA, { dryRun: true });
    expect((await auditLines(inbox)).lines).toEqual([]);
  });

  it('says on a dry run how many it has counted, and stops when told to', async () => {
    plant(3_500, () => ({ state: 'processed' }));
    const counted: number[] = [];
    const stop = new AbortController();
    const { pruned } = await pruneEvents(inbox, { settledBefore: LATER }, ADA, {
      dryRun: true,
      signal: stop.signal,
      onProgress(found) {
        counted.push(found);
        if (counted.length === 2) stop.abort();
      },
    });
    expect(counted).toEqual([1_000, 2_000]);
    expect(pruned).toBe(2_000);
  });

  it('is right for a run that was stopped', async () => {
    plant(400, () => ({ state: 'processed' }));
    const stop = new AbortController();
    const { pruned } = await pruneEvents(inbox, { settledBefore: LATER }, ADA, {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(pruned).toBeGreaterThan(0);
    expect(pruned).toBeLessThan(400);
    expect(rows().filter((row) => row.pruned === 1)).toHaveLength(pruned);
    expect((await auditLines(inbox)).lines).toMatchObject([{ counts: { pruned } }]);
  });

  it('is right for a run that broke down', async () => {
    plant(400, () => ({ state: 'processed' }));
    database.exec(`
      CREATE TRIGGER broken BEFORE UPDATE OF body ON hookbox_events WHEN old.seq = 120
      BEGIN SELECT RAISE(ABORT, 'no'); END
    `);
    await expect(pruneEvents(inbox, { settledBefore: LATER }, ADA)).rejects.toThrow('no');
    const pruned = rows().filter((row) => row.pruned === 1).length;
    expect(pruned).toBeGreaterThan(0);
    expect((await auditLines(inbox)).lines).toMatchObject([{ counts: { pruned } }]);
  });
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

/** Prunes with operations that take as long as they are told to; what was asked of them, and how long it left them alone. */
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

interface Row {
  readonly seq: number;
  readonly type: string;
  readonly endpoint: string;
  readonly state: string;
  readonly settled_ms: number | null;
  readonly pruned: 0 | 1;
}

function rows(): Row[] {
  return database
    .prepare('SELECT seq, type, endpoint, state, settled_ms, body IS NULL AS pruned FROM hookbox_events ORDER BY seq')
    .all() as Row[];
}

interface Planted {
  readonly state: string;
  readonly type?: string;
  readonly endpoint?: string;
  readonly settledMs?: number;
  readonly body?: Buffer;
}

/** Puts events into the file at once, in the place of all that were there. */
function plant(count: number, event: (n: number) => Planted): void {
  const insert = database.prepare(`
    INSERT INTO hookbox_events (seq, endpoint, id, type, created_ms, created_ns, verified, state, dead_reason, received_ms,
      settled_ms, due_ms, body)
    VALUES (?, ?, ?, ?, 0, 0, 1, ?, ?, 0, ?, 0, ?)
  `);
  database.exec('BEGIN IMMEDIATE; DELETE FROM hookbox_events');
  for (let n = 0; n < count; n += 1) {
    const {
      state,
      type = 'order.created',
      endpoint = 'default',
      settledMs = START,
      body = Buffer.from(`{"n":${n}}`),
    } = event(n);
    const settled = state === 'pending' ? null : settledMs;
    insert.run(n + 1, endpoint, `evt_${n}`, type, state, state === 'dead' ? 'failed' : null, settled, body);
  }
  database.exec('COMMIT');
}
