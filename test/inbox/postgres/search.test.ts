// @module-tag longest
import { expect, it } from 'vitest';
import { timeApart } from '../../../src/inbox/postgres/database-time.ts';
import { listEvents } from '../../../src/ops/find.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { found } from '../../ops/found-pages.ts';
import { testSearch } from '../../ops/search.conformance.ts';
import { operatedInboxes, searchedSchema } from './operators.ts';

const schema = operatedInboxes();

testSearch('a search in Postgres', () => searchedSchema(schema()));

it('a machine whose clock is two hours off finds by the times that it is shown', async () => {
  const off = 2 * 60 * 60_000;
  const time = timeApart(off);
  await using other = await schema().open();
  await using inbox = schema().join(schema().pool, time);
  await other.accept(orderEvent('earlier', { receivedAt: START + off - 1 }), later());
  await inbox.accept(orderEvent('evt', { receivedAt: START }), later());
  const { events } = await listEvents(inbox, { since: new Date(START), until: new Date(START + 1) });
  expect(events).toMatchObject([{ id: 'evt', receivedAt: new Date(START) }]);
  expect(await found(inbox, { until: new Date(START) })).toEqual(['earlier']);
  expect(await found(other, { since: new Date(START + off) })).toEqual(['evt']);
});
