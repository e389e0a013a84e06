import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError, InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { Bulk, By } from '../../src/inbox/operator/acts.ts';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import {
  bulkEvents,
  cancelBulk,
  discardEvents,
  getBulk,
  listBulks,
  pauseBulk,
  previewBulk,
  rerunEvents,
  runBulk,
  type BulkEventsOptions,
} from '../../src/ops/index.ts';
import { stateInWords } from '../../src/ops/words/act-words.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { ANY, auditOf, FAILED, handleAgain, handled, invalidThen, key, RETRY } from './events-in-states.ts';

const NOW = START + 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ADA: By = { actor: 'ada', reason: 'the shop was down', now: NOW };
const GRACE: By = { actor: 'grace', via: 'page', now: NOW + 1 };
const UNLIMITED = { ratePerSecond: Infinity };

export interface BulkStore {
  readonly inbox: Inbox;
  second(): Inbox;
  plant(...events: readonly IncomingEvent[]): Promise<void>;
  bury(id: string): Promise<void>;
  /** As if the handlers of everything that was rerun had failed for good; says how many those are. */
  dieAgain(): Promise<number>;
  /** How often events were moved so, and how many they are. */
  moves(was: 'dead', becomes: 'pending'): Promise<{ readonly events: number; readonly moves: number }>;
  rows(): Promise<unknown>;
  bulks(): Promise<number>;
  /** Whoever runs it was last heard of so much earlier, by the inbox's clock; negative for later. */
  heardEarlier(id: number, ms: number): Promise<void>;
  snapshots(): Promise<readonly { readonly bulk: number; readonly ids: readonly string[] }[]>;
  /** This cannot be written until what it answers with was called. */
  breaks(what: Written): Promise<() => Promise<void>>;
}

export type Written = 'the events' | 'the results' | 'the bulk' | 'the line of the audit' | 'the counts of that line';

export const testBulks = suite((open: () => Promise<BulkStore>) => {
  let kept: BulkStore;
  let inbox: Inbox;

  beforeEach(async () => {
    kept = await open();
    inbox = kept.inbox;
  });

  describe('a preview', () => {
    it('says how many events there are and what they are, and does nothing to them', async () => {
      await plant(['a', 'b', 'c']);
      await handled(inbox, FAILED, orderEvent('d', { type: 'order.ready' }));
      await store(inbox, invalidThen(orderEvent('e')));
      await store(inbox, orderEvent('f', { order: 'ord_f' }));
      await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + HOUR_MS, START + HOUR_MS / 2);
      const before = await kept.rows();

      const filter: EventFilter = { since: new Date(START), states: ['dead', 'ignored'] };
      const bulk = await previewBulk(inbox, 'rerun', filter, ADA);
      expect(bulk).toEqual({
        id: bulk.id,
        act: 'rerun',
        state: 'previewed',
        filter,
        force: false,
        actor: 'ada',
        reason: 'the shop was down',
        createdAt: new Date(NOW),
        startedAt: null,
        endedAt: null,
        total: 6,
        breakdown: {
          states: { dead: 5, ignored: 1 },
          types: { 'order.created': 4, 'order.ready': 1, invalid: 1 },
          deadReasons: { failed: 4, invalid: 1 },
          endpoints: { default: 6 },
          again: 0,
        },
        worked: 0,
        counts: {},
        ratePerSecond: null,
        ranMs: 0,
        audit: null,
        stopped: null,
      });
      expect(await kept.rows()).toEqual(before);
      expect(await getBulk(inbox, bulk.id)).toEqual(bulk);
      expect(await listBulks(inbox)).toEqual([bulk]);
      expect(await auditOf(inbox)).toEqual([]);
    });

    it.each([
      ['rerun', {}, false, ['dead']],
      ['rerun', { states: ['dead', 'ignored', 'processed'] }, false, ['dead', 'ignored']],
      ['rerun', { states: ['discarded'] }, false, ['discarded']],
      ['rerun', {}, true, ['dead', 'discarded', 'ignored', 'processed']],
      ['rerun', { states: ['dead'] }, true, ['dead']],
      ['discard', {}, false, ['dead', 'pending', 'retrying', 'tombstone']],
    ] as const)('of a %s of %j (forced: %s) takes %s', async (act, filter, force, expected) => {
      await store(inbox, orderEvent('ignored'));
      await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + HOUR_MS, START + HOUR_MS / 2);
      await store(inbox, orderEvent('discarded'));
      await discardEvents(inbox, [key('discarded')], ADA);
      await store(inbox, orderEvent('pending'), orderEvent('claimed'));
      await inbox.claimOne(key('claimed'), { ...ANY, now: START + 1 });
      await handled(inbox, { outcome: 'processed' }, orderEvent('processed'), orderEvent('pruned'));
      await handled(inbox, RETRY, orderEvent('retrying'));
      await plant(['dead', 'tombstone']);
      await store(inbox, invalidThen(orderEvent('invalid tombstone')));
      for (const id of ['pruned', 'tombstone', 'invalid tombstone']) await kept.bury(id);

      const { id, total } = await previewBulk(inbox, act, filter, ADA, { force });
      expect(await snapshotOf(id)).toEqual(expected.toSorted());
      expect(total).toBe(expected.length);

      // A search may be out of date, and may find an event twice.
      const operations = operationsOf(inbox);
      const again = await operations.createBulk(act, filter, ADA, force);
      const seqs = (await inbox.list()).map(({ seq }) => seq);
      await operations.addToBulk(again, [...seqs, 99, ...seqs]);
      await operations.addToBulk(again, seqs);
      const sealed = await operations.sealBulk(again);
      expect(await snapshotOf(again)).toEqual(expected.toSorted());
      expect(Object.values(sealed.breakdown.states).reduce((sum, count) => sum + count)).toBe(expected.length);
      expect(sealed.total).toBe(expected.length);
      await expect(
        operations.addToBulk(
          again,
          Array.from({ length: 1_001 }, () => 1),
        ),
      ).rejects.toThrow('1000');
    });

    it('looks only for what the act applies to, and for nothing where the filter leaves none', async () => {
      const asked: EventFilter[] = [];
      const watched = searching(inbox, async (filter) => void asked.push(filter));
      await previewBulk(watched, 'rerun', { error: 'down' }, ADA);
      await previewBulk(watched, 'discard', { states: ['processed', 'pending'] }, ADA);
      expect(asked).toEqual([{ error: 'down', states: ['dead'] }, { states: ['pending'] }]);
      expect(await previewBulk(watched, 'rerun', { states: ['processed'] }, ADA)).toMatchObject({
        state: 'previewed',
        total: 0,
        filter: { states: ['processed'] },
      });
      expect(asked).toHaveLength(2);
    });

    it('is frozen: what arrives or dies later, while it is taken too, is not among them', async () => {
      await plant(ids(1_200));
      let pages = 0;
      const meanwhile = searching(inbox, async () => {
        pages += 1;
        await plant([`later_${pages}`]);
      });
      const seen: number[] = [];
      const { id, total } = await previewBulk(meanwhile, 'rerun', {}, ADA, {
        onProgress: (examined, found) => seen.push(examined, found),
      });
      await plant(['afterwards']);
      expect(pages).toBe(3);
      expect(total).toBe(1_200);
      expect(await snapshotOf(id)).toEqual(ids(1_200).toSorted());
      expect(seen).toEqual([500, 500, 1_000, 1_000, 1_200, 1_200]);

      expect(await runBulk(inbox, id, ADA, UNLIMITED)).toMatchObject({ worked: 1_200 });
      expect(await statesOf(['later_1', 'later_2', 'later_3', 'afterwards'])).toEqual(['dead', 'dead', 'dead', 'dead']);
    });

    it('that is given up leaves nothing to run', async () => {
      await plant(ids(600));
      const control = new AbortController();
      const gone = new Error('the operator has gone');
      const preview = previewBulk(inbox, 'rerun', {}, ADA, {
        signal: control.signal,
        onProgress: () => control.abort(gone),
      });
      await expect(preview).rejects.toBe(gone);
      expect(await listBulks(inbox)).toEqual([]);
      expect(await getBulk(inbox, 1)).toBeNull();
      await expect(runBulk(inbox, 1, ADA)).rejects.toThrow('Bulk action 1 does not exist');
      await expect(cancelBulk(inbox, 1, ADA)).rejects.toThrow('Bulk action 1 does not exist');
    });

    it('tells which endpoints it reaches: a group of dead events knows none', async () => {
      await kept.plant(...['live', 'test', 'live'].map((endpoint, n) => ({ ...orderEvent(`evt_${n}`), endpoint })));
      const { breakdown } = await previewBulk(inbox, 'rerun', {}, ADA);
      expect(breakdown.endpoints).toEqual({ live: 2, test: 1 });
      const one = await previewBulk(inbox, 'rerun', { endpoint: 'test' }, ADA);
      expect((await getBulk(inbox, one.id))?.breakdown.endpoints).toEqual({ test: 1 });
    });

    it('counts types whatever they are called, and not without end', async () => {
      const hostile = ['__proto__', 'constructor', 'x'.repeat(500_000), `${'y'.repeat(199)}🦊`];
      const types = [...Array.from({ length: 149 }, (_, n) => `unknown.${n}`), ...hostile];
      await kept.plant(...types.map((type, n) => orderEvent(`evt_${n}`, { type })));
      const { total, breakdown } = await previewBulk(inbox, 'rerun', {}, ADA);
      const counted = new Map(Object.entries(breakdown.types));
      expect(total).toBe(153);
      expect([...counted.values()].reduce((sum, count) => sum + count)).toBe(153);
      expect(counted.get('other')).toBe(53);
      expect(counted.size).toBe(101);
      expect([...counted.keys()]).toContain('x'.repeat(200));
      expect([...counted.keys()].every((type) => type.length <= 200 && type.isWellFormed())).toBe(true);

      const named = await previewBulk(inbox, 'rerun', { types: ['__proto__', 'constructor'] }, ADA);
      expect(new Map(Object.entries(named.breakdown.types))).toEqual(
        new Map([
          ['__proto__', 1],
          ['constructor', 1],
        ]),
      );
    });
  });

  it.each([
    ['a misspelt field', { state: ['dead'] }],
    ['one state, and not a list', { states: 'dead' }],
  ])('a preview with %s is refused, and is no bulk of everything', async (_, filter) => {
    await plant(['evt']);
    await expect(previewBulk(inbox, 'discard', filter as EventFilter, ADA)).rejects.toThrow(ConfigurationError);
    expect(await kept.bulks()).toBe(0);
  });

  it('a preview tells how many of its events had been rerun and died again', async () => {
    await plant(['once', 'twice']);
    await rerunEvents(inbox, [key('twice')], ADA);
    await handleAgain(inbox, FAILED, orderEvent('twice'));
    const { breakdown } = await previewBulk(inbox, 'rerun', {}, ADA);
    expect(breakdown).toMatchObject({ states: { dead: 2 }, again: 1 });
  });

  it('lists its events, and which of them it skipped, and why', async () => {
    await plant(ids(5));
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    const listed = async (options: BulkEventsOptions): Promise<unknown> => {
      const { events, next } = await bulkEvents(inbox, id, options);
      return [...events.map(({ event, result }) => [event.id, result]), next !== null];
    };
    expect(await listed({ limit: 2 })).toEqual([['evt_4', null], ['evt_3', null], true]);
    await rerunEvents(inbox, [key('evt_1')], ADA);
    await discardEvents(inbox, [key('evt_3')], ADA);
    await runBulk(inbox, id, ADA, UNLIMITED);
    expect(await listed({ limit: 1 })).toEqual([['evt_4', 'done'], true]);
    expect(await listed({ skipped: true })).toEqual([['evt_3', 'changed'], ['evt_1', 'not needed'], false]);
    const { next } = await bulkEvents(inbox, id, { skipped: true, limit: 1 });
    expect(await listed({ skipped: true, limit: 1, before: next })).toEqual([['evt_1', 'not needed'], false]);
  });

  it('that runs is paused by anybody, and resumed by anybody', async () => {
    await plant(ids(3));
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    expect(await pauseBulk(inbox, id, GRACE)).toMatchObject({ state: 'previewed' });
    const paused = await runBulk(inbox, id, ADA, {
      ratePerSecond: 1,
      onProgress: () => void pauseBulk(kept.second(), id, GRACE),
    });
    expect(paused).toMatchObject({ state: 'paused', worked: 1, stopped: null });
    expect(await operationsOf(inbox).advanceBulk(id, 1, ADA, {})).toMatchObject({ state: 'paused', worked: 1 });
    expect((await statesOf(ids(3))).filter((state) => state === 'pending')).toHaveLength(1);

    expect(await runBulk(inbox, id, ADA, UNLIMITED)).toMatchObject({ state: 'done', worked: 3 });
    expect(await pauseBulk(inbox, id, GRACE)).toMatchObject({ state: 'done' });
    expect((await auditOf(inbox)).map(({ act, actor, counts }) => [act, actor, counts])).toEqual([
      ['resume', 'ada', { left: 2 }],
      ['pause', 'grace', { worked: 1, left: 2 }],
      ['rerun', 'ada', { done: 3 }],
    ]);
  });

  it('knows how long it has run, without its pauses', async () => {
    await plant(ids(4));
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    const operations = operationsOf(inbox);
    const advance = async (): Promise<number> => (await operations.advanceBulk(id, 1, ADA, {})).ranMs;
    expect(await advance()).toBe(0);
    await delay(40);
    const ran = await advance();
    expect(ran).toBeGreaterThan(30);
    await pauseBulk(inbox, id, ADA);
    await delay(1_000);
    await operations.resumeBulk(id, ADA);
    expect(await advance()).toBeLessThan(ran + 900);
  });

  it('that was paused is cancelled', async () => {
    await plant(ids(2));
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    await operationsOf(inbox).advanceBulk(id, 1, ADA, {});
    await pauseBulk(inbox, id, ADA);
    expect(await cancelBulk(inbox, id, ADA)).toMatchObject({ state: 'cancelled', worked: 1 });
  });

  describe('old snapshots', () => {
    it('go with the next preview: what died an hour ago, and what nobody ran for a week', async () => {
      await plant(ids(2_500));
      const operations = operationsOf(inbox);
      const seqs = (await inbox.list({ limit: 1_000 })).map(({ seq }) => seq);
      const died = await operations.createBulk('rerun', {}, ADA, false);
      await operations.addToBulk(died, seqs);
      const waiting = await previewBulk(inbox, 'rerun', {}, ADA);
      const run = await previewBulk(inbox, 'discard', { types: ['order.ready'] }, ADA);
      await runBulk(inbox, run.id, ADA);
      const snapshots = async () => (await kept.snapshots()).map(({ bulk, ids }) => ({ bulk, events: ids.length }));

      await previewBulk(inbox, 'rerun', { types: ['order.ready'] }, { ...ADA, now: NOW + HOUR_MS - 1 });
      expect(await snapshots()).toEqual([
        { bulk: died, events: 1_000 },
        { bulk: waiting.id, events: 2_500 },
      ]);
      await previewBulk(inbox, 'rerun', { types: ['order.ready'] }, { ...ADA, now: NOW + 7 * DAY_MS });
      expect(await snapshots()).toEqual([{ bulk: waiting.id, events: 2_500 }]);
      expect(await getBulk(inbox, waiting.id)).toEqual(waiting);
      const last = await previewBulk(inbox, 'rerun', { types: ['order.ready'] }, { ...ADA, now: NOW + 7 * DAY_MS + 1 });
      expect(await snapshots()).toEqual([]);
      expect(await getBulk(inbox, waiting.id)).toMatchObject({ state: 'cancelled' });
      await expect(runBulk(inbox, waiting.id, ADA)).rejects.toThrow('already cancelled');
      expect(await getBulk(inbox, run.id)).toMatchObject({ state: 'done' });
      expect(last.id).toBe(died + 5);
    });

    it('are not filled any more by a preview that has taken too long', async () => {
      await plant(['evt']);
      const operations = operationsOf(inbox);
      const slow = await operations.createBulk('rerun', {}, ADA, false);
      await operations.createBulk('rerun', {}, { ...ADA, now: NOW + 2 * HOUR_MS }, false);
      await expect(operations.addToBulk(slow, [1])).rejects.toThrow('Preview again');
      await expect(operations.sealBulk(slow)).rejects.toThrow('Preview again');
      expect(await operations.bulk(slow)).toBeNull();
    });
  });

  describe('a run', () => {
    it.each([
      [{}, false, { done: 1, changed: 1 }, 'discarded'],
      [{ states: ['dead', 'ignored'] }, false, { done: 1, changed: 1 }, 'discarded'],
      [{ states: ['dead', 'discarded'] }, false, { done: 2 }, 'pending'],
      [{}, true, { done: 2 }, 'pending'],
    ] as const)(
      'of a rerun of %j (forced: %s) treats what was discarded after the preview as discarded',
      async (filter, force, counts, state) => {
        await plant(['dead', 'discarded']);
        const { id } = await previewBulk(inbox, 'rerun', filter, ADA, { force });
        await discardEvents(inbox, [key('discarded')], ADA);
        expect(await runBulk(inbox, id, ADA)).toMatchObject({ total: 2, worked: 2, counts });
        expect(await statesOf(['dead', 'discarded'])).toEqual(['pending', state]);
      },
    );

    it.each([
      ['discard', false, ['rerun', 'pending']],
      ['rerun', true, ['handled', 'processed']],
    ] as const)(
      'to %s what is dead (forced: %s) leaves alone what was %s after the preview',
      async (act, force, [done, state]) => {
        await plant(['dead', 'changed']);
        const { id } = await previewBulk(inbox, act, { states: ['dead'] }, ADA, { force });
        await rerunEvents(inbox, [key('changed')], ADA);
        if (done === 'handled') await handleAgain(inbox, { outcome: 'processed' }, orderEvent('changed'));
        const counts = done === 'handled' ? { done: 1, 'not needed': 1 } : { done: 1, changed: 1 };
        expect(await runBulk(inbox, id, ADA)).toMatchObject({ counts });
        expect((await statesOf(['changed']))[0]).toBe(state);
      },
    );

    it('acts on each event once, and its line in the audit grows with it', async () => {
      await plant(ids(250));
      await store(inbox, { ...invalidThen(orderEvent('broken')), body: Buffer.from('{"id":"broken"}') });
      const { id } = await previewBulk(inbox, 'rerun', { states: ['dead'] }, ADA);
      await rerunEvents(inbox, [key('evt_7')], ADA);

      const seen: Bulk[] = [];
      const lines: unknown[] = [];
      const watched = afterBatches(inbox, async () => {
        lines.push((await auditOf(inbox))[0]?.counts);
      });
      const bulk = await runBulk(watched, id, GRACE, { ...UNLIMITED, onProgress: (bulk) => void seen.push(bulk) });
      const counts = { done: 249, 'not needed': 1, 'still invalid': 1 };
      expect(bulk).toMatchObject({ state: 'done', total: 251, worked: 251, counts });
      expect([bulk.startedAt, bulk.endedAt]).toEqual([new Date(NOW + 1), new Date(NOW + 1)]);
      expect(seen.at(-1)).toEqual(bulk);
      expect(seen.length).toBeGreaterThanOrEqual(3);
      expect(seen.map(({ worked }) => worked)).toEqual(seen.map(({ worked }) => worked).toSorted((a, b) => a - b));
      expect(lines).toEqual(seen.map(({ counts }) => counts));
      const [line] = await auditOf(inbox);
      expect(line).toEqual({
        seq: bulk.audit,
        at: new Date(NOW + 1),
        actor: 'grace',
        via: 'page',
        act: 'rerun',
        reason: 'the shop was down',
        filter: { bulk: id, filter: { states: ['dead'] }, total: 251 },
        counts,
      });
      expect(await kept.moves('dead', 'pending')).toEqual({ events: 250, moves: 250 });
    });

    it('is told as of whoever ran it, with the reason of the run', async () => {
      await plant(['evt_1']);
      const { id } = await previewBulk(inbox, 'rerun', {}, { actor: 'ada', now: NOW });
      await runBulk(inbox, id, { ...GRACE, reason: 'the shop is back' }, UNLIMITED);
      expect(await getBulk(inbox, id)).toMatchObject({ actor: 'grace', reason: 'the shop is back' });
    });

    it('tells processors, who take the events in their order', async () => {
      await plant(['evt_2', 'evt_0', 'evt_1']);
      const id = await previewed();
      let notified = 0;
      inbox.onPending(() => (notified += 1));
      await runBulk(inbox, id, ADA);
      expect(notified).toBeGreaterThan(0);
      const claimed = await inbox.claim({ ...ANY, now: NOW }, 10);
      expect(claimed.map(({ id, attempt }) => [id, attempt])).toEqual([
        ['evt_2', 2],
        ['evt_0', 2],
        ['evt_1', 2],
      ]);
    });

    it('of a discard puts pending events away, and lets newer ones of their entities go on', async () => {
      await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
      const older = ids(300).map((id) => orderEvent(id, { order: 'ord_1' }));
      await Promise.all(older.map((event) => inbox.accept(event, later())));
      const { id } = await previewBulk(inbox, 'discard', {}, ADA);
      await store(inbox, orderEvent('newer', { order: 'ord_1', createdAt: 1 }));
      await inbox.claim({ ...ANY, ordered: true, now: NOW }, 1);
      expect(await statesOf(['evt_0'])).toEqual(['processing']);
      const bulk = await runBulk(inbox, id, ADA, UNLIMITED);
      expect(bulk).toMatchObject({ state: 'done', counts: { done: 299, 'not needed': 1 } });
      const [first] = await inbox.claim({ ...ANY, ordered: true, now: NOW + 60_000 }, 10);
      expect(first).toMatchObject({ id: 'evt_0' });
      if (first === undefined) return;
      await inbox.settle(first.lease, { outcome: 'processed' }, NOW + 60_001);
      expect(await inbox.claim({ ...ANY, ordered: true, now: NOW + 60_001 }, 10)).toMatchObject([{ id: 'newer' }]);
    });

    it('that is forced says so in the audit', async () => {
      await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
      const { id } = await previewBulk(inbox, 'rerun', {}, ADA, { force: true });
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ force: true, counts: { done: 1 } });
      expect((await auditOf(inbox))[0]?.filter).toEqual({ bulk: id, filter: {}, total: 1, force: true });
    });

    it('of nothing is done, and audited all the same', async () => {
      const { id } = await previewBulk(inbox, 'discard', {}, ADA);
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ state: 'done', total: 0, counts: {} });
      expect(await auditOf(inbox)).toMatchObject([{ act: 'discard', counts: {} }]);
    });

    it('keeps to its rate', async () => {
      await plant(ids(400));
      const id = await previewed();
      const paces: number[] = [];
      const startedAt = performance.now();
      await runBulk(inbox, id, ADA, {
        ratePerSecond: 1_000,
        onProgress: ({ worked }) => paces.push((worked - 100) / (performance.now() - startedAt + 5)),
      });
      // Events by millisecond after the first batch, which may begin at once.
      expect(paces.length).toBeGreaterThanOrEqual(4);
      expect(Math.max(...paces)).toBeLessThanOrEqual(1);
    });

    it('at less than one a second begins all the same, and one that is stopped does not wait for its next turn', async () => {
      await plant(['evt_0', 'evt_1']);
      const id = await previewed();
      const control = new AbortController();
      const bulk = await runBulk(inbox, id, ADA, {
        ratePerSecond: 0.001,
        signal: control.signal,
        onProgress: () => void setTimeout(() => control.abort(), 5),
      });
      expect(bulk).toMatchObject({ state: 'running', worked: 1 });
    });

    it.each([[0], [-1], [Number.NaN]])('at %s a second is refused', async (ratePerSecond) => {
      const id = await previewed();
      await expect(runBulk(inbox, id, ADA, { ratePerSecond })).rejects.toThrow(ConfigurationError);
    });

    it('stops when it is told to, and somebody else goes on with it: each event once, and both are in the audit', async () => {
      await plant(ids(350));
      const id = await previewed();
      const control = new AbortController();
      const stopped = await runBulk(inbox, id, ADA, {
        ...UNLIMITED,
        signal: control.signal,
        onProgress: () => control.abort(),
      });
      expect(stopped).toMatchObject({ state: 'running', endedAt: null });
      expect(stopped.worked).toBeGreaterThan(0);
      expect(stopped.worked).toBeLessThanOrEqual(100);
      await kept.dieAgain();

      const bulk = await runBulk(inbox, id, GRACE, UNLIMITED);
      expect(bulk).toMatchObject({ state: 'done', worked: 350, counts: { done: 350 }, audit: stopped.audit });
      expect(await kept.moves('dead', 'pending')).toEqual({ events: 350, moves: 350 });
      expect(await auditOf(inbox)).toMatchObject([
        { act: 'resume', actor: 'grace', filter: { bulk: id }, counts: { left: 350 - stopped.worked } },
        { act: 'rerun', actor: 'ada', counts: { done: 350 } },
      ]);
    });

    it('resumes at the rate of its last run', async () => {
      await plant(ids(20));
      const id = await previewed();
      const control = new AbortController();
      const how = { ratePerSecond: 7, signal: control.signal, onProgress: () => control.abort() };
      expect(await runBulk(inbox, id, ADA, how)).toMatchObject({ worked: 7, ratePerSecond: 7 });
      const steps: number[] = [];
      await runBulk(kept.second(), id, GRACE, { onProgress: ({ worked }) => steps.push(worked) });
      expect(steps).toEqual([14, 20]);
      const other = await previewed();
      expect((await runBulk(inbox, other, ADA, UNLIMITED)).ratePerSecond).toBe(Infinity);
    });

    it('that was told to stop says so, until somebody goes on with it', async () => {
      await plant(ids(3));
      const id = await previewed();
      expect(await getBulk(inbox, id)).toMatchObject({ state: 'previewed', stopped: null });
      const control = new AbortController();
      const how = { ratePerSecond: 1, signal: control.signal, onProgress: () => control.abort() };
      const bulk = await runBulk(inbox, id, ADA, how);
      expect(bulk).toMatchObject({ state: 'running', worked: 1, stopped: 'reported' });
      expect(await getBulk(kept.second(), id)).toEqual({ ...bulk, ranMs: expect.any(Number) });
      expect(stateInWords(bulk)).toBe('stopped at 1 of 3');
      await operationsOf(inbox).advanceBulk(id, 1, ADA, {});
      expect(await getBulk(inbox, id)).toMatchObject({ state: 'running', worked: 2, stopped: null });
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ state: 'done', stopped: null });
    });

    it.each([
      ['went a while ago', 2 * 60_000],
      ['went before the clock was set back', -HOUR_MS],
    ])('whose process %s without a word says so; who finds that again need not wait', async (_, earlier) => {
      await plant(ids(3));
      const id = await previewed();
      await operationsOf(inbox).advanceBulk(id, 1, ADA, {});
      expect(await getBulk(inbox, id)).toMatchObject({ stopped: null });
      await kept.heardEarlier(id, earlier);
      const bulk = await getBulk(inbox, id);
      if (bulk === null) throw new Error('there is one');
      expect(bulk).toMatchObject({ state: 'running', stopped: 'silent' });
      expect(stateInWords(bulk)).toBe('stopped at 1 of 3: its process ended');
      const again = await Promise.race([listBulks(inbox), new Promise((resolve) => setTimeout(resolve, 2_500))]);
      expect(again).toEqual([bulk]);
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ state: 'done', worked: 3, stopped: null });
    });

    it('whose process lives is nowhere said to have gone, whatever the clock says', async () => {
      await plant(ids(3));
      const id = await previewed();
      const control = new AbortController();
      const begun = Promise.withResolvers<void>();
      const onProgress = () => begun.resolve();
      const running = runBulk(inbox, id, ADA, { ratePerSecond: 0.01, signal: control.signal, onProgress });
      await begun.promise;
      for (const earlier of [HOUR_MS, -HOUR_MS]) {
        await kept.heardEarlier(id, earlier);
        expect(await getBulk(inbox, id)).toMatchObject({ state: 'running', stopped: null });
      }
      control.abort();
      expect(await running).toMatchObject({ worked: 1, stopped: 'reported' });
    });

    it('by two at the same time, each with a connection of its own, acts on each event once', async () => {
      await plant(ids(3_000));
      const id = await previewed();
      await using second = kept.second();
      let died = 0;
      const worked = { ada: 0, grace: 0 };
      const run = (on: Inbox, by: By, name: keyof typeof worked) => {
        const watched = afterBatches(on, async () => {
          worked[name] += 1;
          // As if handlers failed meanwhile: who came to one of them again would rerun it.
          if (worked.ada + worked.grace < 20) died += await kept.dieAgain();
        });
        return runBulk(watched, id, by, UNLIMITED);
      };
      const ends = await Promise.all([run(inbox, ADA, 'ada'), run(second, GRACE, 'grace')]);
      expect(ends).toMatchObject(Array.from({ length: 2 }, () => ({ state: 'done', worked: 3_000 })));
      expect(await kept.moves('dead', 'pending')).toEqual({ events: 3_000, moves: 3_000 });
      expect(await getBulk(inbox, id)).toMatchObject({ counts: { done: 3_000 } });
      expect(Math.min(worked.ada, worked.grace, died)).toBeGreaterThan(0);
    });

    it.each(['done', 'cancelled'] as const)('of one that is %s is refused, and says what to do', async (state) => {
      await plant(['evt']);
      const id = await previewed();
      const ended = await (state === 'done' ? runBulk(inbox, id, ADA) : cancelBulk(inbox, id, ADA));
      expect(ended.state).toBe(state);
      const lines = (await auditOf(inbox)).length;
      const again = runBulk(inbox, id, ADA);
      await expect(again).rejects.toThrow(ConfigurationError);
      await expect(again).rejects.toThrow(`Bulk action ${id} is already ${state}. Preview again`);
      expect(await auditOf(inbox)).toHaveLength(lines);
    });
  });

  describe('a cancel', () => {
    it('leaves what the run has not come to as it is, and the run ends by itself', async () => {
      await plant(ids(300));
      const id = await previewed();
      let cancelled: Promise<Bulk> | undefined;
      const bulk = await runBulk(inbox, id, ADA, {
        ...UNLIMITED,
        onProgress: () => void (cancelled ??= cancelBulk(inbox, id, { ...GRACE, reason: 'wrong filter' })),
      });
      expect(bulk).toMatchObject({ state: 'cancelled', endedAt: new Date(NOW + 1) });
      expect(await cancelled).toEqual(bulk);
      expect(bulk.worked).toBeGreaterThan(0);
      expect(bulk.worked).toBeLessThanOrEqual(200);
      expect(await kept.moves('dead', 'pending')).toEqual({ events: bulk.worked, moves: bulk.worked });
      expect(await auditOf(inbox)).toMatchObject([
        {
          act: 'cancel',
          actor: 'grace',
          reason: 'wrong filter',
          filter: { bulk: id },
          counts: { worked: bulk.worked, left: 300 - bulk.worked },
        },
        { act: 'rerun', actor: 'ada', seq: bulk.audit, counts: { done: bulk.worked } },
      ]);
    });

    it('of a preview is in the audit too', async () => {
      await plant(['evt']);
      const { id } = await previewBulk(inbox, 'discard', {}, ADA);
      expect(await cancelBulk(inbox, id, ADA)).toMatchObject({ state: 'cancelled', startedAt: null, audit: null });
      expect(await auditOf(inbox)).toMatchObject([{ act: 'cancel', counts: { worked: 0, left: 1 } }]);
      expect(await statesOf(['evt'])).toEqual(['dead']);
    });

    it('of one that has ended changes nothing, and is not in the audit', async () => {
      const { id } = await previewBulk(inbox, 'discard', {}, ADA);
      const done = await runBulk(inbox, id, ADA);
      expect(await cancelBulk(inbox, id, GRACE)).toEqual(done);
      expect(await auditOf(inbox)).toHaveLength(1);
    });
  });

  it('bulks are listed newest first, a page at a time', async () => {
    const made: number[] = [];
    for (let n = 0; n < 5; n += 1) made.unshift((await previewBulk(inbox, 'discard', {}, ADA)).id);
    const first = await listBulks(inbox, { limit: 2 });
    const rest = await listBulks(inbox, { before: first.at(-1)?.id ?? null });
    expect([...first, ...rest].map(({ id }) => id)).toEqual(made);
    await expect(listBulks(inbox, { limit: 501 })).rejects.toThrow(ConfigurationError);
  });

  it('a bulk action of nobody is refused, whatever it does', async () => {
    const { id } = await previewBulk(inbox, 'discard', {}, ADA);
    const by = { ...ADA, actor: ' ' };
    await expect(previewBulk(inbox, 'rerun', {}, by)).rejects.toThrow(ConfigurationError);
    await expect(runBulk(inbox, id, by)).rejects.toThrow(ConfigurationError);
    await expect(cancelBulk(inbox, id, by)).rejects.toThrow(ConfigurationError);
    expect(await listBulks(inbox)).toMatchObject([{ id, state: 'previewed' }]);
  });

  it.each(['the events', 'the results', 'the bulk', 'the line of the audit', 'the counts of that line'] as const)(
    'a batch that cannot write %s has done nothing: it is done once when it is run again',
    async (what) => {
      await plant(ids(10));
      const id = await previewed();
      const mend = await kept.breaks(what);
      await expect(runBulk(inbox, id, ADA)).rejects.toThrow(InboxUnavailableError);
      expect(await kept.moves('dead', 'pending')).toEqual({ events: 0, moves: 0 });
      expect(await getBulk(inbox, id)).toMatchObject({ state: 'previewed', worked: 0, counts: {}, audit: null });
      expect(await auditOf(inbox)).toEqual([]);
      await mend();
      expect(await runBulk(inbox, id, ADA)).toMatchObject({ counts: { done: 10 } });
      expect(await kept.moves('dead', 'pending')).toEqual({ events: 10, moves: 10 });
      expect(await auditOf(inbox)).toMatchObject([{ act: 'rerun', counts: { done: 10 } }]);
    },
  );

  function plant(ids: readonly string[]): Promise<void> {
    return kept.plant(...ids.map((id) => orderEvent(id)));
  }

  /** A preview of a rerun of everything. */
  async function previewed(): Promise<number> {
    return (await previewBulk(inbox, 'rerun', {}, ADA)).id;
  }

  async function snapshotOf(bulk: number): Promise<readonly string[]> {
    return (await kept.snapshots()).find((snapshot) => snapshot.bulk === bulk)?.ids ?? [];
  }

  function statesOf(ids: readonly string[]): Promise<unknown[]> {
    return Promise.all(ids.map(async (id) => (await inbox.get(key(id)))?.state));
  }
});

/** An inbox whose searches are told of, before their page is taken into the snapshot. */
function searching(inbox: Inbox, tell: (filter: EventFilter) => Promise<void>): Inbox {
  const operations = operationsOf(inbox);
  return {
    ...inbox,
    operations: {
      ...operations,
      async search(filter, page) {
        const found = await operations.search(filter, page);
        await tell(filter);
        return found;
      },
    },
  };
}

function afterBatches(inbox: Inbox, then: () => Promise<void>): Inbox {
  const operations = operationsOf(inbox);
  return {
    ...inbox,
    operations: {
      ...operations,
      async advanceBulk(...given) {
        const bulk = await operations.advanceBulk(...given);
        await then();
        return bulk;
      },
    },
  };
}

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `evt_${n}`);
}
