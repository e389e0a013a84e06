import type Database from 'better-sqlite3';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import { changeQueue } from '../../src/inbox/sqlite/changes.ts';
import { adoptedConnection, ownConnection, type Connection } from '../../src/inbox/sqlite/connection.ts';
import { accessOf } from '../../src/inbox/sqlite/operator/access.ts';
import { SEARCH_INDEX } from '../../src/inbox/sqlite/operator/search-words.ts';
import { operatorTables } from '../../src/inbox/sqlite/operator/tables.ts';
import { FREE } from '../../src/inbox/sqlite/threads/write-lock.ts';
import { discardEvents, auditLines } from '../../src/ops/index.ts';
import { claimed, key } from '../ops/events-in-states.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { START } from '../helpers/virtual-clock.ts';

const ADA = { actor: 'ada', reason: 'not needed', now: START + 1_000 };
const BOB = { actor: 'bob', reason: 'not needed', now: START + 1_000 };

/** The statements of each transaction, and those outside one. */
function transactionsIn(executed: readonly string[]): { readonly inside: string[][]; readonly outside: string[] } {
  const inside: string[][] = [];
  const outside: string[] = [];
  let open: string[] | null = null;
  for (const sql of executed) {
    if (/^BEGIN\b/.test(sql)) {
      expect(open).toBeNull();
      open = [];
      inside.push(open);
    }
    (open ?? outside).push(sql);
    if (/^(COMMIT|ROLLBACK)$/.test(sql)) open = null;
  }
  expect(open).toBeNull();
  return { inside, outside };
}

describe('a batch of an operator that fails in the middle, without a thread', () => {
  it('is rolled back alone, beside deliveries, ctx.transaction, another batch and the application', async () => {
    const executed: string[] = [];
    const database = merchantDatabase(undefined, { verbose: (sql) => void executed.push(String(sql)) });
    await using inbox = sqliteInbox({ database });
    const ids = (name: string) => Array.from({ length: 60 }, (_, n) => `${name}_${n}`);
    const events = [...ids('failing'), ...ids('other'), 'handled'].map((id) => orderEvent(id));
    await Promise.all(events.map((event) => inbox.accept(event, later())));
    const running = await claimed(inbox, key('handled'));
    database.exec(`CREATE TRIGGER in_the_middle BEFORE UPDATE ON hookbox_events WHEN NEW.id = 'failing_30'
      BEGIN SELECT raise(ABORT, 'no such luck'); END`);
    executed.length = 0;

    const until = { isOver: false };
    const application = (async () => {
      for (let n = 0; !until.isOver; n += 1) {
        await turn();
        for (let microtask = 0; microtask < 20; microtask += 1) {
          await Promise.resolve();
          if (database.inTransaction) throw new Error('the application is in a transaction of hookbox');
          database.prepare('INSERT INTO orders VALUES (?, 1)').run(`application_${n}_${microtask}`);
        }
      }
      return (database.prepare("SELECT count(*) FROM orders WHERE id LIKE 'application%'").pluck().get() ??
        0) as number;
    })();
    const failing = discardEvents(inbox, ids('failing').map(key), ADA);
    const [failed, other, effect, ...deliveries] = await Promise.allSettled([
      failing,
      discardEvents(inbox, ids('other').map(key), BOB),
      inbox.transaction(running.lease, () => void database.exec("INSERT INTO orders VALUES ('effect', 1)"), {
        now: () => START + 2,
        signal: new AbortController().signal,
      }),
      ...severalIncoming(20).map((event) => inbox.accept(event, later())),
      ...Array.from({ length: 20 }, async (_, n) => {
        for (let turns = 0; turns < n; turns += 1) await turn();
        await inbox.list({ limit: 1 });
        return inbox.accept(orderEvent(`late_${n}`), later());
      }),
    ]);
    until.isOver = true;

    expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(InboxUnavailableError) as unknown });
    expect(other).toMatchObject({ status: 'fulfilled', value: { counts: { done: 60 } } });
    expect(effect.status).toBe('fulfilled');
    expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['fulfilled']));
    expect(await application).toBeGreaterThan(0);
    const states = database
      .prepare(`SELECT state, count(*) AS count FROM hookbox_events GROUP BY state ORDER BY state`)
      .all();
    expect(states).toEqual([
      { state: 'discarded', count: 60 },
      { state: 'pending', count: 100 },
      { state: 'processed', count: 1 },
    ]);
    expect((await auditLines(inbox)).lines.map(({ actor }) => actor)).toEqual(['bob']);

    const { inside } = transactionsIn(executed);
    const kinds = inside.map((statements) => {
      const all = statements.join('\n');
      const discarded = Array.from(all.matchAll(/WHERE seq = (\d+)\.0 AND state IN/g), ([, seq]) => Number(seq));
      return [
        ...(all.includes('INSERT INTO hookbox_events') ? ['deliveries'] : []),
        ...(discarded.some((seq) => seq <= 60) ? ['failing'] : []),
        ...(discarded.some((seq) => seq > 60) ? ['other'] : []),
        ...(all.includes("'effect'") ? ['effect'] : []),
        ...(all.includes('application_') ? ['application'] : []),
        ...(statements.at(-1) === 'ROLLBACK' ? ['rolled back'] : []),
      ].join();
    });
    const expected = ['failing,rolled back', 'failing,rolled back', 'other', 'effect'];
    expect(kinds.filter((kind) => kind !== 'deliveries').toSorted()).toEqual(expected.toSorted());
    expect(kinds).toContain('deliveries');
  });

  it('never keeps a delivery waiting for more than one batch', async () => {
    const order: string[] = [];
    await using inbox = sqliteInbox(scratchFile());
    const batches = Array.from({ length: 8 }, (_, n) => Array.from({ length: 5 }, (_, at) => `${n}_${at}`));
    await Promise.all(batches.flat().map((id) => inbox.accept(orderEvent(id), later())));
    await Promise.all([
      ...batches.map((ids) => discardEvents(inbox, ids.map(key), ADA).then(() => order.push('batch'))),
      (async () => {
        // Reading the sizes of the bodies comes before the change.
        await turn();
        await inbox.accept(orderEvent('new'), later());
        order.push('delivery');
      })(),
    ]);
    expect(order.indexOf('delivery')).toBeLessThanOrEqual(2);
  });
});

describe.each(['own', 'adopted'] as const)(
  'a change that awaits more than its database, on an %s connection',
  (which) => {
    function opened(): { connection: Connection; database: Database.Database } {
      const file = scratchFile();
      const database = merchantDatabase(file);
      const connection =
        which === 'own' ? ownConnection(file, SEARCH_INDEX) : adoptedConnection(database, SEARCH_INDEX);
      onTestFinished(() => connection.close());
      return { connection, database };
    }
    const insert = (id: string) => ({ text: 'INSERT INTO orders VALUES ($1, 1)', values: [id] });

    it('is rolled back before any other code runs, and writes nothing afterwards', async () => {
      const { connection, database } = opened();
      const tables = operatorTables(accessOf(connection, changeQueue(connection, FREE), () => {}));
      const later: unknown[] = [];
      let isOpenAfterwards: boolean | null = null;
      const changing = tables.change(async (tx) => {
        const { rows } = tx;
        const { database: own } = connection.statements();
        await rows(insert('first'));
        setImmediate(() => (isOpenAfterwards = own.inTransaction));
        await sleep(5);
        for (const write of [rows, tx.rows]) {
          try {
            later.push(await write(insert('second')));
          } catch (failure) {
            later.push(String(failure));
          }
        }
      });
      await expect(changing).rejects.toThrow(/awaited something other than the database/);
      await expect.poll(() => later).toEqual(Array.from({ length: 2 }, () => 'Error: the transaction is over'));
      expect(isOpenAfterwards).toBe(false);
      await tables.change(async ({ rows }) => void (await rows(insert('third'))));
      expect(database.prepare("SELECT id FROM orders WHERE id NOT LIKE 'ord%'").pluck().all()).toEqual(['third']);
    });

    it('does not hold up the next one, if it never ends', async () => {
      const { connection, database } = opened();
      const tables = operatorTables(accessOf(connection, changeQueue(connection, FREE), () => {}));
      const changing = tables.change(() => new Promise<never>(() => {}));
      const next = tables.change(async ({ rows }) => void (await rows(insert('next'))));
      await expect(changing).rejects.toThrow(/awaited something other/);
      await next;
      expect(database.prepare("SELECT count(*) FROM orders WHERE id = 'next'").pluck().get()).toBe(1);
    });

    it('lets no other transaction begin on its connection meanwhile', async () => {
      const { connection } = opened();
      const tables = operatorTables(accessOf(connection, changeQueue(connection, FREE), () => {}));
      const refused: unknown[] = [];
      await tables.change(async ({ rows }) => {
        await rows(insert('first'));
        try {
          connection.begin();
        } catch (failure) {
          refused.push(failure);
        }
        await rows(insert('second'));
      });
      expect(refused).toMatchObject([{ code: 'SQLITE_BUSY' }]);
      expect(
        connection.statements().database.prepare('SELECT count(*) AS n FROM orders WHERE total = 1').get(),
      ).toEqual({
        n: 2,
      });
    });
  },
);

it('a change that fails once is carried out by its second try, and one row too many fails it twice', async () => {
  const connection = adoptedConnection(merchantDatabase(), SEARCH_INDEX);
  const tables = operatorTables(accessOf(connection, changeQueue(connection, FREE), () => {}));
  let tries = 0;
  const once = tables.change(async ({ rows }) => {
    tries += 1;
    await rows({ text: "INSERT INTO orders VALUES ('new', 1)" });
    if (tries === 1) throw Object.assign(new Error('once'), { code: 'SQLITE_IOERR_WRITE' });
    return tries;
  });
  expect(await once).toBe(2);
  tries = 0;
  const twice = tables.change(async ({ rows }) => {
    tries += 1;
    await rows({ text: "INSERT INTO orders VALUES ('new', 1)" });
  });
  await expect(twice).rejects.toThrow(/UNIQUE/);
  expect(tries).toBe(2);
});
