import type Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import { exportEvents } from '../../src/ops/export.ts';
import { deadGroups, listEvents } from '../../src/ops/find.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { START } from '../helpers/virtual-clock.ts';
import { busyShop } from '../ops/busy-shop.ts';
import { sqliteShop } from '../ops/searched-store.ts';

/** Statements that SQLite has prepared anew although they were prepared. */
function preparedAnew(database: Database.Database): ReadonlySet<string> {
  const anew = new Set<string>();
  const known = new WeakSet<Database.Statement>();
  let made = 0;
  const { Function: given } = globalThis;
  const counting = new Proxy(given, {
    apply(target, self, parts) {
      made += 1;
      return Reflect.apply(target, self, parts) as unknown;
    },
  });
  globalThis.Function = counting;
  onTestFinished(() => void (globalThis.Function = given));

  const prepare = database.prepare.bind(database) as (sql: string) => Database.Statement;
  const watching = (sql: string): Database.Statement => {
    const statement = prepare(sql);
    if (sql.startsWith('PRAGMA')) return statement;
    const watch = <T>(run: (...parameters: unknown[]) => T) => {
      return (...parameters: unknown[]): T => {
        const before = made;
        const result = run(...parameters);
        if (made > before && known.has(statement)) anew.add(sql);
        if (made > before) known.add(statement);
        return result;
      };
    };
    statement.get = watch(statement.get.bind(statement));
    statement.all = watch(statement.all.bind(statement));
    return statement;
  };
  database.prepare = watching as typeof database.prepare;
  return anew;
}

const filters: readonly EventFilter[] = [
  {},
  { id: 'evt_1' },
  { types: ['order.created'] },
  { states: ['dead'] },
  { states: ['pending'] },
  { states: ['ignored'] },
  { since: new Date(0), until: new Date(8e15) },
  { entity: 'ord_1' },
  { merchant: 'mer_1' },
  { error: 'till' },
  { fingerprint: 'failed' },
  { retrying: true },
  { redelivered: true },
  { superseded: true },
  { conflict: true },
];

it('no statement is prepared anew each time it is run', async () => {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close(); // it makes the tables
  const anew = preparedAnew(database);
  await using inbox = sqliteInbox({ database });
  await busyShop({ inbox, ...sqliteShop(database) }, 300);

  for (let minute = 1; minute <= 400; minute += 1) {
    const now = START + minute * 60_000;
    const types = minute % 2 === 0 ? '*' : ['order.created', 'order.ready'];
    const scope = { endpoints: minute % 3 === 0 ? '*' : ['default'], types } as const;
    for (const { lease } of await inbox.claim({ ...scope, now, leaseMs: 60_000, ordered: true }, 2)) {
      if (minute % 5 > 0) await inbox.settle(lease, { outcome: 'processed' }, now);
    }
    await inbox.announce({ ...scope, types: ['order.created'] }, now, START);
    await inbox.nextDue(scope);
    if (minute % 50 === 0) await inbox.prune(minute % 100 === 0 ? '*' : ['default'], now - 3_600_000, 5);
  }
  for (let round = 0; round < 2; round += 1) {
    while ((await inbox.operations?.indexNew(20)) !== 0);
    for (const filter of filters) await listEvents(inbox, filter, { limit: 3 });
    await deadGroups(inbox);
    let lines = 0;
    for await (const line of exportEvents(inbox, { actor: 'ada' })) lines += line.length;
    expect(lines).toBeGreaterThan(300);
  }
  expect([...anew]).toEqual([]);

  const limited = 'SELECT seq FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT ?';
  const statement = database.prepare(limited);
  for (const limit of [1, 2, 3]) statement.all(0, limit);
  expect([...anew]).toEqual([limited]);
});
