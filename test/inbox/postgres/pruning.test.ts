// @module-tag longest
import { expect, it, onTestFinished } from 'vitest';
import { auditLines } from '../../../src/ops/audit.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { pruneEvents } from '../../../src/ops/prune.ts';
import { rerunEvents } from '../../../src/ops/act-on-events.ts';
import { orderEvents } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { FAILED, handled } from '../../ops/events-in-states.ts';
import { testPruning, type PrunedRow } from '../../ops/pruning.conformance.ts';
import { armedPool, once } from './pools.ts';
import { operatedInboxes } from './operators.ts';
import { plantDead, refuse } from './planted.ts';

const schema = operatedInboxes();
const ADA = { actor: 'ada', now: START + 1_000 };
const LATER = new Date(START + 3_600_001);

testPruning('pruning in Postgres', async () => {
  const { pool, t, open } = schema();
  const inbox = await open();
  onTestFinished(() => inbox.close());
  return {
    inbox,
    async plant(events) {
      const column = (value: (event: (typeof events)[number]) => unknown) => events.map(value);
      await pool.query(
        `BEGIN; ${[t.events, t.queue, t.shelf, t.attempts].map((table) => `DELETE FROM ${table}`).join('; ')}; COMMIT`,
      );
      await pool.query(
        `WITH given AS (
           SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[]) WITH ORDINALITY
             AS given (endpoint, id, type, state, settled_ms, body, seq)
         ), queued AS (
           INSERT INTO ${t.queue} (seq, endpoint, type, slot, created_ms, created_ns, due_ms, fresh)
           SELECT seq, endpoint, type, 0, 0, 0, 0, false FROM given WHERE state = 'pending'
         ), shelved AS (
           INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
           SELECT seq, state, CASE state WHEN 'dead' THEN 'failed' END, endpoint, type, settled_ms, 0 FROM given
           WHERE state IN ('dead', 'ignored', 'discarded')
         ), ran AS (
           INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable)
           SELECT seq, 1, 'auto', 'processed', 1, endpoint, 0, settled_ms, true FROM given WHERE state = 'processed'
         )
         INSERT INTO ${t.events} (seq, endpoint, id, type, created_ms, created_ns, slot, verified, received_ms, body)
         OVERRIDING SYSTEM VALUE SELECT seq, endpoint, id, type, 0, 0, 0, true, 0, body FROM given`,
        [
          column(({ endpoint }) => endpoint),
          column(({ id }) => id),
          column(({ type }) => type),
          column(({ state }) => state),
          column(({ settledMs }) => settledMs),
          column(({ body }) => body),
        ],
      );
      await pool.query(`ALTER TABLE ${t.events} ALTER COLUMN seq RESTART WITH ${events.length + 1}`);
    },
    async rows() {
      const { rows } = await pool.query<PrunedRow>(
        `SELECT events.seq::integer, events.type, events.endpoint, (events.body IS NULL)::integer AS pruned,
           CASE WHEN queue.seq IS NULL THEN coalesce(shelf.state, 'processed') ELSE 'pending' END AS state,
           coalesce(shelf.settled_ms, attempts.ended_ms)::float8 AS settled_ms
         FROM ${t.events} AS events LEFT JOIN ${t.queue} AS queue USING (seq) LEFT JOIN ${t.shelf} AS shelf USING (seq)
           LEFT JOIN ${t.attempts} AS attempts USING (seq) ORDER BY seq`,
      );
      return rows;
    },
    breaksAt: async (seq) => void (await refuse(pool, t, `UPDATE ON ${t.events}`, `OLD.seq = ${seq}`)),
  };
});

it.each(['lost', 'unanswered'] as const)(
  'a batch whose COMMIT is %s is counted once, in the report and in the audit',
  async (interference) => {
    const { pool, t, open } = schema();
    const { interfere, seen } = once((text) => text === 'COMMIT', interference, 2);
    const { source, arm } = armedPool(pool, interfere);
    await using inbox = await open(source);
    await plantDead(pool, t, ...orderEvents(10));
    const audit = await operationsOf(inbox).note('prune', ADA, {}, { pruned: 0 });
    arm();
    // The first COMMIT ends the search.
    const step = await operationsOf(inbox).pruneSome({ settledBefore: LATER, states: ['dead'] }, 4, { audit });
    expect(seen.count).toBeGreaterThan(2);
    expect(step.pruned).toBe(4);
    expect((await auditLines(inbox)).lines).toMatchObject([{ counts: { pruned: 4 } }]);
    expect((await inbox.list()).filter(({ body }) => body === null)).toHaveLength(4);
  },
);

it('many are pruned by few batches, as no delivery waits for them', async () => {
  const { pool, t, open } = schema();
  await using inbox = await open();
  await plantDead(pool, t, ...orderEvents(3_000));
  let batches = 0;
  const criteria = { settledBefore: LATER, states: ['dead'] } as const;
  expect(await pruneEvents(inbox, criteria, ADA, { onProgress: () => (batches += 1) })).toMatchObject({
    pruned: 3_000,
  });
  expect(batches).toBeLessThan(60);
});

it.each([
  ['processed', { outcome: 'processed' }],
  ['dead', FAILED],
] as const)(
  'two who prune what is %s, retention and reruns meet: each is pruned once, or runs with its body',
  async (state, end) => {
    const { open, join } = schema();
    await using inbox = await open();
    await using second = join();
    const events = orderEvents(60, (n) => ({ order: `ord_${n}` }));
    await handled(inbox, end, ...events);
    const criteria = { settledBefore: LATER, states: [state] };
    const [one, two, rerun, ...retained] = await Promise.all([
      pruneEvents(inbox, criteria, ADA),
      pruneEvents(second, criteria, ADA),
      rerunEvents(second, events.toReversed(), ADA, { force: true }),
      ...Array.from({ length: 6 }, () => inbox.prune('*', LATER.getTime(), 5)),
    ]);
    const pruned = one.pruned + two.pruned + retained.reduce((sum, count) => sum + count, 0);
    for (const { key, result } of rerun.results) {
      const event = await inbox.get(key);
      expect([result, event?.state, event?.body === null]).toEqual(
        result === 'done' ? ['done', 'pending', false] : ['pruned', state, true],
      );
    }
    expect(pruned).toBe(rerun.counts.pruned ?? 0);
  },
);

it.each([
  ['something', 4],
  ['nothing', 0],
])(
  'pruning %s sums up what was counted and indexes what came in, as nobody else does where only functions receive',
  async (_, pruned) => {
    const { pool, t, open } = schema();
    await using inbox = await open();
    const events = orderEvents(4, (n) => ({ order: `ord_${n}` }));
    await handled(inbox, { outcome: 'processed' }, ...events);
    const rows = async (table: string) => (await pool.query(`SELECT 1 FROM ${table}`)).rowCount ?? 0;
    expect(await rows(t.counts)).toBeGreaterThan(0);
    expect(await rows(t.terms)).toBe(0);
    const criteria = { settledBefore: pruned > 0 ? LATER : new Date(0) };
    const by = { ...ADA, now: START + 48 * 3_600_000 };
    expect(await pruneEvents(inbox, criteria, by, { dryRun: true })).toMatchObject({ pruned });
    expect(await rows(t.terms)).toBe(0);
    expect(await pruneEvents(inbox, criteria, by)).toMatchObject({ pruned });
    expect([await rows(t.counts), await rows(t.count_sums), await rows(t.terms)]).toEqual([
      0,
      expect.toSatisfy((count: number) => count > 0),
      expect.toSatisfy((count: number) => count >= events.length),
    ]);
  },
);
