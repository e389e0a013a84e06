// @module-tag longest
import { expect, it, onTestFinished } from 'vitest';
import { storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { noteOutOfOrder } from '../../../src/inbox/operator/finding/indexes.ts';
import { rowsIn } from '../../../src/inbox/postgres/operator/access.ts';
import { tableNames } from '../../../src/inbox/postgres/sql/tables.ts';
import { countEvents, findEvents, getEvent, listEvents } from '../../../src/ops/index.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { later, severalIncoming } from '../../helpers/incoming-event.ts';
import { emptySchema, SETTINGS } from '../../helpers/postgres.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { times } from '../../helpers/times.ts';
import { busyShop } from '../../ops/busy-shop.ts';
import { alone } from '../../ops/every-filter.ts';
import { interferedPool } from './pools.ts';
import { operatedInboxes, searchedSchema } from './operators.ts';
import { planFaults, plansOf, sortsAll } from './plan-faults.ts';

const schema = operatedInboxes();

it('no search reads a whole table or sorts one, whatever the statistics say', async () => {
  const { pool, t, name, join } = schema();
  await using shop = await searchedSchema(schema());
  const seen = new Set<string>();
  const counted = interferedPool(pool, (text) => {
    seen.add(text);
    return null;
  });
  const inbox = join(counted);
  onTestFinished(() => inbox.close());
  await busyShop(shop, 60);
  const { database } = storeOn({ pool: counted }, { ...SETTINGS, schema: name });
  await database.transaction({
    work: (session) => noteOutOfOrder({ rows: rowsIn(session) }, { t }, 20, 30),
  });
  seen.clear();

  while ((await operationsOf(inbox).indexNew(20)) !== 0);
  for (const filter of [...alone(), { states: ['pending', 'processing'], types: ['order.created'] } as const]) {
    const page = await listEvents(inbox, filter, { limit: 3 });
    await listEvents(inbox, filter, { limit: 3, before: page.next });
    await listEvents(inbox, filter, { limit: 3, order: 'oldest' });
    await countEvents(inbox, filter);
  }
  const { next, nextAt } = await listEvents(inbox, {}, { limit: 3, order: 'failed' });
  await listEvents(inbox, {}, { limit: 3, order: 'failed', before: next, ...(nextAt && { beforeAt: nextAt }) });
  await findEvents(inbox, 'ORD_1');
  await getEvent(inbox, { endpoint: 'default', id: 'evt_1' });
  const texts = [...seen];
  expect(texts.length).toBeGreaterThan(20);

  const analyze = () => pool.query(`ANALYZE ${tableNames.map((table) => t[table]).join(', ')}`);
  await emptySchema(pool, name);
  // Statistics of an almost empty inbox.
  await analyze();
  expect(await planFaults(pool, t, texts, sortsAll)).toEqual([]);
  await inbox.accept(orderEvent('evt'), later());
  await pool.query(`VACUUM (ANALYZE) ${t.events}, ${t.queue}, ${t.terms}`);
  expect(await planFaults(pool, t, texts, sortsAll)).toEqual([]);
  // Now there are many events.
  await Promise.all(severalIncoming(times(9_000, 2_000)).map((event) => inbox.accept(event, later())));
  while ((await operationsOf(inbox).indexNew(2_000)) !== 0);
  await pool.query(
    `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
     SELECT n, CASE n % 1000 WHEN 0 THEN 'dead' ELSE 'ignored' END, CASE n % 1000 WHEN 0 THEN 'failed' END, 'default', 'a', 1, 1
     FROM generate_series(100001, 120000) AS n`,
  );
  expect(await planFaults(pool, t, texts, sortsAll)).toEqual([]);
  await analyze();
  expect(await planFaults(pool, t, texts, sortsAll)).toEqual([]);

  // The checked statements must be those of the search.
  const reads = texts.filter((text) => /^\s*(SELECT|WITH|\()/.test(text));
  const plans = Array.from((await plansOf(pool, reads)).values(), (plan) => plan.join('\n')).join('\n');
  const indexes =
    'events_pkey events_by_key terms_pkey shelf_by_state shelf_dead queue_retrying queue_pkey queue_leases queue_due ' +
    'queue_parked conflicts_pkey redeliveries_pkey attempts_pkey attempts_superseded';
  for (const index of indexes.split(' ')) expect(plans).toMatch(new RegExp(`using ${index} `));
});

it('what sorts a table would be found out', async () => {
  const { pool, t } = schema();
  const sorting = [
    `SELECT seq FROM ${t.events} WHERE id = $1 ORDER BY received_ms`,
    `SELECT few.seq FROM (SELECT seq, due_ms FROM ${t.queue} WHERE seq < $1) AS few ORDER BY few.due_ms LIMIT 5`,
  ];
  const bounded = `SELECT seq FROM (SELECT seq, due_ms FROM ${t.queue} WHERE seq < $1 ORDER BY seq LIMIT 5) AS few ORDER BY due_ms`;
  const plans = await plansOf(pool, [...sorting, bounded]);
  expect([...plans.values()].map((plan) => sortsAll(plan).length)).toEqual([1, 1, 0]);
});
