import { expect, it, onTestFinished } from 'vitest';
import { auditLines } from '../../../src/ops/audit.ts';
import { discardEvents, rerunEvents } from '../../../src/ops/act-on-events.ts';
import { orderEvent, orderEvents } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { testActs } from '../../ops/acts.conformance.ts';
import { FAILED, handleAgain, handled } from '../../ops/events-in-states.ts';
import { armedPool, interferedPool, once } from './pools.ts';
import { operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testActs('acts in Postgres', async () => {
  const { pool, t, open } = schema();
  const inbox = await open();
  onTestFinished(() => inbox.close());
  const store = {
    inbox,
    notified: 0,
    async row(id: string) {
      const { rows } = await pool.query<Record<string, unknown>>(
        `SELECT events.seq, events.type, events.created_ms, events.created_ns, events.entity, queue.due_ms::float8 AS due_ms,
           CASE WHEN queue.processed THEN 'processed' WHEN queue.lease_until_ms IS NOT NULL THEN 'processing' WHEN queue.seq IS NOT NULL THEN 'pending'
             ELSE coalesce(shelf.state, 'processed') END AS state,
           shelf.dead_reason, shelf.fingerprint, shelf.settled_ms::float8 AS settled_ms,
           coalesce(queue.failures, shelf.failures) AS failures, coalesce(queue.crashes, shelf.crashes) AS crashes,
           coalesce(queue.trigger, shelf.trigger) AS trigger, coalesce(queue.parked::integer, 0) AS parked,
           coalesce(queue.attempts, shelf.attempts,
             (SELECT count(*) FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq)::integer) AS attempts
         FROM ${t.events} AS events LEFT JOIN ${t.queue} AS queue USING (seq) LEFT JOIN ${t.shelf} AS shelf USING (seq)
         WHERE id = $1`,
        [id],
      );
      const [row] = rows;
      if (row === undefined) throw new Error(`${id} is gone`);
      return row;
    },
    async bury(id: string) {
      await pool.query(`UPDATE ${t.events} SET body = NULL, body_sha256 = '\\x00' WHERE id = $1`, [id]);
    },
    async markErased(id: string) {
      await pool.query(`UPDATE ${t.events} SET erased_ms = 1 WHERE id = $1`, [id]);
    },
    async setBody(id: string, body: Uint8Array) {
      await pool.query(`UPDATE ${t.events} SET body = $2 WHERE id = $1`, [id, Buffer.from(body)]);
    },
  };
  inbox.onPending(() => (store.notified += 1));
  return store;
});

const ADA = { actor: 'ada', now: START + 1_000 };
const KEY = { endpoint: 'default', id: 'evt' };

it.each(['lost', 'unanswered'] as const)(
  'an act whose COMMIT is %s is done once, and says so',
  async (interference) => {
    const { pool, open } = schema();
    const { interfere, seen } = once((text) => text === 'COMMIT', interference);
    const { source, arm } = armedPool(pool, interfere);
    await using inbox = await open(source);
    await handled(inbox, FAILED, orderEvent('evt'));
    arm();
    // The first COMMIT ends the reading of sizes.
    const report = await discardEvents(inbox, [KEY, { ...KEY, id: 'nobody' }], ADA);
    expect(seen.count).toBeGreaterThan(1);
    expect(report.results.map(({ result }) => result)).toEqual(['done', 'unknown']);
    expect((await auditLines(inbox)).lines).toMatchObject([{ seq: report.audit, counts: report.counts }]);
  },
);

it('forty events are acted on with as many statements as two', async () => {
  const { pool, open } = schema();
  let statements = 0;
  const counting = interferedPool(pool, () => {
    statements += 1;
    return null;
  });
  await using inbox = await open(counting);
  const statementsFor = async (count: number): Promise<readonly number[]> => {
    const events = Array.from({ length: count }, (_, n) => orderEvent(`evt_${count}_${n}`, { order: `ord_${n}` }));
    await handled(inbox, FAILED, ...events);
    const during: number[] = [];
    for (const act of [rerunEvents, discardEvents]) {
      statements = 0;
      expect((await act(inbox, events, ADA)).counts).toEqual({ done: count });
      during.push(statements);
    }
    return during;
  };
  await statementsFor(3);
  expect(await statementsFor(40)).toEqual(await statementsFor(2));
});

it('of two who act at once on the same events one does, and neither waits for the other for ever', async () => {
  await using inbox = await schema().open();
  const events = orderEvents(20, (n) => ({ order: `ord_${n}` }));
  await handled(inbox, FAILED, ...events);
  const keys = events.map(({ endpoint, id }) => ({ endpoint, id }));
  const reports = await Promise.all([
    rerunEvents(inbox, keys, ADA),
    rerunEvents(inbox, keys.toReversed(), ADA),
    rerunEvents(inbox, keys, ADA),
  ]);
  const done = reports.reduce((sum, { counts }) => sum + (counts.done ?? 0), 0);
  const notNeeded = reports.reduce((sum, { counts }) => sum + (counts['not needed'] ?? 0), 0);
  expect([done, notNeeded]).toEqual([20, 40]);
});

it('a processed event that is rerun is not pruned before it has ended again', async () => {
  await using inbox = await schema().open();
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
  expect((await rerunEvents(inbox, [KEY], ADA, { force: true })).counts).toEqual({ done: 1 });
  expect(await inbox.prune('*', START + 3_600_000, 10)).toBe(0);
  await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt'));
  expect(await inbox.prune('*', START + 3_600_000, 10)).toBe(1);
});

it('who prunes an event and who reruns it meet: it is pruned, or it runs with its body', async () => {
  await using inbox = await schema().open();
  const events = orderEvents(30, (n) => ({ order: `ord_${n}` }));
  await handled(inbox, { outcome: 'processed' }, ...events);
  const pruning = Array.from({ length: 6 }, () => inbox.prune('*', START + 3_600_000, 5));
  const keys = events.map(({ endpoint, id }) => ({ endpoint, id }));
  const { results } = await rerunEvents(inbox, keys, ADA, { force: true });
  await Promise.all(pruning);
  for (const { key, result } of results) {
    const event = await inbox.get(key);
    expect([result, event?.state, event?.body === null]).toEqual(
      result === 'done' ? ['done', 'pending', false] : ['pruned', 'processed', true],
    );
  }
});
