import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Wait } from '../../src/inbox/rules/waiting.ts';
import { PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { discardEvents, whyWaiting } from '../../src/ops/index.ts';
import { orderEvent, store, type OrderEventParts } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { committed, FAILED, failure, handleAgain, key } from './events-in-states.ts';
import { ADA } from './filled-inbox.ts';
import type { SearchedStore } from './searched-store.ts';

const NOW = START + 60_000;
const ORDERED = { endpoints: '*', types: '*', ordered: true, leaseMs: 3_600_000 } as const;
const ofOrder = (id: string, parts: OrderEventParts = {}) => orderEvent(id, { order: 'ord_1', ...parts });
const why = (inbox: Inbox, id: string, now = NOW): Promise<Wait | null> => whyWaiting(inbox, key(id), now);

/** A processor that handles some types has looked at all that there is, and takes as much as it is told. */
async function looked(inbox: Inbox, types: readonly string[] | '*', take = 0): Promise<readonly string[]> {
  await inbox.announce({ endpoints: '*', types }, NOW, null);
  const claimed = await inbox.claim({ ...ORDERED, types, now: NOW }, Math.max(take, 1));
  if (take === 0)
    for (const { lease } of claimed) await inbox.settle(lease, { outcome: 'interrupted', dueAt: NOW }, NOW);
  return claimed.map(({ id }) => id);
}

async function fails(inbox: Inbox, id: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await handleAgain(inbox, { outcome: 'retry', error: failure, dueAt: NOW + 300_000 }, ofOrder(id));
  }
}

export const testWaits = suite((open: () => Promise<SearchedStore>) => {
  let kept: SearchedStore;
  let inbox: Inbox;
  beforeEach(async () => {
    kept = await open();
    ({ inbox } = kept);
    onTestFinished(() => kept[Symbol.asyncDispose]());
  });

  it('names what fails, in the order of the queue, and never what merely came first', async () => {
    await store(inbox, ofOrder('came first', { createdAt: 2 }), ofOrder('second', { createdAt: 3 }));
    await store(inbox, ofOrder('failing', { createdAt: 1 }), orderEvent('of another order'));
    await fails(inbox, 'failing', 15);
    await looked(inbox, '*', 9);

    const blocker = {
      event: { id: 'failing', failures: 15, lastError: { message: failure.message }, dueAt: new Date(NOW + 300_000) },
      runningSince: null,
      waiting: { count: 2, more: false },
    };
    expect(await why(inbox, 'came first')).toMatchObject({ reason: 'behind', blocker });
    expect(await why(inbox, 'second')).toMatchObject({ reason: 'behind', blocker });
    expect(await why(inbox, 'failing')).toMatchObject({ reason: 'later', waiting: { count: 2, more: false } });

    const keys = ['second', 'not there', 'of another order'].map(key);
    expect((await operationsOf(inbox).waits(keys, NOW)).map((wait) => wait?.reason ?? null)).toEqual([
      'behind',
      null,
      'running',
    ]);

    await handleAgain(inbox, FAILED, ofOrder('failing'));
    expect(await why(inbox, 'failing')).toBeNull();
    expect(await why(inbox, 'came first')).toMatchObject({ reason: 'next', waiting: { count: 1 } });
    expect(await why(inbox, 'second')).toMatchObject({ reason: 'behind', blocker: { event: { id: 'came first' } } });
  });

  it('has nothing wait behind what fails and lets others pass', async () => {
    await store(inbox, ofOrder('failing', { createdAt: 1 }), ofOrder('newer', { createdAt: 2 }));
    const dueAt = NOW + 300_000;
    await handleAgain(inbox, { outcome: 'retry', error: failure, dueAt, yields: true }, ofOrder('failing'));
    await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
    expect(await why(inbox, 'failing')).toMatchObject({ reason: 'later', waiting: { count: 0, more: false } });
    expect(await why(inbox, 'newer')).toMatchObject({ reason: 'next' });
  });

  it('names what runs, since when, though an older one has come meanwhile', async () => {
    await store(inbox, ofOrder('running', { createdAt: 2 }));
    expect(await looked(inbox, '*', 1)).toEqual(['running']);
    await store(inbox, ofOrder('older', { createdAt: 1 }), ofOrder('newer', { createdAt: 3 }));
    await looked(inbox, '*', 1);
    for (const id of ['older', 'newer']) {
      expect(await why(inbox, id)).toMatchObject({
        reason: 'behind',
        blocker: { event: { id: 'running', state: 'processing' }, waiting: { count: 2 } },
      });
    }
    expect(await why(inbox, 'running')).toMatchObject({ reason: 'running', waiting: { count: 2 } });
  });

  it('names what has committed and still runs, until its handler has ended', async () => {
    await store(inbox, ofOrder('committed'));
    await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
    const { lease } = await committed(inbox, key('committed'), NOW);
    await store(inbox, ofOrder('next', { createdAt: 1 }));
    await looked(inbox, '*', 1);
    const blocker = { event: { id: 'committed', state: 'processed' }, runningSince: new Date(NOW) };
    expect(await why(inbox, 'next')).toMatchObject({ reason: 'behind', blocker });
    expect(await why(inbox, 'committed')).toBeNull();
    await inbox.settle(lease, { outcome: 'committed' }, NOW);
    expect(await why(inbox, 'next')).toMatchObject({ reason: 'next' });
  });

  it('says that nobody is there, and since when, before it names what comes first', async () => {
    await store(inbox, ofOrder('first'), ofOrder('second', { createdAt: 1 }));
    expect(await why(inbox, 'second')).toEqual({ reason: 'no processor', lastSeen: null });
    await looked(inbox, '*');
    expect(await why(inbox, 'second')).toMatchObject({ reason: 'behind', blocker: { event: { id: 'first' } } });
    expect(await why(inbox, 'second', NOW + PRESENT_MS)).toEqual({ reason: 'no processor', lastSeen: new Date(NOW) });
  });

  it('passes over older ones whose type nobody handles, and does not count those that wait for a handler', async () => {
    await store(inbox, ofOrder('unhandled'), ofOrder('handled', { type: 'order.ready', createdAt: 1 }));
    await store(inbox, ofOrder('unhandled too', { createdAt: 2 }));
    await store(inbox, ofOrder('behind it', { type: 'order.ready', createdAt: 3 }));
    await looked(inbox, ['order.ready']);
    expect(await why(inbox, 'unhandled')).toEqual({ reason: 'no processor', lastSeen: null });
    expect(await why(inbox, 'handled')).toMatchObject({ reason: 'next', waiting: { count: 1, more: false } });
    expect(await why(inbox, 'behind it')).toMatchObject({ reason: 'behind', blocker: { event: { id: 'handled' } } });
  });

  it('tells what was discarded from what nobody handled, and says nothing of what is settled', async () => {
    await store(inbox, orderEvent('discarded'), orderEvent('put away'), orderEvent('processed'));
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('processed'));
    await discardEvents(inbox, [key('discarded')], ADA);
    await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 3_600_000, START + 3_000_000);
    expect(await why(inbox, 'discarded')).toEqual({ reason: 'discarded' });
    expect(await why(inbox, 'put away')).toEqual({ reason: 'not handled', lastSeen: null });
    expect(await why(inbox, 'processed')).toBeNull();
  });

  it('says of one whose process has ended that it waits for another such one', async () => {
    await store(inbox, orderEvent('one'), orderEvent('other'));
    await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
    await inbox.claim({ ...ORDERED, leaseMs: 1, now: START + 1 }, 2);
    const [again] = await inbox.claim({ ...ORDERED, now: NOW }, 2);
    const waits = again?.id === 'one' ? 'other' : 'one';
    expect(await why(inbox, waits)).toMatchObject({ reason: 'suspect' });
  });

  it('says of one whose type has reached its rate when the next attempt may begin', async () => {
    await store(inbox, orderEvent('begun'), orderEvent('waits'), orderEvent('ready', { type: 'order.ready' }));
    await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
    const rate = { count: 1, perMs: 10_000 };
    const named = ['order.ready'];
    await inbox.claim({ ...ORDERED, types: '*', named, rates: { '*': rate }, now: NOW }, 1);
    const wait = { reason: 'rate', rate, freeAt: new Date(NOW + 10_000), waiting: { count: 0, more: false } };
    expect(await why(inbox, 'waits', NOW + 9_999)).toEqual(wait);
    expect(await why(inbox, 'waits', NOW + 10_000)).toMatchObject({ reason: 'next' });
    expect(await why(inbox, 'ready', NOW + 1)).toMatchObject({ reason: 'next' });
  });
});
