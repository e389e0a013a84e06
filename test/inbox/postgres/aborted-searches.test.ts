import { expect, it } from 'vitest';
import type { EventFilter, Abortable } from '../../../src/inbox/operator/search.ts';
import type { Operations } from '../../../src/inbox/contract.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { orderEvent, orderEvents, store } from '../../helpers/order-event.ts';
import { interferedPool } from './pools.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();
const reason = new Error('gone');
const filter: EventFilter = { body: [{ path: 'data.total', value: '1' }] };

const LOOKED_UP: readonly (readonly [string, (operations: Operations, request: Abortable) => Promise<unknown>])[] = [
  ['a search', (operations, request) => operations.search(filter, request)],
  ['a count', (operations, request) => operations.countFound(filter, request)],
  ['groups of dead events', (operations, request) => operations.deadGroups(request)],
  [
    'counts',
    (operations, request) =>
      operations.totalsIn(
        Array.from({ length: 200 }, () => SPAN),
        request,
      ),
  ],
];
const SPAN = { since: 0, until: 1 };

it.for(LOOKED_UP)('%s begins no transaction once nobody waits for it', async ([, lookUp]) => {
  const { pool, open } = schema();
  const gone = new AbortController();
  let transactions = 0;
  let after = 0;
  let isWatched = false;
  const watched = interferedPool(pool, (text) => {
    if (!isWatched || !text.startsWith('BEGIN')) return null;
    if (gone.signal.aborted) after += 1;
    transactions += 1;
    gone.abort(reason);
    return null;
  });
  const inbox = closedAfter(await open(watched));
  await store(inbox, ...orderEvents(3));
  const operations = operationsOf(inbox);
  await lookUp(operations, {});
  isWatched = true;
  await expect(lookUp(operations, { signal: gone.signal })).rejects.toBe(reason);
  expect({ transactions, after }).toEqual({ transactions: 1, after: 0 });
});

it.for(LOOKED_UP)('%s leaves the queue for a connection at once', async ([, lookUp]) => {
  const { pool, open } = schema();
  const inbox = closedAfter(await open());
  await store(inbox, orderEvent('evt_1'));
  const operations = operationsOf(inbox);
  const all = await Promise.all(Array.from({ length: 8 }, () => pool.connect()));
  const gone = new AbortController();
  const waiting = Promise.allSettled(Array.from({ length: 20 }, () => lookUp(operations, { signal: gone.signal })));
  gone.abort(reason);
  // No connection is free yet.
  expect(await waiting).toEqual(Array.from({ length: 20 }, () => ({ status: 'rejected', reason })));
  for (const client of all) client.release();
  await lookUp(operations, {});
  expect(pool.waitingCount).toBe(0);
});
