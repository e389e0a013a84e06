// @module-tag longest
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { auditLines } from '../../../src/ops/audit.ts';
import { getBulk, previewBulk, runBulk } from '../../../src/ops/bulks.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import type { Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { orderEvent, orderEvents, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { testBulkOutcomes } from '../../ops/bulk-outcome.conformance.ts';
import { testBulks, type Written } from '../../ops/bulks.conformance.ts';
import { armedPool, once, type Interference } from './pools.ts';
import { operatedInboxes } from './operators.ts';
import { bury, plantDead, refuse } from './planted.ts';

const schema = operatedInboxes();
const ADA = { actor: 'ada', now: START + 1_000 };
const UNLIMITED = { ratePerSecond: Infinity };

const written = (t: Tables): Readonly<Record<Written, string>> => ({
  'the events': `INSERT ON ${t.queue}`,
  'the results': `UPDATE ON ${t.bulk_events}`,
  'the bulk': `UPDATE ON ${t.bulks}`,
  'the line of the audit': `INSERT ON ${t.audit}`,
  'the counts of that line': `UPDATE ON ${t.audit}`,
});

testBulks('bulks in Postgres', async () => {
  const { pool, t, open, join } = schema();
  const inbox = await open();
  const ofSchema = t.events.slice(0, t.events.indexOf('.'));
  // An event that leaves the shelf becomes pending.
  await pool.query(`
    CREATE TABLE ${ofSchema}.moves (seq bigint, was text);
    CREATE FUNCTION ${ofSchema}.log_move() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN INSERT INTO ${ofSchema}.moves VALUES (OLD.seq, OLD.state); RETURN NULL; END$$;
    CREATE TRIGGER log_moves AFTER DELETE ON ${t.shelf} FOR EACH ROW EXECUTE FUNCTION ${ofSchema}.log_move()`);
  onTestFinished(async () => {
    await inbox.close();
    await pool.query(`DROP FUNCTION ${ofSchema}.log_move CASCADE; DROP TABLE ${ofSchema}.moves`);
  });
  return {
    inbox,
    second: join,
    plant: (...events) => plantDead(pool, t, ...events),
    bury: (id) => bury(pool, t, id),
    async dieAgain() {
      const { rowCount } = await pool.query(
        `WITH taken AS (DELETE FROM ${t.queue} WHERE lease_until_ms IS NULL RETURNING *)
         INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, attempts)
         SELECT seq, 'dead', 'failed', endpoint, type, 1, due_ms, attempts FROM taken`,
      );
      return rowCount ?? 0;
    },
    async moves(was) {
      const text = `SELECT count(DISTINCT seq)::integer AS events, count(*)::integer AS moves FROM ${ofSchema}.moves WHERE was = $1`;
      const { rows } = await pool.query<{ events: number; moves: number }>(text, [was]);
      return rows[0] ?? { events: 0, moves: 0 };
    },
    async heardEarlier(id, ms) {
      await pool.query(`UPDATE ${t.bulks} SET heartbeat_ms = heartbeat_ms - $2 WHERE id = $1`, [id, ms]);
    },
    async rows() {
      const { rows } = await pool.query(
        `SELECT * FROM ${t.events} LEFT JOIN ${t.queue} USING (seq) LEFT JOIN ${t.shelf} USING (seq) ORDER BY seq`,
      );
      return rows;
    },
    async bulks() {
      return (await pool.query(`SELECT 1 FROM ${t.bulks}`)).rows.length;
    },
    async snapshots() {
      const { rows } = await pool.query<{ bulk: number; ids: string[] }>(
        `SELECT bulk::integer, array_agg(id ORDER BY id COLLATE "C") AS ids
         FROM ${t.bulk_events} JOIN ${t.events} USING (seq) GROUP BY bulk ORDER BY bulk`,
      );
      return rows;
    },
    breaks: (what) => refuse(pool, t, written(t)[what]),
  };
});

testBulkOutcomes('what became of bulks in Postgres', async () => {
  const inbox = await schema().open();
  onTestFinished(() => inbox.close());
  return inbox;
});

async function withBulk(count: number, interfere: (text: string) => Interference) {
  const { pool, t, open } = schema();
  const { source, arm } = armedPool(pool, interfere);
  const inbox = await open(source);
  onTestFinished(() => inbox.close());
  const events = orderEvents(count);
  await plantDead(pool, t, ...events);
  return { inbox, arm };
}

it.each(['lost', 'unanswered'] as const)(
  'a batch whose COMMIT is %s is worked once, and says so',
  async (interference) => {
    const { interfere, seen } = once((text) => text === 'COMMIT', interference);
    const { inbox, arm } = await withBulk(10, interfere);
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    let notified = 0;
    inbox.onPending(() => (notified += 1));
    arm();
    expect(await operationsOf(inbox).advanceBulk(id, 4, ADA, {})).toMatchObject({ worked: 4, counts: { done: 4 } });
    expect(seen.count).toBeGreaterThan(1);
    expect(notified).toBe(1);
    expect(await getBulk(inbox, id)).toMatchObject({ worked: 4, counts: { done: 4 } });
    expect((await auditLines(inbox)).lines).toMatchObject([{ counts: { done: 4 } }]);
  },
);

it.each(['lost', 'unanswered'] as const)(
  'a preview of which any COMMIT is %s has each event once, and can be run',
  async (interference) => {
    let commits = 0;
    const interfere = (text: string): Interference => {
      if (text !== 'COMMIT') return null;
      commits += 1;
      return commits % 2 === 0 ? interference : null;
    };
    const { inbox, arm } = await withBulk(10, interfere);
    arm();
    const { id, total } = await previewBulk(inbox, 'rerun', {}, ADA);
    expect(total).toBe(10);
    expect(await runBulk(inbox, id, ADA, UNLIMITED)).toMatchObject({ state: 'done', counts: { done: 10 } });
  },
);

/** A slow machine ends a batch early, so no time passes here. */
async function inOneBatch(inbox: Inbox<never>, id: number, limit: number) {
  const time = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  try {
    return await operationsOf(inbox).advanceBulk(id, limit, ADA, {});
  } finally {
    time.mockRestore();
  }
}

it.each(['dead', 'pending'] as const)(
  'a thousand that are %s are discarded by some tens of statements',
  async (state) => {
    let asked = 0;
    const { inbox, arm } = await withBulk(state === 'dead' ? 1_000 : 0, (text) => {
      if (!text.startsWith('BEGIN')) asked += 1;
      return null;
    });
    await inbox.announce({ endpoints: '*', types: '*' }, START, null);
    if (state === 'pending') {
      // Each event holds back another one.
      const waiting = orderEvents(1_000, (n) => ({ order: `ord_${n % 400}`, createdAt: n }));
      await Promise.all(waiting.map((event) => inbox.accept(event, Date.now() + 60_000)));
    }
    const { id, total } = await previewBulk(inbox, 'discard', {}, ADA);
    expect(total).toBe(1_000);
    if (state === 'pending') {
      const newer = Array.from({ length: 400 }, (_, n) =>
        orderEvent(`newer_${n}`, { order: `ord_${n}`, createdAt: 5_000 }),
      );
      await Promise.all(newer.map((event) => inbox.accept(event, Date.now() + 60_000)));
    }
    arm();
    expect(await inOneBatch(inbox, id, 1_000)).toMatchObject({ counts: { done: 1_000 }, state: 'done' });
    expect(asked).toBeLessThan(40);
  },
);

it('a rerun of many reads and writes many at a time too', async () => {
  let asked = 0;
  const { inbox, arm } = await withBulk(500, () => {
    asked += 1;
    return null;
  });
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  arm();
  expect(await inOneBatch(inbox, id, 500)).toMatchObject({
    counts: { done: 500 },
    state: 'done',
  });
  expect(asked).toBeLessThan(50);
});

it('a bulk is advanced beside deliveries and handlers, and each event is worked once', async () => {
  const { inbox } = await withBulk(300, () => null);
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  const running = runBulk(inbox, id, ADA, UNLIMITED);
  const ran: string[] = [];
  const request = { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: START + 2_000 } as const;
  for (let n = 0; ran.length < 300; n += 1) {
    await store(inbox, orderEvent('evt_0'), { ...orderEvent(`evt_${n % 300}`), body: Buffer.from('{"other":1}') });
    for (const { id, lease } of await inbox.claim(request, 20)) {
      ran.push(id);
      await inbox.settle(lease, { outcome: 'processed' }, START + 2_000);
    }
  }
  expect(await running).toMatchObject({ state: 'done', counts: { done: 300 } });
  expect(new Set(ran).size).toBe(300);
});
