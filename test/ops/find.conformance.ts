import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { getEvent } from '../../src/ops/find.ts';
import { rerun } from '../../src/ops/act-on-events.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { attempt, FAILED, handleAgain, handled, inStates, key, RETRY } from './events-in-states.ts';
import type { SearchedStore } from './searched-store.ts';

const KEY = key('evt');

export const testFinding = suite((open: () => Promise<SearchedStore>) => {
  let kept: SearchedStore;
  let inbox: Inbox;
  beforeEach(async () => {
    kept = await open();
    ({ inbox } = kept);
    onTestFinished(() => kept[Symbol.asyncDispose]());
  });

  it('is null where there is none, also of another endpoint', async () => {
    await storeIn(inbox, orderEvent('evt'));
    expect(await getEvent(inbox, { endpoint: 'other', id: 'evt' })).toBeNull();
    expect(await getEvent(inbox, key('EVT'))).toBeNull();
  });

  it.each(Object.entries(inStates))('%s has its summary and its history', async (_, bring) => {
    await bring(inbox, kept.bury);

    const history = await getEvent(inbox, KEY);
    const event = await inbox.get(KEY);
    expect(history?.event).toEqual(event);
    expect(history?.attempts).toEqual(await inbox.attempts(KEY));
    expect(history?.summary).toEqual(await operationsOf(inbox).summary(KEY));
    expect(history?.timeline[0]).toEqual({ what: 'stored', at: event?.receivedAt });
    const last = event?.state === 'pending' ? 'due' : event?.state === 'processing' ? 'stored' : 'settled';
    expect(history?.timeline.at(-1)?.what).toBe(last);
  });

  it('has its deliveries, its attempts and how it stands in the order of time', async () => {
    const at = (ms: number): Date => new Date(START + ms);
    await storeIn(inbox, orderEvent('evt', { receivedAt: START }));
    await storeIn(inbox, orderEvent('evt', { receivedAt: START + 1 }));
    await handleAgain(inbox, FAILED, orderEvent('evt'));
    await storeIn(inbox, orderEvent('evt', { receivedAt: START + 5, total: 1 }));
    await rerun(inbox, KEY, { now: START + 10 });
    await attempt(inbox, KEY, { ...RETRY, dueAt: START + 100 }, START + 20, START + 30);

    const attempts = await inbox.attempts(KEY);
    expect((await getEvent(inbox, KEY))?.timeline).toEqual([
      { what: 'stored', at: at(0) },
      { what: 'redelivered', at: at(1) },
      { what: 'attempt', at: at(1), attempt: attempts[0] },
      { what: 'conflict', at: at(5) },
      { what: 'attempt', at: at(20), attempt: attempts[1] },
      { what: 'due', at: at(100) },
    ]);
    expect(attempts[1]).toMatchObject({ number: 2, trigger: 'manual' });

    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt'));
    const { timeline = [] } = (await getEvent(inbox, KEY)) ?? {};
    expect(timeline.find(({ what }) => what === 'settled')).toEqual({
      what: 'settled',
      at: at(2),
      state: 'processed',
    });
    expect(timeline.some(({ what }) => what === 'due')).toBe(false);
    expect(timeline.map((entry) => entry.at.getTime())).toEqual(
      timeline.map((entry) => entry.at.getTime()).toSorted((a, b) => a - b),
    );
  });

  it('tells the last twenty redeliveries one by one, and how many there were before', async () => {
    const isOther = (n: number): boolean => n === 3 || n % 5 === 4;
    for (let n = 0; n <= 25; n += 1) {
      await inbox.accept(incoming({ id: 'evt', body: isOther(n) ? 'other' : 'first', receivedAt: START + n }), later());
    }
    const { summary, timeline } = (await getEvent(inbox, KEY)) ?? { timeline: [] };
    expect(summary).toMatchObject({ redeliveries: 25, conflicts: 6 });
    const of = (what: string) => timeline.filter((entry) => entry.what === what);
    expect(of('redeliveries')).toEqual([{ what: 'redeliveries', at: new Date(START + 1), count: 3 }]);
    const times = (what: string) => of(what).map(({ at }) => at.getTime() - START);
    const recent = Array.from({ length: 20 }, (_, n) => n + 6);
    expect(times('redelivered')).toEqual(recent.filter((n) => !isOther(n)));
    expect(times('conflict')).toEqual([3, 4, ...recent.filter(isOther)]);
  });

  it('tells the last twenty conflicts, each once, and how many redeliveries there were before', async () => {
    for (let n = 0; n <= 25; n += 1) {
      await inbox.accept(incoming({ id: 'evt', body: n === 0 ? 'first' : 'other', receivedAt: START + n }), later());
    }
    const { timeline } = (await getEvent(inbox, KEY)) ?? { timeline: [] };
    const of = (what: string) => timeline.filter((entry) => entry.what === what);
    expect(of('redeliveries')).toEqual([{ what: 'redeliveries', at: new Date(START + 1), count: 5 }]);
    expect(of('conflict').map(({ at }) => at.getTime() - START)).toEqual(Array.from({ length: 20 }, (_, n) => n + 6));
    expect(of('redelivered')).toEqual([]);
  });

  it('with strange names is found by exactly those', async () => {
    for (const id of ["'; DROP TABLE hookbox_events; --", '%', '_', '\u0000', 'a/b?c#d', '"', '🙂'.repeat(60)]) {
      const key = { endpoint: id, id };
      await inbox.accept(incoming(key), later());
      expect(await getEvent(inbox, key)).toMatchObject({ summary: key, event: key });
    }
  });

  it('that was pruned keeps its attempts, without what they said', async () => {
    await handled(inbox, FAILED, orderEvent('evt'));
    await rerun(inbox, KEY, { now: START + 10 });
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt'));
    expect(await inbox.prune('*', START + 1_000, 10)).toBe(1);
    await kept.bury('none');
    expect(await getEvent(inbox, KEY)).toMatchObject({
      summary: { pruned: true, lastError: { name: 'Error', message: '' } },
      event: { body: null },
      attempts: [{ outcome: 'failed' }, { outcome: 'processed' }],
    });
  });
});
