import type Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { discardEvents, rerunEvents } from '../../src/ops/act-on-events.ts';
import { inboxOnFile, sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { testActs } from './acts.conformance.ts';
import { bury, FAILED, handled, key } from './events-in-states.ts';
import { testRetryNow, type RetriedStore } from './retry-now.conformance.ts';

const ADA: By = { actor: 'ada', reason: 'the shop was down', now: START + 1_000 };

let database: Database.Database;
let inbox: Inbox;
let executed: string[];

beforeEach(() => {
  executed = [];
  database = merchantDatabase(undefined, { verbose: (sql) => void executed.push(String(sql)) });
  inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
});

testActs('acts in SQLite', async () => {
  const store = {
    inbox,
    notified: 0,
    row: async (id: string) => rowOf(id),
    bury: async (id: string) => bury(database, id),
    markErased: async (id: string) =>
      void database.prepare('UPDATE hookbox_events SET erased_ms = 1 WHERE id = ?').run(id),
    setBody: async (id: string, body: Uint8Array) =>
      void database.prepare('UPDATE hookbox_events SET body = ? WHERE id = ?').run(body, id),
  };
  inbox.onPending(() => (store.notified += 1));
  return store;
});

it('a discard of 500 events of one entity moves its queue on once, not 500 times', async () => {
  const ids = Array.from({ length: 500 }, (_, n) => `evt_${n}`);
  await Promise.all(ids.map((id) => inbox.accept(orderEvent(id, { order: 'ord_1' }), later())));
  executed = [];
  expect((await discardEvents(inbox, ids.map(key), ADA)).counts).toEqual({ done: 500 });
  expect(
    executed.filter((sql) => /SELECT created_ms, created_ns, seq, type, 0 AS yields, .* FROM hookbox_events/.test(sql)),
  ).toHaveLength(1);
});

it('several events are moved all or none: where the audit cannot be written, nothing is done, and deliveries of that moment are stored', async () => {
  await handled(inbox, FAILED, orderEvent('evt'));
  database.exec("CREATE TRIGGER no_audit BEFORE INSERT ON hookbox_audit BEGIN SELECT raise(ABORT, 'no'); END");
  const [act, delivery] = await Promise.allSettled([
    rerunEvents(inbox, [key('evt')], ADA),
    inbox.accept(orderEvent('new'), later()),
  ]);
  expect(act).toMatchObject({ status: 'rejected', reason: expect.any(InboxUnavailableError) as unknown });
  expect(delivery).toMatchObject({ status: 'fulfilled', value: { result: 'stored' } });
  expect(rowOf('evt')).toMatchObject({ state: 'dead' });
  expect(database.prepare("SELECT count(*) FROM hookbox_counts WHERE what = 'rerun'").pluck().get()).toBe(0);
});

function rowOf(id: string): Record<string, unknown> {
  const row = database.prepare('SELECT * FROM hookbox_events WHERE id = ?').get(id);
  if (row === undefined) throw new Error(`${id} is gone`);
  return row as Record<string, unknown>;
}

testRetryNow('retrying now in SQLite', async () => {
  const { inbox, database } = inboxOnFile();
  const store: RetriedStore = { inbox, notified: 0, bury: async (id) => bury(database, id) };
  inbox.onPending(() => (store.notified += 1));
  return store;
});
