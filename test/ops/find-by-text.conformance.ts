import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Settlement } from '../../src/inbox/work.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { suggestionsFor } from '../../src/ops/find-by-text.ts';
import { countEvents, findEvents, listEvents, pruneEvents, type FindPlace } from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { attempt, FAILED, handled, invalidThen, RETRY } from './events-in-states.ts';
import { allPages, found, idsOf } from './found-pages.ts';
import type { SearchedStore } from './searched-store.ts';

const SECOND_MS = 1_000;

async function failedAt(
  inbox: Inbox,
  seconds: number,
  event: IncomingEvent,
  settlement: Settlement = FAILED,
): Promise<void> {
  await store(inbox, event);
  await attempt(inbox, event, settlement, START + 1, START + seconds * SECOND_MS);
}

const at = (seconds: number): Date => new Date(START + seconds * SECOND_MS);

export const testFindingByText = suite((open: () => Promise<SearchedStore>) => {
  let kept: SearchedStore;
  let inbox: Inbox;
  beforeEach(async () => {
    kept = await open();
    ({ inbox } = kept);
    onTestFinished(() => kept[Symbol.asyncDispose]());
  });

  describe('by when events failed', () => {
    async function failures(inbox: Inbox): Promise<void> {
      await failedAt(inbox, 30, orderEvent('first'));
      await failedAt(inbox, 10, { ...orderEvent('second'), endpoint: 'other' });
      for (const n of [0, 1, 2, 3, 4]) await failedAt(inbox, 20, orderEvent(`same_${n}`));
      await failedAt(inbox, 25, orderEvent('again'), RETRY);
      await store(inbox, { ...invalidThen(orderEvent('invalid')), receivedAt: START + 40 * SECOND_MS });
      await failedAt(inbox, 50, orderEvent('gone'));
      await handled(inbox, { outcome: 'processed' }, orderEvent('well'));
      await store(inbox, orderEvent('waits'));
    }

    it('lists the dead by when they died, each once, whatever died at the same time and wherever', async () => {
      await failures(inbox);
      const criteria = { settledBefore: at(60), endpoint: 'default', states: ['dead'] } as const;
      const expected = ['gone', 'invalid', 'first', 'same_4', 'same_3', 'same_2', 'same_1', 'same_0', 'second'];
      for (const limit of [1, 2, 3, 100]) {
        expect(idsOf(await allPages(operationsOf(inbox), {}, limit, 'failed'))).toEqual(expected);
      }
      const within = { failedSince: at(20), failedUntil: at(40) };
      expect(idsOf(await allPages(operationsOf(inbox), within, 2, 'failed'))).toEqual(expected.slice(2, 8));
      expect(await found(inbox, within)).toEqual(['again', 'same_4', 'same_3', 'same_2', 'same_1', 'same_0', 'first']);
      await pruneEvents(inbox, criteria, { actor: 'ada' });
      expect(idsOf(await allPages(operationsOf(inbox), {}, 2, 'failed'))).toEqual(['second']);
      expect(await found(inbox, { failedSince: at(0) })).toEqual(['again', 'second']);
    });

    it('refuses half a place, and an order that there is not', async () => {
      const refused = { name: 'ConfigurationError', code: 'INVALID_OPTION' };
      await expect(listEvents(inbox, {}, { order: 'failed', before: 3 })).rejects.toMatchObject(refused);
      await expect(listEvents(inbox, {}, { beforeAt: at(1) })).rejects.toMatchObject(refused);
      await expect(listEvents(inbox, {}, { order: 'type' as 'failed' })).rejects.toMatchObject(refused);
      await expect(findEvents(inbox, ' ')).rejects.toMatchObject(refused);
      await expect(findEvents(inbox, 'x'.repeat(1_001))).rejects.toMatchObject(refused);
      const place = { among: 'others', before: null, takenFor: 'text', name: 'x' } as const;
      for (const wrong of [{ among: 'all' }, { takenFor: 'body' }, { name: undefined }]) {
        const nowhere = { ...place, ...wrong } as unknown as FindPlace;
        await expect(findEvents(inbox, 'x', { at: nowhere })).rejects.toMatchObject(refused);
      }
    });
  });

  describe('by a text', () => {
    it('knows names that begin so in any case, each kind by itself and no more than it is asked for', async () => {
      for (const id of ['Evt_aB1', 'evt_AB', 'EVT_ab', 'evt_b', 'evt', 'ev🙂T', '%', 'evt%', 'EVTß'])
        await store(inbox, orderEvent(id, { order: `o-${id}`, merchant: 'mer_1' }));
      const operations = operationsOf(inbox);
      const named = async (text: string, limit = 10) =>
        (await operations.namesLike(text, limit)).map(({ name }) => name);
      expect((await named('eVt_Ab')).toSorted()).toEqual(['EVT_ab', 'Evt_aB1', 'evt_AB']);
      expect(await named('evt_', 2)).toHaveLength(2);
      expect(await named('ev🙂t')).toEqual(['ev🙂T']);
      expect(await named('%')).toEqual(['%']);
      expect(await named('evtß')).toEqual(['EVTß']);
      expect(await named('evt_c')).toEqual([]);
      expect(await named('')).toEqual([]);
      expect(await operations.namesLike('O-EVT_B', 3)).toEqual([{ what: 'entity', name: 'o-evt_b' }]);
      expect(await operations.namesLike('Mer', 3)).toEqual([{ what: 'merchant', name: 'mer_1' }]);
    });

    async function shop(inbox: Inbox): Promise<void> {
      await handled(inbox, { outcome: 'processed' }, orderEvent('evt_Aa1', { order: 'ord_K7x', merchant: 'mer_1' }));
      await handled(inbox, FAILED, orderEvent('evt_Aa2', { order: 'ord_K7x', merchant: 'mer_1' }));
      await handled(inbox, RETRY, orderEvent('evt_Aa3', { order: 'ord_K7x', merchant: 'mer_1' }));
      await store(inbox, orderEvent('evt_Aa4', { order: 'ord_K7x', merchant: 'mer_1' }));
      await handled(inbox, FAILED, orderEvent('evt_Bb1', { order: 'ord_K9z', merchant: 'mer_1' }));
    }

    it.each([
      ['evt_Aa2', 'id', ['evt_Aa2']],
      [' EVT_aa2 ', 'id', ['evt_Aa2']],
      ['evt_b', 'id', ['evt_Bb1']],
      ['ord_K7x', 'entity', ['evt_Aa2', 'evt_Aa3', 'evt_Aa4', 'evt_Aa1']],
      ['ord_k7', 'entity', ['evt_Aa2', 'evt_Aa3', 'evt_Aa4', 'evt_Aa1']],
      ['order:mer_1:ord_K9z', 'entity', ['evt_Bb1']],
      ['MER_1', 'merchant', ['evt_Bb1', 'evt_Aa2', 'evt_Aa3', 'evt_Aa4', 'evt_Aa1']],
      ['ORDER.READY', 'type', []],
      ['shop IS down', 'text', ['evt_Bb1', 'evt_Aa2', 'evt_Aa3']],
      ['7X', 'text', ['evt_Aa2', 'evt_Aa3', 'evt_Aa4', 'evt_Aa1']],
      ['ord_k', 'text', ['evt_Bb1', 'evt_Aa2', 'evt_Aa3', 'evt_Aa4', 'evt_Aa1']],
      ['%', 'text', []],
    ])('takes %j for %s, and finds what has failed first', async (text, takenFor, ids) => {
      await shop(inbox);
      const whole = await findEvents(inbox, text);
      expect(whole).toMatchObject({ takenFor, next: null });
      expect(whole.events.map(({ id }) => id)).toEqual(ids);
      const steps: string[] = [];
      for (let place: FindPlace | null | undefined; place !== null;) {
        const step = await findEvents(inbox, text, { limit: 1, at: place ?? null });
        steps.push(...step.events.map(({ id }) => id));
        place = step.next;
      }
      expect(steps).toEqual(ids);
      expect((await found(inbox, whole.filter)).toSorted()).toEqual(ids.toSorted());
      expect(await countEvents(inbox, whole.filter)).toEqual({ count: ids.length, more: false, cut: false });
    });

    it('goes on with what it was taken for at first, whatever begins so by then', async () => {
      for (const id of ['evt_1', 'evt_2', 'evt_3']) await store(inbox, orderEvent(id, { order: 'ord_42' }));
      const first = await findEvents(inbox, 'ord_4', { limit: 1 });
      expect(first).toMatchObject({ takenFor: 'entity', name: 'ord_42', others: [] });
      await handled(inbox, FAILED, orderEvent('evt_4', { order: 'ord_43' }));
      await store(inbox, orderEvent('evt_0', { order: 'ord_43' }));
      const rest = await findEvents(inbox, 'ord_4', { at: first.next });
      expect(rest).toMatchObject({ takenFor: 'entity', name: 'ord_42', next: null, filter: first.filter });
      expect(rest.others).toEqual([{ what: 'entity', name: 'ord_43' }]);
      expect([...first.events, ...rest.events].map(({ id }) => id)).toEqual(['evt_3', 'evt_2', 'evt_1']);
      const anew = await findEvents(inbox, 'ord_4');
      expect(anew).toMatchObject({ takenFor: 'text' });
      expect(anew.events.map(({ id }) => id)).toEqual(['evt_4', 'evt_0', 'evt_3', 'evt_2', 'evt_1']);
    });

    it('says what else begins so, and what may have been meant where nothing fits', async () => {
      await shop(inbox);
      expect((await findEvents(inbox, 'ord_k')).others.map(({ name }) => name)).toEqual(['ord_K7x', 'ord_K9z']);
      expect(await suggestionsFor(inbox, 'ord_k9q')).toEqual([{ what: 'entity', name: 'ord_K9z' }]);
      expect(await suggestionsFor(inbox, 'order.raedy')).toContainEqual({ what: 'type', name: 'order.ready' });
      expect(await suggestionsFor(inbox, '0000')).toEqual([]);
      await store(inbox, orderEvent('EVT_AA1', { order: 'ord_other' }));
      const both = await findEvents(inbox, 'evt_aa1');
      expect(both).toMatchObject({ takenFor: 'text', others: [{ name: 'EVT_AA1' }, { name: 'evt_Aa1' }] });
      expect(both.events.map(({ id }) => id)).toEqual(['EVT_AA1', 'evt_Aa1']);
      expect((await findEvents(inbox, 'EVT_AA1')).events.map(({ id }) => id)).toEqual(['EVT_AA1']);
    });
  });
});
