import { beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import {
  auditLines,
  deadGroups,
  getBulk,
  getEvent,
  listBulks,
  listEvents,
  previewBulk,
  rerunEvents,
  retryEventsNow,
  retryGroups,
  runBulk,
} from '../../src/ops/index.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { ANY, attempt, FAILED, failure, handled, key, RETRY } from './events-in-states.ts';

const MINUTE_MS = 60_000;
const NOW = START + 10 * MINUTE_MS;
/** when RETRY is due */
const DUE = START + 60 * MINUTE_MS;
const ADA: By = { actor: 'ada', reason: 'the warehouse is back', now: NOW };
const IN_ORDER = { ...ANY, ordered: true, now: NOW };

export interface RetriedStore {
  readonly inbox: Inbox;
  notified: number;
  readonly bury: (id: string) => Promise<void>;
}

export const testRetryNow = suite((open: () => Promise<RetriedStore>) => {
  let kept: RetriedStore;
  let inbox: Inbox;

  beforeEach(async () => {
    kept = await open();
    inbox = kept.inbox;
  });

  it('its next attempt goes on where it was: the backoff after it is that of a second failure', async () => {
    await handled(inbox, RETRY, orderEvent('evt'));
    expect(await inbox.claim({ ...ANY, now: NOW }, 1)).toEqual([]);
    await retryEventsNow(inbox, [key('evt')], ADA);
    expect(await inbox.claim({ ...ANY, now: NOW }, 1)).toMatchObject([{ id: 'evt', attempt: 2, failures: 1 }]);
    expect(await inbox.attempts(key('evt'))).toMatchObject([{ number: 1, trigger: 'auto', outcome: 'failed' }]);
  });

  it('twice is once: the second time it is due already, in one act and in the next', async () => {
    await handled(inbox, RETRY, orderEvent('evt'));
    const keys = [key('evt'), key('evt'), key('nobody')];
    const { results } = await retryEventsNow(inbox, keys, ADA);
    expect(results.map(({ result }) => result)).toEqual(['done', 'not needed', 'unknown']);
    expect((await retryEventsNow(inbox, [key('evt')], { ...ADA, now: NOW + 1 })).counts).toEqual({ 'not needed': 1 });
    expect(await seen('evt')).toMatchObject({ dueAt: new Date(NOW) });
  });

  it('one that was to be due at this very moment is due, and a moment earlier was not', async () => {
    await handled(inbox, RETRY, orderEvent('a'), orderEvent('b'));
    expect((await retryEventsNow(inbox, [key('a')], { ...ADA, now: DUE })).counts).toEqual({ 'not needed': 1 });
    expect((await retryEventsNow(inbox, [key('b')], { ...ADA, now: DUE - 1 })).counts).toEqual({ done: 1 });
  });

  it('one that was put off before it could run, without a failure, is retried now by its id', async () => {
    await handled(inbox, { outcome: 'interrupted', dueAt: DUE }, orderEvent('evt'));
    expect((await retryEventsNow(inbox, [key('evt')], ADA)).counts).toEqual({ done: 1 });
  });

  it('one that waits behind an older event goes on waiting for it', async () => {
    await inbox.announce({ endpoints: '*', types: '*' }, START, null);
    await handled(inbox, RETRY, orderEvent('newer', { order: 'ord_1', createdAt: 2 }));
    await inbox.accept(orderEvent('older', { order: 'ord_1', createdAt: 1, receivedAt: START + 3 }), later());
    expect((await retryEventsNow(inbox, [key('newer')], ADA)).counts).toEqual({ done: 1 });
    const [first, ...others] = await inbox.claim(IN_ORDER, 10);
    expect(first).toMatchObject({ id: 'older' });
    expect(others).toEqual([]);
    if (first === undefined) return;
    expect((await retryEventsNow(inbox, [key('older')], ADA)).counts).toEqual({ 'not needed': 1 });
    await inbox.settle(first.lease, { outcome: 'retry', error: failure, dueAt: DUE }, NOW + 1);
    expect(await inbox.claim({ ...IN_ORDER, now: NOW + 2 }, 10)).toEqual([]);
    await retryEventsNow(inbox, [key('older')], { ...ADA, now: NOW + 3 });
    const [again] = await inbox.claim({ ...IN_ORDER, now: NOW + 3 }, 10);
    expect(again).toMatchObject({ id: 'older' });
    if (again === undefined) return;
    await inbox.settle(again.lease, { outcome: 'processed' }, NOW + 4);
    expect(await inbox.claim({ ...IN_ORDER, now: NOW + 4 }, 10)).toMatchObject([{ id: 'newer' }]);
  });

  it('a clock that is set back after it puts nothing off', async () => {
    await handled(inbox, RETRY, orderEvent('evt'));
    await retryEventsNow(inbox, [key('evt')], ADA);
    expect(await inbox.claim({ ...ANY, now: NOW - MINUTE_MS }, 1)).toMatchObject([{ id: 'evt' }]);
  });

  describe('by filter', () => {
    beforeEach(async () => {
      await handled(inbox, RETRY, orderEvent('a'), orderEvent('b', { type: 'order.ready' }));
      await handled(inbox, { outcome: 'retry', error: failure, dueAt: NOW - 1 }, orderEvent('due already'));
      await handled(inbox, FAILED, orderEvent('dead'));
      await store(inbox, orderEvent('pending'), orderEvent('running'));
      await inbox.claimOne(key('running'), { ...ANY, now: START + 1 });
    });

    it('a preview is frozen, and is only of what waits for its next attempt', async () => {
      const { id, ...bulk } = await previewBulk(inbox, 'retry-now', {}, ADA);
      expect(bulk).toMatchObject({
        act: 'retry-now',
        state: 'previewed',
        total: 2,
        breakdown: { states: { pending: 2 }, types: { 'order.created': 1, 'order.ready': 1 } },
      });
      expect(await seen('a')).toMatchObject({ dueAt: new Date(DUE) });
      expect(await listBulks(inbox)).toEqual([{ id, ...bulk }]);
      await handled(inbox, RETRY, orderEvent('later'));

      kept.notified = 0;
      const ran = await runBulk(inbox, id, { ...ADA, now: NOW + 1 });
      expect(ran).toMatchObject({ act: 'retry-now', state: 'done', worked: 2, counts: { done: 2 } });
      expect(await getBulk(inbox, id)).toEqual(ran);
      expect(kept.notified).toBeGreaterThan(0);
      expect(await seen('a')).toMatchObject({ dueAt: new Date(NOW + 1), failures: 1 });
      expect(await seen('later')).toMatchObject({ dueAt: new Date(DUE) });
      expect((await auditLines(inbox)).lines).toMatchObject([
        { act: 'retry-now', actor: 'ada', filter: { bulk: id, filter: {}, total: 2 }, counts: { done: 2 } },
      ]);
    });

    it('what has died, been taken or become due since the preview is left alone: retrying now is never a rerun', async () => {
      const { id } = await previewBulk(inbox, 'retry-now', {}, ADA);
      await attempt(inbox, key('a'), FAILED, NOW);
      const ran = await runBulk(inbox, id, { ...ADA, now: DUE });
      expect(ran).toMatchObject({ state: 'done', counts: { 'not needed': 2 } });
      expect(await seen('a')).toMatchObject({ state: 'dead' });
    });

    it.each([
      [{ types: ['order.ready'] }, 1],
      [{ error: 'SHOP IS DOWN' }, 2],
      [{ states: ['pending' as const] }, 2],
      [{ states: ['dead' as const] }, 0],
      [{ retrying: false }, 0],
      [{ states: [] }, 0],
    ])('%j means %i of them', async (filter, total) => {
      expect(await previewBulk(inbox, 'retry-now', filter, ADA)).toMatchObject({ total });
    });
  });

  describe('in groups', () => {
    const failing = (message: string, dueAt = DUE) =>
      ({ outcome: 'retry', error: { name: 'Error', message, stack: null }, dueAt }) as const;

    beforeEach(async () => {
      await handled(inbox, failing('no order ord_1 in the shop'), orderEvent('a', { receivedAt: START }));
      await handled(inbox, failing('the till is shut', DUE + 7), orderEvent('b'));
      await handled(inbox, failing('no order ord_3 in the shop', DUE - 5), orderEvent('c'));
      const error = { name: 'Error', message: 'no order ord_4 in the shop', stack: null };
      await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('dead'));
    });

    it('they are told with what to do it to, the largest first', async () => {
      const [dead] = await deadGroups(inbox);
      const groups = await retryGroups(inbox);
      expect(groups).toMatchObject([
        {
          fingerprint: dead?.fingerprint,
          sample: { name: 'Error', message: 'no order ord_3 in the shop' },
          count: 2,
          more: false,
          newest: { id: 'c' },
          oldest: { id: 'a' },
          nextDueAt: new Date(DUE - 5),
        },
        { fingerprint: fingerprintOf({ name: 'Error', message: 'the till is shut' }), count: 1 },
      ]);
      const found = async (filter: object) => (await listEvents(inbox, filter)).events.map(({ id }) => id);
      const fingerprint = groups[0]?.fingerprint ?? '';
      expect(await found({ retrying: true, fingerprint })).toEqual(['c', 'a']);
      expect(await found({ fingerprint })).toEqual(['dead']);
      expect(await found({ retrying: true, fingerprint: 'nothing' })).toEqual([]);
    });

    it('a group is retried now, and nothing of another, nor of the dead', async () => {
      const fingerprint = (await retryGroups(inbox))[0]?.fingerprint ?? '';
      const { id, total } = await previewBulk(inbox, 'retry-now', { fingerprint }, ADA);
      expect(total).toBe(2);
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ counts: { done: 2 } });
      expect(await seen('a')).toMatchObject({ dueAt: new Date(NOW) });
      expect(await seen('b')).toMatchObject({ dueAt: new Date(DUE + 7) });
      expect(await seen('dead')).toMatchObject({ state: 'dead' });
    });

    it('one that fails with another error, dies or is rerun leaves its group', async () => {
      const [group] = await retryGroups(inbox);
      await attempt(inbox, key('a'), failing('the till is shut'), NOW);
      await attempt(inbox, key('c'), FAILED, NOW);
      await rerunEvents(inbox, [key('c')], ADA);
      expect((await retryGroups(inbox)).map(({ newest, count }) => [newest.id, count])).toEqual([['b', 2]]);
      const filter = { retrying: true, fingerprint: group?.fingerprint ?? '' };
      expect((await listEvents(inbox, filter)).events).toEqual([]);
    });
  });

  async function seen(id: string) {
    return (await getEvent(inbox, key(id)))?.summary;
  }
});
