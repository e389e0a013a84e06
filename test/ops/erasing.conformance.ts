import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { EraseProgress } from '../../src/inbox/operator/erasing.ts';
import {
  acknowledgeGroup,
  auditLines,
  deadGroups,
  discardEvents,
  eraseEntity,
  pausedTypes,
  pauseType,
  previewBulk,
  rerunEvents,
  resumeType,
} from '../../src/ops/index.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { deliverDuring } from './deliver-during.ts';
import {
  auditOf,
  ANY,
  claimed,
  committed,
  failure,
  FAILED,
  handleAgain,
  handled,
  inStates,
  invalidThen,
  key,
} from './events-in-states.ts';

const ADA: By = { actor: 'ada', reason: 'request 17', now: START + 5 };
const EVENT = orderEvent('evt');
const ENTITY = 'order::evt';
/** What each body, error and conflict about the erased entity says, and nothing else. */
const SECRET = 'Ada-Lovelace-St-James-Square';

export interface ErasedStore {
  readonly inbox: Inbox;
  readonly logEmptied: boolean | null;
  plantDead(...events: readonly IncomingEvent[]): Promise<void>;
  bury(id: string): Promise<void>;
  /** What there still is of anything that could name an entity. */
  kept(): Promise<{
    readonly terms: readonly string[];
    readonly entities: readonly string[];
    readonly conflicts: number;
    readonly fingerprints: number;
    readonly erased: readonly number[];
  }>;
  /** The body of this one cannot be taken away until what it answers with was called. */
  breaksAt(seq: number): Promise<() => Promise<void>>;
  actsMeanwhile(act: string, filter: string): Promise<void>;
  onDisk(text: string): Promise<readonly string[]>;
}

export const testErasing = suite((open: () => Promise<ErasedStore>) => {
  let store: ErasedStore;
  let inbox: Inbox;

  beforeEach(async () => {
    store = await open();
    inbox = store.inbox;
  });

  describe('eraseEntity', () => {
    const settled = [
      'processed',
      'dead (failed)',
      'dead (crashed)',
      'ignored',
      'discarded',
      'dead (invalid), which fits today',
    ] as const;
    it.each(settled)('leaves a bare tombstone of an event that is %s', async (name) => {
      await inStates[name](inbox);
      const before = await inbox.get(EVENT);
      const attempts = await inbox.attempts(EVENT);
      await inbox.accept(EVENT, later());
      await inbox.accept({ ...EVENT, body: Buffer.from('{"other":1}'), valid: false }, later());

      expect(await eraseEntity(inbox, ENTITY, ADA)).toEqual({
        erased: 1,
        inProcessing: 0,
        audit: name === 'discarded' ? 2 : 1,
        logEmptied: store.logEmptied,
      });
      const state = name === 'dead (invalid), which fits today' ? 'discarded' : before?.state;
      expect(await inbox.get(EVENT)).toMatchObject({
        seq: before?.seq,
        state,
        body: null,
        entity: null,
        conflict: null,
        redeliveries: { count: 2 },
      });
      expect(await inbox.attempts(EVENT)).toEqual(
        attempts.map((attempt) => ({
          ...attempt,
          error: attempt.error === null ? null : { name: 'Erased', message: '', stack: null },
        })),
      );
      expect(await store.kept()).toEqual({
        terms: [],
        entities: [],
        conflicts: 0,
        fingerprints: 0,
        erased: [START + 5],
      });
    });

    it('takes why a handler has let its event go by, what it logged, and its steps', async () => {
      await storeIn(inbox, EVENT);
      const { lease } = await claimed(inbox, EVENT);
      await inbox.keepStep(lease, { name: SECRET, result: `"${SECRET}"` }, START + 1);
      const log = [{ afterMs: 1, level: 'info', text: SECRET }] as const;
      await inbox.settle(lease, { outcome: 'processed', skipped: SECRET, log }, START + 1);
      expect(await eraseEntity(inbox, ENTITY, ADA)).toMatchObject({ erased: 1 });
      expect(JSON.stringify(await inbox.attempts(EVENT))).not.toContain(SECRET);
      expect(await inbox.steps(EVENT)).toEqual([]);
      expect(await store.onDisk(SECRET)).toEqual([]);
    });

    it('puts a pending event away, and lets go of what waits for it', async () => {
      const first = orderEvent('first', { order: 'ord_1', createdAt: 0 });
      const second = orderEvent('second', { order: 'ord_1', createdAt: 1 });
      await inbox.announce({ endpoints: '*', types: '*' }, START, null);
      await storeIn(inbox, first, second);
      const request = { ...ANY, ordered: true, leaseMs: 1_000 };
      const [running] = await inbox.claim({ ...request, now: START + 1 }, 2);
      if (running === undefined) throw new Error('nothing was claimed');
      const error = { name: 'Error', message: SECRET, stack: null };
      await inbox.settle(running.lease, { outcome: 'retry', error, dueAt: START + 1_000 }, START + 2);
      expect(await inbox.claim({ ...request, now: START + 3 }, 2)).toEqual([]);

      // The index knows the first alone, as when the second arrives in this moment.
      await operationsOf(inbox).indexNew(1);
      expect(await operationsOf(inbox).erase('ord_1', { ...ADA, now: START + 4 }, {})).toMatchObject({ erased: 1 });
      expect(await inbox.get(first)).toMatchObject({ state: 'discarded', body: null, entity: null });
      expect(await inbox.claim({ ...request, now: START + 5 }, 2)).toMatchObject([{ id: 'second' }]);
    });

    it('leaves an event whose handler runs, says so, and takes it the next time', async () => {
      await storeIn(inbox, EVENT);
      const { lease } = await claimed(inbox, EVENT);
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 0, inProcessing: 1 });
      expect(await inbox.settle(lease, { outcome: 'processed' }, START + 2)).toBe(true);
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 1, inProcessing: 0 });
      expect(await store.kept()).toMatchObject({ terms: [], entities: [] });
    });

    it('ends while events come in faster than they are entered into the index', async () => {
      await storeIn(inbox, EVENT, orderEvent('other'));
      const operations = operationsOf(inbox);
      let steps = 0;
      const indexNew: typeof operations.indexNew = async (_, upTo) => {
        steps += 1;
        if (steps > 20) throw new Error('it goes on and on');
        for (const n of [1, 2]) await storeIn(inbox, orderEvent(`new_${steps}_${n}`));
        return operations.indexNew(1, upTo);
      };
      const busy = { ...inbox, operations: { ...operations, indexNew } };
      expect(await eraseEntity(busy, ENTITY, ADA)).toMatchObject({ erased: 1 });
      expect(steps).toBe(2);
      expect(await operations.indexNew(0)).toBe(4);
    });

    it('finds events by the name of the entity or by an id in it, at every endpoint, and no others', async () => {
      const events = [
        orderEvent('a', { order: 'ord_1' }),
        { ...orderEvent('b', { order: 'ord_1' }), endpoint: 'second' },
        orderEvent('c', { order: 'ord_11' }),
        { ...orderEvent('d'), entity: 'my own name' },
        { ...orderEvent('e'), entity: 'inventory:mer_7:prod_1:loc_1' },
        { ...orderEvent('f'), entity: 'inventory:mer_7:prod_1:loc_2' },
        { ...orderEvent('g'), entity: 'inventory:mer_7:prod_2:loc_2' },
        { ...orderEvent('h'), entity: null },
      ];
      const erased = async (entity: string): Promise<unknown> => {
        await eraseEntity(inbox, entity, ADA);
        return (await inbox.list()).filter(({ body }) => body === null).map(({ id }) => id);
      };
      await storeIn(inbox, ...events);
      expect(await erased('prod_3')).toEqual([]);
      expect(await erased('mer_7')).toEqual([]);
      expect(await erased('my')).toEqual([]);
      expect(await erased('ord_1')).toEqual(['a', 'b']);
      expect(await erased('my own name')).toEqual(['a', 'b', 'd']);
      expect(await erased('inventory:mer_7:prod_1:loc_1')).toEqual(['a', 'b', 'd', 'e']);
      expect(await erased('prod_1')).toEqual(['a', 'b', 'd', 'e', 'f']);
    });

    it('finds an invalid event by what its body says', async () => {
      const invalid = (id: string, data: unknown): IncomingEvent =>
        invalidThen({ ...orderEvent(id), body: Buffer.from(JSON.stringify({ id, type: 'order.ready', data })) });
      await storeIn(
        inbox,
        invalid('by id', { id: 'ord_1', items: 'none' }),
        invalid('with merchant', { id: 'ord_1', merchant_id: 'mer_7' }),
        invalid('other', { id: 'ord_2', note: 'ord_1' }),
        invalid('number', { id: 1 }),
        invalid('no data', null),
        { ...invalidThen(orderEvent('no JSON')), body: Buffer.from('ord_1') },
      );
      expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 2 });
      const left = (await inbox.list()).filter(({ body }) => body !== null).map(({ id }) => id);
      expect(left).toEqual(['other', 'number', 'no data', 'no JSON']);
    });

    it('finds an invalid event that was discarded since, which has no entity either', async () => {
      await storeIn(inbox, invalidThen(EVENT), invalidThen(orderEvent('other')), {
        ...orderEvent('alone'),
        entity: null,
      });
      const keys = ['evt', 'other', 'alone'].map(key);
      expect((await discardEvents(inbox, keys.slice(0, 2), ADA)).counts).toEqual({ done: 2 });
      expect(await inbox.get(EVENT)).toMatchObject({ state: 'discarded', entity: null });
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 1 });
      expect((await inbox.list()).map(({ body }) => body === null)).toEqual([true, false, false]);
      expect(await eraseEntity(inbox, 'alone', ADA)).toMatchObject({ erased: 1 });
    });

    it('finds an event of a type that hookbox does not know by the ids in its data, pruned or not', async () => {
      const unknown = (id: string, data: object): IncomingEvent => ({
        ...orderEvent(id, { type: 'refund.made' }),
        body: Buffer.from(JSON.stringify({ id, type: 'refund.made', created: '2026-01-01T00:00:00Z', data })),
      });
      const events = [
        unknown('a', { id: 'ord_1' }),
        unknown('b', { order_id: 'ord_1' }),
        unknown('c', { note: 'ord_1' }),
      ];
      await handled(inbox, FAILED, ...events, unknown('pruned', { cart_id: 'ord_1' }));
      expect(events[0]?.entity).toBeNull();
      while ((await operationsOf(inbox).indexNew(100)) !== 0);
      await store.bury('pruned');
      expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 3 });
      const left = (await inbox.list()).filter(({ body }) => body !== null).map(({ id }) => id);
      expect(left).toEqual(['c']);
      expect(await store.kept()).toMatchObject({ terms: [] });
    });

    it('leaves nothing in the index of an invalid event that a rerun named otherwise', async () => {
      await storeIn(inbox, invalidThen(EVENT));
      while ((await operationsOf(inbox).indexNew(100)) !== 0);
      await rerunEvents(inbox, [key('evt')], ADA, { entity: () => 'table:7' });
      expect(await store.kept()).toMatchObject({ terms: expect.arrayContaining(['entity evt', 'entity table:7']) });
      expect(await eraseEntity(inbox, 'table:7', ADA)).toMatchObject({ erased: 1 });
      expect(await store.kept()).toMatchObject({ terms: [] });
    });

    it('finds a body that is kept beside an event about another one, and leaves that event as it is', async () => {
      const about = (order: string): IncomingEvent => ({ ...orderEvent('evt', { order }), id: 'evt' });
      await storeIn(inbox, { ...about('ord_1'), verified: false }, about('ord_2'), orderEvent('other'));
      await storeIn(inbox, { ...orderEvent('other'), body: Buffer.from('{"data":{"note":"ord_1"}}') });
      const [before, other] = [await inbox.get(EVENT), await inbox.get(orderEvent('other'))];
      expect(Buffer.from(before?.conflict?.body ?? []).toString()).toContain('ord_1');
      expect(await eraseEntity(inbox, 'ord_1', ADA, { dryRun: true })).toMatchObject({ erased: 1 });
      expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 1, inProcessing: 0 });
      const after = await inbox.get(EVENT);
      expect(after).toEqual({ ...before, conflict: { ...before?.conflict, body: Buffer.alloc(0) } });
      expect(await inbox.get(orderEvent('other'))).toEqual(other);
      expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 0 });
      await storeIn(inbox, { ...about('ord_3'), id: 'third', verified: false }, { ...about('ord_4'), id: 'third' });
      await inbox.claimOne(key('third'), { ...ANY, now: START + 1 });
      expect(await eraseEntity(inbox, 'ord_3', ADA)).toMatchObject({ erased: 1, inProcessing: 0 });
      expect(await inbox.get(key('third'))).toMatchObject({ state: 'processing' });
    });

    it('waits for a handler that runs on after its transaction: its entity stays held', async () => {
      await inStates['processed, its handler running'](inbox);
      const before = await inbox.get(EVENT);
      expect(await eraseEntity(inbox, ENTITY, ADA, { dryRun: true })).toMatchObject({ erased: 0, inProcessing: 1 });
      expect(await eraseEntity(inbox, ENTITY, ADA)).toMatchObject({ erased: 0, inProcessing: 1 });
      expect(await inbox.get(EVENT)).toEqual(before);
    });

    it('gets nothing back from a handler that outlives its lease and throws when the event is erased', async () => {
      await storeIn(inbox, EVENT);
      const { lease } = await committed(inbox, EVENT);
      const ranOutAt = START + 2 + ANY.leaseMs;
      await inbox.claim({ ...ANY, now: ranOutAt }, 1);
      expect(await eraseEntity(inbox, ENTITY, ADA)).toMatchObject({ erased: 1, inProcessing: 0 });
      const error = { name: 'Error', message: `no mail to ${SECRET}`, stack: null };
      expect(await inbox.settle(lease, { outcome: 'committed', error }, ranOutAt)).toBe(false);
      expect(JSON.stringify(await inbox.attempts(EVENT))).not.toContain(SECRET);
    });

    it('takes an event that was pruned before, whose name and history are left', async () => {
      await handled(inbox, FAILED, EVENT);
      await operationsOf(inbox).pruneSome({ settledBefore: new Date(START + 9), states: ['dead'] }, 1);
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 1 });
      expect(await store.kept()).toMatchObject({ terms: [], entities: [], fingerprints: 0, erased: [START + 5] });
      expect(await inbox.accept(EVENT, later())).toMatchObject({ result: 'duplicate', conflict: false });
    });

    it('has nothing left to do the second time', async () => {
      await handled(inbox, FAILED, EVENT);
      await eraseEntity(inbox, 'evt', ADA);
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 0, inProcessing: 0 });
    });

    it('only counts when asked to', async () => {
      await handled(inbox, FAILED, orderEvent('a', { order: 'ord_1' }), orderEvent('b', { order: 'ord_1' }));
      await storeIn(inbox, orderEvent('c', { order: 'ord_1' }));
      await inbox.claimOne(orderEvent('c'), { ...ANY, now: START + 1 });
      const before = await inbox.list();
      expect(await eraseEntity(inbox, 'ord_1', ADA, { dryRun: true })).toEqual({
        erased: 2,
        inProcessing: 1,
        audit: null,
        logEmptied: false,
      });
      expect(await inbox.list()).toEqual(before);
      expect(await auditOf(inbox)).toEqual([]);
    });

    it('takes hundreds in several transactions that deliveries can come between, and counts them exactly', async () => {
      await store.plantDead(...orderEvents(350, () => ({ order: 'ord_1' })));
      const erasing = eraseEntity(inbox, 'ord_1', ADA);
      const { taken, result } = await deliverDuring(inbox, erasing, (n) => ({ id: `new_${n}`, entity: null }));
      expect(taken).toBeGreaterThan(3);
      expect(result).toMatchObject({ erased: 350 });
      expect(await auditOf(inbox)).toMatchObject([{ counts: { erased: 350, inProcessing: 0 } }]);
    });

    it('counts exactly what it has come to when it breaks down', async () => {
      await store.plantDead(...orderEvents(350, () => ({ order: 'ord_1' })));
      const mend = await store.breaksAt(250);
      await operationsOf(inbox).note('export', ADA, { id: 'evt_3' }, {});
      await expect(eraseEntity(inbox, 'ord_1', ADA)).rejects.toThrow(InboxUnavailableError);
      const erased = (await store.kept()).erased.length;
      expect(erased).toBeGreaterThan(0);
      const { lines } = await auditLines(inbox);
      expect(lines).toMatchObject([{ act: 'erase', counts: { erased } }, { filter: { id: '(erased)' } }]);
      await mend();
      expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 350 - erased });
    });

    it('says how far it is, step by step', async () => {
      await store.plantDead(...orderEvents(350, () => ({ order: 'ord_1' })));
      const told: EraseProgress[] = [];
      await eraseEntity(inbox, 'ord_1', ADA, { onProgress: (progress) => void told.push(progress) });
      const last = Object.fromEntries(told.map((progress) => [progress.step, progress]));
      expect(last).toEqual({
        indexing: { step: 'indexing', left: 0 },
        looking: { step: 'looking', examined: expect.toSatisfy((examined: number) => examined >= 350), found: 350 },
        erasing: { step: 'erasing', worked: 350, total: 350 },
      });
      expect(told.filter(({ step }) => step === 'erasing').length).toBeGreaterThan(3);
    });

    it.each(['indexing', 'looking', 'erasing'] as const)(
      'stops while it is %s, and goes on when asked again',
      async (step) => {
        await store.plantDead(...orderEvents(1_200, () => ({ order: 'ord_1' })));
        const stop = new AbortController();
        const { erased, audit } = await eraseEntity(inbox, 'ord_1', ADA, {
          signal: stop.signal,
          onProgress: (progress) => progress.step === step && stop.abort(),
        });
        expect(erased > 0).toBe(step === 'erasing');
        expect(erased).toBeLessThan(1_200);
        expect((await store.kept()).erased).toHaveLength(erased);
        const { lines } = await auditLines(inbox);
        expect(lines).toMatchObject(audit === null ? [] : [{ counts: { erased } }]);
        expect(audit === null).toBe(step !== 'erasing');
        expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 1_200 - erased });
      },
    );

    it('refuses to erase nothing in particular', async () => {
      await expect(eraseEntity(inbox, '', ADA)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    });
  });

  describe('a redelivery of an erased event', () => {
    it('is a duplicate; other bytes are counted, and not kept', async () => {
      await handled(inbox, FAILED, EVENT);
      await eraseEntity(inbox, 'evt', ADA);
      expect(await inbox.accept(EVENT, later())).toEqual({ result: 'duplicate', conflict: false, replaced: false });
      for (const n of [1, 2]) {
        const other = { ...EVENT, body: Buffer.from(JSON.stringify({ n, to: SECRET })) };
        expect(await inbox.accept(other, later())).toEqual({ result: 'duplicate', conflict: true, replaced: false });
      }
      const event = await inbox.get(EVENT);
      expect(event).toMatchObject({ body: null, entity: null, redeliveries: { count: 3 }, conflict: { count: 2 } });
      expect(event?.conflict?.body).toHaveLength(0);
      expect(await store.onDisk(SECRET)).toEqual([]);
    });

    const unsigned = { ...EVENT, body: Buffer.from(`{"to":"${SECRET}"}`) };
    const otherwise = { ...invalidThen(EVENT), body: Buffer.from('{"type":"order.ready","data":{"id":"evt"}}') };
    it.each([
      ['what was invalid, with a valid body', otherwise, EVENT, true, 'dead'],
      ['the very bytes that were invalid once', invalidThen(EVENT), EVENT, false, 'dead'],
      ['what nobody had signed, with a signature', { ...EVENT, verified: false }, unsigned, true, 'discarded'],
    ] as const)('does not bring back %s', async (_, before, again, conflict, state) => {
      await storeIn(inbox, before);
      expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 1 });
      expect(await inbox.accept(again, later())).toEqual({ result: 'duplicate', conflict, replaced: false });
      expect(await inbox.get(EVENT)).toMatchObject({ state, body: null, entity: null });
      expect(await store.onDisk(SECRET)).toEqual([]);
    });
  });

  describe('the audit after erasing', () => {
    it('says who has erased and why, and of whom only by a hash', async () => {
      await handled(inbox, FAILED, EVENT);
      await eraseEntity(inbox, ENTITY, { ...ADA, reason: `letter about ${ENTITY}, not about evt_2.` });
      const hash = createHash('sha256').update(ENTITY).digest('hex').slice(0, 16);
      expect(await auditOf(inbox)).toEqual([
        {
          seq: 1,
          at: new Date(START + 5),
          actor: 'ada',
          via: 'code',
          act: 'erase',
          reason: 'letter about (erased), not about evt_2.',
          filter: { entity: `sha256:${hash}` },
          counts: { erased: 1, inProcessing: 0 },
        },
      ]);
    });

    it('does not name what was erased any more, in acts and in bulk actions', async () => {
      const about = orderEvent('evt_7', { order: 'ord_7' });
      await handled(inbox, FAILED, about, orderEvent('evt_77', { order: 'ord_77' }));
      await rerunEvents(inbox, [key('evt_7'), key('evt_77')], { ...ADA, reason: 'evt_7: asked for by (ord_7)' });
      const note = (filter: unknown) => operationsOf(inbox).note('export', { ...ADA, reason: 'ord_77' }, filter, {});
      await note({ entity: 'order::ord_7', since: '2026-01-01' });
      await note({ body: [{ path: 'data.id', value: 'ord_7' }], error: 'ord_7 and ord_77 fail' });
      await note({ id: 'evt_7', types: ['order.created'] });
      await previewBulk(inbox, 'rerun', { entity: 'ord_7' }, { ...ADA, reason: 'ord_7!' });
      await handleAgain(inbox, FAILED, about);

      await eraseEntity(inbox, 'ord_7', ADA);
      const { lines } = await auditLines(inbox);
      expect(lines.slice(1).map(({ filter, reason }) => [filter, reason])).toEqual([
        [{ id: '(erased)', types: ['order.created'] }, 'ord_77'],
        [{ body: [{ path: 'data.id', value: '(erased)' }], error: '(erased) and ord_77 fail' }, 'ord_77'],
        [{ entity: '(erased)', since: '2026-01-01' }, 'ord_77'],
        [{ endpoint: 'default', ids: ['(erased)', 'evt_77'] }, '(erased): asked for by ((erased))'],
      ]);
      expect(await operationsOf(inbox).bulks({})).toMatchObject([
        { filter: { entity: '(erased)' }, reason: '(erased)!' },
      ]);
      expect(await store.onDisk('ord_7"')).toEqual([]);
      expect(await store.onDisk('order::ord_7 ')).toEqual([]);
    });

    it('does not name it in why a type is paused, or was', async () => {
      await handled(inbox, FAILED, orderEvent('evt_7', { order: 'ord_7' }));
      const paused = { ...ADA, reason: 'ord_7 was printed twice' };
      await pauseType(inbox, 'order.ready', { ...paused, reason: `a call about ord_7${', and so on'.repeat(30)}` });
      await resumeType(inbox, 'order.ready', ADA);
      await pauseType(inbox, 'order.created', paused);
      await pauseType(inbox, 'order.created', { ...paused, reason: 'like ord_77' }, { endpoint: 'second' });
      await eraseEntity(inbox, 'ord_7', ADA);
      expect((await pausedTypes(inbox)).map(({ endpoint, reason }) => [endpoint, reason])).toEqual([
        ['default', '(erased) was printed twice'],
        ['second', 'like ord_77'],
      ]);
      expect(await store.onDisk('ord_7 was printed')).toEqual([]);
      expect(await store.onDisk('about ord_7')).toEqual([]);
    });

    it('does not name it in what is known about a group', async () => {
      await handled(inbox, FAILED, orderEvent('evt_7', { order: 'ord_7' }), orderEvent('evt_8', { order: 'ord_8' }));
      const link = 'https://wiki.example/?order=ord_7';
      await acknowledgeGroup(inbox, fingerprintOf(failure), { ...ADA, reason: 'ord_7 has no address' }, { link });
      await eraseEntity(inbox, 'ord_7', ADA);
      const [group] = await deadGroups(inbox);
      expect(group?.acknowledged).toMatchObject({
        reason: '(erased) has no address',
        link: 'https://wiki.example/?order=(erased)',
      });
      expect(await store.onDisk('ord_7 has no')).toEqual([]);
    });

    it('does not name it in what was done meanwhile either', async () => {
      await handled(inbox, FAILED, EVENT);
      await store.actsMeanwhile('rerun', '{"id":"evt"}');
      await eraseEntity(inbox, 'evt', ADA);
      expect(await auditOf(inbox)).toMatchObject([{ act: 'rerun', filter: { id: '(erased)' } }, { act: 'erase' }]);
    });

    it('hides names in more lines than fit into one look', async () => {
      await handled(inbox, FAILED, EVENT);
      for (let n = 0; n < 230; n += 1) await operationsOf(inbox).note('export', ADA, { entity: ENTITY, n }, {});
      await eraseEntity(inbox, 'evt', ADA);
      const { lines } = await auditLines(inbox, { limit: 500 });
      const filters = [...new Set(lines.map(({ filter }) => JSON.stringify(filter)))];
      expect(filters).toHaveLength(231);
      expect(filters.filter((filter) => filter.includes(ENTITY))).toEqual([]);
    });
  });
});
