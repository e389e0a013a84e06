// @module-tag longest
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { eraseEntity } from '../../../src/ops/erase.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { emptySchema } from '../../helpers/postgres.ts';
import { times } from '../../helpers/times.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { invalidThen } from '../../ops/events-in-states.ts';
import { found } from '../../ops/found-pages.ts';
import { gatedPool, interferedPool, type Interference } from './pools.ts';
import { operatedInboxes } from './operators.ts';
import { forgetIndex } from './planted.ts';

const schema = operatedInboxes();

async function emptied(): Promise<Inbox> {
  const inbox = await schema().open();
  onTestFinished(() => inbox.close());
  return inbox;
}

function joined(...source: Parameters<ReturnType<typeof schema>['join']>): Inbox {
  const inbox = schema().join(...source);
  onTestFinished(() => inbox.close());
  return inbox;
}

/** Each order is a term that finds one event. */
const event = (n: number, order = `ord_${n}`) => orderEvent(`evt_${n}`, { order });
const accepted = (inbox: Inbox, ...ns: readonly number[]) =>
  Promise.all(ns.map((n) => inbox.accept(event(n), later())));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

async function indexAll(inbox: Inbox, limit = 50): Promise<void> {
  while ((await operationsOf(inbox).indexNew(limit)) > 0);
}

async function terms(): Promise<readonly string[]> {
  const { pool, t } = schema();
  const { rows } = await pool.query<{ name: string }>(
    `SELECT events.id || ': ' || terms.term AS name FROM ${t.terms} AS terms JOIN ${t.events} AS events USING (seq) ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

const expected = (ns: readonly number[]): string[] =>
  ns
    .flatMap((n) => [`evt_${n}: entity ord_${n}`, `evt_${n}: entity order::ord_${n}`])
    .toSorted((a, b) => (a < b ? -1 : 1));

/** The role may only read, so the index cannot be locked. */
const readOnly = () =>
  interferedPool(schema().pool, (text) => (text.includes('FOR NO KEY UPDATE') ? { code: '42501' } : null));

async function unindexed(): Promise<number> {
  const { pool, t } = schema();
  const { rows } = await pool.query<{ left: number }>(
    `SELECT coalesce(sum(cardinality(seqs)), 0)::integer AS left FROM ${t.unindexed}`,
  );
  return rows[0]?.left ?? -1;
}

describe('events that are numbered before they can be seen', () => {
  it.each([
    ['', false],
    [', also when a standby has taken over that had not got the last ones', true],
  ])(
    'are entered when they are committed, in whatever order, and a search finds each at once%s',
    async (_, isStandby) => {
      const inbox = await emptied();
      if (isStandby) {
        await accepted(inbox, ...numbers(9));
        await indexAll(inbox);
        await emptySchema(schema().pool, schema().name);
      }
      let commit = (): void => {};
      const held = new Promise<void>((resolve) => (commit = resolve));
      onTestFinished(() => commit());
      let isHeld = true;
      const slow = joined(gatedPool(schema().pool, (text) => (isHeld && text === 'COMMIT' ? held : null)));
      await accepted(inbox, 0);
      const storing = accepted(slow, 1);
      // The first event has its number before the second one is stored.
      await expect
        .poll(async () => {
          const { pool, t } = schema();
          const { rows } = await pool.query(
            `SELECT pg_sequence_last_value(pg_get_serial_sequence($1, 'seq')::regclass)::int AS last`,
            [t.events],
          );
          return rows;
        })
        .toEqual([{ last: 2 }]);
      await accepted(inbox, 2);
      expect(await operationsOf(inbox).indexNew(10)).toBe(0);
      expect(await terms()).toEqual(expected([0, 2]));
      expect(await found(inbox, { entity: 'ord_2' })).toEqual(['evt_2']);
      isHeld = false;
      commit();
      await storing;
      expect(await unindexed()).toBe(1);
      expect(await found(joined(readOnly()), { entity: 'ord_1' })).toEqual(['evt_1']);
      await indexAll(inbox);
      expect(await terms()).toEqual(expected([0, 1, 2]));
      expect(await found(inbox, { entity: 'ord_1' })).toEqual(['evt_1']);
    },
  );

  it('are all in it in the end, beside four writers and two machines that index', async () => {
    const inbox = await emptied();
    const random = () => delay(Math.random() * 8);
    const writers = numbers(4).map(() =>
      joined(gatedPool(schema().pool, (text) => (text === 'COMMIT' ? random() : null))),
    );
    const indexers = [joined(), joined()];
    const each = times(150, 50);
    const stored = new AbortController();
    const indexing = indexers.map(async (one) => {
      while (!stored.signal.aborted) {
        await operationsOf(one).indexNew(7);
        await delay(1);
      }
    });
    await Promise.all(
      writers.map(async (writer, at) => {
        for (let n = 0; n < each; n += 1) await accepted(writer, 4 * n + at);
      }),
    );
    stored.abort();
    await Promise.all(indexing);
    // Indexing went on while events were stored.
    expect(await unindexed()).toBeLessThan(4 * each);
    await indexAll(inbox);
    expect(await terms()).toEqual(expected(numbers(4 * each)));
    expect(await operationsOf(inbox).indexNew(1)).toBe(0);
  });

  it('and numbers that nobody has are passed over', async () => {
    const inbox = await emptied();
    const { pool, t } = schema();
    await accepted(inbox, 0);
    await pool.query(`SELECT nextval(pg_get_serial_sequence($1, 'seq')) FROM generate_series(1, 100)`, [t.events]);
    await accepted(inbox, 1);
    expect(await operationsOf(inbox).indexNew(1)).toBeGreaterThan(0);
    expect(await operationsOf(inbox).indexNew(1)).toBe(0);
    expect(await terms()).toEqual(expected([0, 1]));
  });
});

describe('a sequence that was set back into a gap of numbers', () => {
  /** Events 1 and 1001 are indexed; the next number is 2. */
  async function withGap(receivedAt = START): Promise<Inbox> {
    const inbox = await emptied();
    const { pool, t } = schema();
    const at = (n: number) => pool.query(`SELECT setval(pg_get_serial_sequence($1, 'seq'), ${n})`, [t.events]);
    const store = (n: number, receivedAt: number) => inbox.accept({ ...event(n), receivedAt }, later());
    await store(0, receivedAt);
    await at(1_000);
    for (let n = 1; n <= 40; n += 1) await store(n, receivedAt + n);
    await indexAll(inbox);
    await at(1);
    return inbox;
  }

  it('leaves no event that a search does not find, before it is indexed and after that', async () => {
    const inbox = await withGap();
    await accepted(inbox, 99);
    expect(await found(joined(readOnly()), { entity: 'ord_99' })).toEqual(['evt_99']);
    expect(await found(joined(readOnly()), { entity: 'ord_40' })).toEqual(['evt_40']);
    await indexAll(inbox);
    expect(await terms()).toContain('evt_99: entity ord_99');
    expect(await found(inbox, { entity: 'ord_99' })).toEqual(['evt_99']);
    expect(await operationsOf(inbox).indexNew(1)).toBe(0);
  });

  it('leaves no event that erasing does not find', async () => {
    const inbox = await withGap();
    await accepted(inbox, 99);
    expect(await eraseEntity(inbox, 'ord_99', { actor: 'ada', reason: 'a request' })).toMatchObject({ erased: 1 });
    expect(await inbox.get(event(99))).toMatchObject({ body: null });
  });

  it('leaves no event that a search by time skips, once it is indexed', async () => {
    const [hour, day] = [3_600_000, 24 * 3_600_000];
    const inbox = await withGap(START - 10 * day);
    await inbox.accept({ ...event(99), receivedAt: START }, later());
    await indexAll(inbox);
    expect(await found(inbox, { since: new Date(START - hour) })).toEqual(['evt_99']);
    expect(await found(inbox, { until: new Date(START - 5 * day) })).not.toContain('evt_99');
    expect((await found(inbox, { until: new Date(START - 5 * day) })).length).toBe(41);
  });

  it('leaves no event that is not handled', async () => {
    const inbox = await withGap();
    await accepted(inbox, 99);
    const claimed = await inbox.claim({ ...EVERYTHING, now: START + 1_000, leaseMs: 60_000, ordered: true }, 100);
    expect(claimed.map(({ id }) => id)).toContain('evt_99');
  });
});

describe('an event that changes while it is indexed', () => {
  it('is known by what it says in the end, and by nothing else', async () => {
    const inbox = await emptied();
    await inbox.accept({ ...event(1, 'first'), verified: false }, later());
    await inbox.accept(invalidThen(event(2, 'first')), later());
    let reach = (): void => {};
    const reached = new Promise<void>((resolve) => (reach = resolve));
    let go = (): void => {};
    const gone = new Promise<void>((resolve) => (go = resolve));
    onTestFinished(() => go());
    const indexer = joined(
      gatedPool(schema().pool, (text) => {
        if (!text.includes(`INSERT INTO ${schema().t.terms}`)) return null;
        reach();
        return gone;
      }),
    );
    const indexing = operationsOf(indexer).indexNew(10);
    await reached;
    // The batch has read the first bodies, and is not committed.
    const replacing = Promise.all([
      inbox.accept(event(1, 'second'), later()),
      inbox.accept(event(2, 'second'), later()),
    ]);
    await delay(50);
    go();
    await Promise.all([indexing, replacing]);
    await indexAll(inbox);
    expect(await terms()).toEqual(
      [
        'evt_1: entity order::second',
        'evt_1: entity second',
        'evt_2: entity order::second',
        'evt_2: entity second',
      ].toSorted(),
    );
  });
});

describe('a machine that indexes', () => {
  it('may lose its connection at any statement, COMMIT included, and nothing is missed', async () => {
    const inbox = await emptied();
    await accepted(inbox, ...numbers(5));
    let asked = 0;
    let at = Infinity;
    let how: Exclude<Interference, null> = 'lost';
    const unlucky = joined(
      interferedPool(schema().pool, () => {
        asked += 1;
        return asked === at ? how : null;
      }),
    );
    const { pool, t } = schema();
    const forget = () => forgetIndex(pool, t);
    await indexAll(unlucky);
    await forget();
    asked = 0;
    await operationsOf(unlucky).indexNew(10);
    const statements = asked;
    expect(statements).toBeGreaterThan(8);
    for (how of ['lost', 'unanswered'] as const) {
      for (let n = 1; n <= statements; n += 1) {
        await forget();
        asked = 0;
        at = n;
        await operationsOf(unlucky).indexNew(10);
        at = Infinity;
        await indexAll(inbox);
        expect([how, n, await terms()]).toEqual([how, n, expected(numbers(5))]);
      }
    }
  });

  it('and dies half way leaves the rest to another one', async () => {
    const inbox = await emptied();
    await accepted(inbox, ...numbers(5));
    const dying = joined(
      interferedPool(schema().pool, (text) => (text.includes(`DELETE FROM ${schema().t.unindexed}`) ? 'lost' : null)),
    );
    // Other test files may be indexing on this server.
    const indexed = () =>
      operationsOf(dying)
        .indexNew(10)
        .catch((failure: unknown) => failure);
    await expect.poll(indexed).toMatchObject({ name: 'InboxUnavailableError' });
    expect([await terms(), await unindexed()]).toEqual([[], 5]);
    await indexAll(inbox);
    expect(await terms()).toEqual(expected(numbers(5)));
  });

  it('and stands still half way holds up neither the others that index nor, for long, who changes an event', async () => {
    const inbox = await emptied();
    await accepted(inbox, ...numbers(3));
    await inbox.accept({ ...event(9, 'first'), verified: false }, later());
    let reach = (): void => {};
    const reached = new Promise<void>((resolve) => (reach = resolve));
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    onTestFinished(() => wake());
    const still = joined(
      gatedPool(schema().pool, (text) => {
        if (!text.includes(`DELETE FROM ${schema().t.unindexed}`)) return null;
        reach();
        return woken;
      }),
    );
    const indexing = operationsOf(still).indexNew(10);
    await reached;
    expect(await operationsOf(inbox).indexNew(10)).toBe(4);
    expect(await found(inbox, { entity: 'ord_2' })).toEqual(['evt_2']);
    // Postgres ends the frozen transaction; the delivery waits until then.
    expect(await inbox.accept(event(9, 'second'), later())).toMatchObject({ replaced: true });
    await indexAll(inbox);
    expect(await terms()).toContain('evt_9: entity second');
    expect(await terms()).not.toContain('evt_9: entity first');
    // The connection is gone, so the batch begins anew.
    wake();
    expect(await indexing).toBe(0);
  });
});
