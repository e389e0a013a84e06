import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventState } from '../../src/inbox/event.ts';
import type { ActResult, By } from '../../src/inbox/operator/acts.ts';
import {
  auditLines,
  countEvents,
  discardEvents,
  getEvent,
  listEvents,
  previewBulk,
  rerunEvents,
  retryEventsNow,
  runBulk,
} from '../../src/ops/index.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { totalsOf } from './counted.ts';
import {
  ANY,
  auditOf,
  FAILED,
  failure,
  handleAgain,
  handled,
  inStates,
  invalidThen,
  key,
  RETRY,
} from './events-in-states.ts';

const NOW = START + 1_000;
const ADA: By = { actor: 'ada', reason: 'the shop was down', now: NOW };

export interface ActedStore {
  readonly inbox: Inbox;
  notified: number;
  /** An event as it stands, in the columns that SQLite has. */
  row(id: string): Promise<Readonly<Record<string, unknown>>>;
  readonly bury: (id: string) => Promise<void>;
  markErased(id: string): Promise<void>;
  setBody(id: string, body: Uint8Array): Promise<void>;
}

export const testActs = suite((open: () => Promise<ActedStore>) => {
  let store: ActedStore;
  let inbox: Inbox;

  beforeEach(async () => {
    store = await open();
    inbox = store.inbox;
  });

  describe('what an act makes of an event, by the state that it is in', () => {
    /** Of a rerun, a forced one and a discard; only an event that waits for its next attempt is retried now. */
    const expected: Record<keyof typeof inStates, readonly [ActResult, ActResult, ActResult]> = {
      pending: ['not needed', 'not needed', 'done'],
      retrying: ['not needed', 'not needed', 'done'],
      'in processing': ['not needed', 'not needed', 'not needed'],
      processed: ['not needed', 'done', 'not needed'],
      'processed, its handler running': ['not needed', 'not needed', 'not needed'],
      'dead (failed)': ['done', 'done', 'done'],
      'dead (crashed)': ['done', 'done', 'done'],
      'dead (invalid)': ['still invalid', 'still invalid', 'still invalid'],
      'dead (invalid), which fits today': ['done', 'done', 'done'],
      ignored: ['done', 'done', 'not needed'],
      discarded: ['done', 'done', 'not needed'],
      'processed and pruned': ['not needed', 'pruned', 'not needed'],
      'dead (failed) and pruned': ['pruned', 'pruned', 'done'],
      'dead (invalid) and pruned': ['pruned', 'pruned', 'pruned'],
      'discarded and pruned': ['pruned', 'pruned', 'not needed'],
    };
    const cases = Object.entries(expected).flatMap(([state, results]) =>
      [...results, state === 'retrying' ? 'done' : 'not needed'].map((result, n) => ({
        state,
        result,
        act: ['rerun', 'forced rerun', 'discard', 'retry-now'][n],
      })),
    );

    it.each(cases)('$act of one that is $state: $result', async ({ state, act, result }) => {
      await inStates[state as keyof typeof inStates](inbox, store.bury);
      const before = await store.row('evt');
      const attempts = await inbox.attempts(key('evt'));
      store.notified = 0;

      const named = [key('evt')];
      const report = await (act === 'discard'
        ? discardEvents(inbox, named, ADA)
        : act === 'retry-now'
          ? retryEventsNow(inbox, named, ADA)
          : rerunEvents(inbox, named, ADA, { force: act === 'forced rerun' }));

      const { lines } = await auditLines(inbox);
      expect(report).toEqual({
        results: [{ key: key('evt'), result }],
        counts: { [result]: 1 },
        audit: lines[0]?.seq,
      });
      // What the handlers did before is never overwritten.
      const after = await store.row('evt');
      if (result !== 'done') expect(after).toEqual(before);
      else if (act === 'retry-now') expect(after).toEqual({ ...before, due_ms: NOW });
      else expect(after).toMatchObject({ state: act === 'discard' ? 'discarded' : 'pending' });
      expect(await inbox.attempts(key('evt'))).toEqual(attempts);
      expect(after['attempts']).toBe(before['attempts']);
      expect(store.notified).toBe(result === 'done' ? 1 : 0);
    });
  });

  describe('a rerun', () => {
    it('counts failures and crashes from nothing, while the attempts and their history go on', async () => {
      await handled(inbox, RETRY, orderEvent('evt'));
      await handleAgain(inbox, FAILED, orderEvent('evt'));
      await rerunEvents(inbox, [key('evt')], ADA);
      expect(await store.row('evt')).toMatchObject({
        failures: 0,
        crashes: 0,
        due_ms: NOW,
        settled_ms: null,
        trigger: 'manual',
      });

      const [claimed] = await inbox.claim({ ...ANY, ordered: true, now: NOW }, 1);
      expect(claimed).toMatchObject({ id: 'evt', attempt: 3, failures: 0 });
      if (claimed === undefined) return;
      await inbox.settle(claimed.lease, { outcome: 'processed' }, NOW + 1);
      expect(await inbox.attempts(key('evt'))).toMatchObject([
        { number: 1, trigger: 'auto', outcome: 'failed', error: failure },
        { number: 2, trigger: 'auto', outcome: 'failed', error: failure },
        { number: 3, trigger: 'manual', outcome: 'processed', error: null },
      ]);
    });

    it('in the states that were shown leaves others as they are, and the audit says so', async () => {
      await handled(inbox, FAILED, orderEvent('shown'), orderEvent('discarded'));
      await discardEvents(inbox, [key('discarded')], ADA);
      const report = await rerunEvents(inbox, [key('shown'), key('discarded')], ADA, { states: ['dead'] });
      expect(report.counts).toEqual({ done: 1, changed: 1 });
      expect((await auditOf(inbox))[0]).toMatchObject({ act: 'rerun', counts: { done: 1, changed: 1 } });
      expect((await discardEvents(inbox, [key('shown')], ADA, { states: ['dead'] })).counts).toEqual({ changed: 1 });
      expect((await discardEvents(inbox, [key('shown')], ADA, { states: ['pending'] })).counts).toEqual({ done: 1 });
      await handled(inbox, FAILED, orderEvent('again'));
      const seen = { states: ['dead'], attempts: 1 } as const;
      await rerunEvents(inbox, [key('again')], ADA, seen);
      await handleAgain(inbox, FAILED, orderEvent('again'));
      expect((await discardEvents(inbox, [key('again')], ADA, seen)).counts).toEqual({ changed: 1 });
      await rerunEvents(inbox, [key('again')], ADA, { attempts: 2 });
      await handleAgain(inbox, { outcome: 'processed' }, orderEvent('again'));
      const processed = { states: ['processed'], force: true } as const;
      expect((await rerunEvents(inbox, [key('again')], ADA, { ...processed, attempts: 2 })).counts).toEqual({
        changed: 1,
      });
      expect((await rerunEvents(inbox, [key('again')], ADA, { ...processed, attempts: 3 })).counts).toEqual({
        done: 1,
      });
      const wrong = { states: ['daed'] } as unknown as { states: EventState[] };
      await expect(rerunEvents(inbox, [key('shown')], ADA, wrong)).rejects.toThrow(ConfigurationError);
      await expect(discardEvents(inbox, [key('shown')], ADA, wrong)).rejects.toThrow(ConfigurationError);
    });

    it('that is forced runs the handler of a processed event once more, and its first success stays on record', async () => {
      await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
      const report = await rerunEvents(inbox, [key('evt'), key('evt')], ADA, { force: true });
      expect(report.results.map(({ result }) => result)).toEqual(['done', 'not needed']);
      const [claimed, ...others] = await inbox.claim({ ...ANY, now: NOW }, 10);
      expect([claimed, others]).toMatchObject([{ id: 'evt', attempt: 2, superseded: false }, []]);
      if (claimed === undefined) return;
      await inbox.settle(claimed.lease, FAILED, NOW + 1);
      expect(await inbox.attempts(key('evt'))).toMatchObject([
        { number: 1, trigger: 'auto', outcome: 'processed' },
        { number: 2, trigger: 'manual', outcome: 'failed' },
      ]);
    });

    it('reads the stored bytes with the schemas of today: an invalid event becomes what it is', async () => {
      const event = orderEvent('evt', { order: 'ord_7', createdAt: 5 });
      await storeIn(inbox, invalidThen(event));
      await rerunEvents(inbox, [key('evt')], ADA);
      expect(await inbox.get(key('evt'))).toMatchObject({
        type: 'order.created',
        created: event.created,
        entity: event.entity,
        deadReason: null,
      });
    });

    it.each([
      ['names it by the rule of the receiver, where it has one', () => 'by my rule', 'by my rule'],
      [
        'leaves it alone where that rule throws',
        () => {
          throw new Error('ord_7 was never ours');
        },
        null,
      ],
    ])('of an event that was stored as invalid %s', async (_, entity, expected) => {
      await storeIn(inbox, invalidThen(orderEvent('evt')));
      expect((await rerunEvents(inbox, [key('evt')], ADA, { entity })).counts).toEqual({ done: 1 });
      expect((await inbox.get(key('evt')))?.entity).toBe(expected);
    });

    it('leaves a valid event the name that its receiver gave it', async () => {
      await handled(inbox, FAILED, { ...orderEvent('evt'), entity: 'named before' });
      await rerunEvents(inbox, [key('evt')], ADA, { entity: () => 'named now' });
      expect((await inbox.get(key('evt')))?.entity).toBe('named before');
    });

    it.each([['before'], ['after']])(
      'and a valid body that takes the place of an invalid one %s it, in the same commit: the event says what its bytes say',
      async (order) => {
        await storeIn(inbox, { ...invalidThen(orderEvent('evt')), body: Buffer.from('{"id":"evt"}') });
        const mended = orderEvent('evt', { type: 'order.ready', order: 'ord_9' });
        const replace = () => inbox.accept(mended, later());
        const rerun = () => rerunEvents(inbox, [key('evt')], ADA);
        await Promise.all(order === 'before' ? [replace(), rerun()] : [rerun(), replace()]);
        expect(await inbox.get(key('evt'))).toMatchObject({
          state: 'pending',
          type: 'order.ready',
          entity: mended.entity,
          body: mended.body,
        });
      },
    );

    it('does not bring an erased event back, whatever it has for a body', async () => {
      await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
      await store.markErased('evt');
      expect((await rerunEvents(inbox, [key('evt')], ADA, { force: true })).counts).toEqual({ 'not needed': 1 });
      expect(await store.row('evt')).toMatchObject({ state: 'processed' });
    });
  });

  describe('a discard', () => {
    it('of the event at the front of its entity lets the next one be claimed', async () => {
      const first = orderEvent('first', { order: 'ord_1' });
      const second = orderEvent('second', { order: 'ord_1', createdAt: 1 });
      await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
      await handled(inbox, RETRY, first);
      await storeIn(inbox, second);
      const request = { ...ANY, ordered: true, now: NOW };
      expect(await inbox.claim(request, 10)).toEqual([]);
      expect(await store.row('second')).toMatchObject({ parked: 1 });

      expect((await discardEvents(inbox, [key('first')], ADA)).counts).toEqual({ done: 1 });
      expect(await inbox.claim(request, 10)).toMatchObject([{ id: 'second' }]);
    });

    it.each([
      ['an event that no processor has looked at yet', async () => storeIn(inbox, orderEvent('evt'))],
      [
        'one that waits for an older one',
        async () => {
          await handled(inbox, RETRY, orderEvent('older', { order: 'ord_1' }));
          await storeIn(inbox, orderEvent('evt', { order: 'ord_1', createdAt: 1 }));
          await inbox.announce({ endpoints: '*', types: '*' }, NOW, null);
          await inbox.claim({ ...ANY, ordered: true, now: NOW }, 10);
        },
      ],
      ['one that crashed', async () => inStates['dead (crashed)'](inbox)],
      ['one that failed', async () => handled(inbox, FAILED, orderEvent('evt'))],
      [
        'one that was rerun',
        async () => {
          await handled(inbox, FAILED, orderEvent('evt'));
          await rerunEvents(inbox, [key('evt')], ADA);
        },
      ],
    ])('takes %s off every list for work', async (_, prepare) => {
      await prepare();
      await discardEvents(inbox, [key('evt')], ADA);
      expect(await store.row('evt')).toMatchObject({
        state: 'discarded',
        parked: 0,
        crashes: 0,
        settled_ms: NOW,
        dead_reason: null,
        fingerprint: null,
        trigger: 'auto',
      });
      expect(await inbox.claim({ ...ANY, now: NOW + 7_200_000 }, 10)).not.toContainEqual(
        expect.objectContaining({ id: 'evt' }),
      );
    });

    it('holds against redeliveries: they count, and run nothing until it is rerun', async () => {
      const event = orderEvent('evt');
      await handled(inbox, FAILED, event);
      await discardEvents(inbox, [key('evt')], ADA);
      const now = NOW + 1;
      const duplicate = { result: 'duplicate', replaced: false };
      expect(await inbox.accept(event, later())).toEqual({ ...duplicate, conflict: false });
      expect(await inbox.accept(orderEvent('evt', { total: 1 }), later())).toEqual({ ...duplicate, conflict: true });
      expect(await inbox.claimOne(key('evt'), { ...ANY, now })).toBe('settled');
      expect(await inbox.get(key('evt'))).toMatchObject({ state: 'discarded', body: event.body });
      await rerunEvents(inbox, [key('evt')], ADA);
      expect(await inbox.claimOne(key('evt'), { ...ANY, now })).toMatchObject({ attempt: 2, failures: 0 });
    });

    it('shows in the history of the event: when, by whom and why', async () => {
      await handled(inbox, FAILED, orderEvent('evt'));
      const { audit } = await discardEvents(inbox, [key('evt')], ADA);
      const history = await getEvent(inbox, key('evt'));
      const at = new Date(NOW);
      expect(history).toMatchObject({
        summary: { state: 'discarded', settledAt: at, deadReason: null, fingerprint: null },
        wait: { reason: 'discarded' },
      });
      expect(history?.timeline.slice(-2)).toMatchObject([
        { what: 'act', at, act: { audit, act: 'discard', actor: 'ada', reason: 'the shop was down' } },
        { what: 'settled', at, state: 'discarded' },
      ]);
    });

    it('is not one of a processor: what it ignored is listed, counted and rerun apart from it', async () => {
      await storeIn(inbox, orderEvent('ignored'), orderEvent('discarded'));
      await discardEvents(inbox, [key('discarded')], { ...ADA, now: START + 3_600_000 });
      await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 3_600_000, START + 3_000_000);
      for (const state of ['ignored', 'discarded'] as const) {
        expect((await listEvents(inbox, { states: [state] })).events).toMatchObject([{ id: state, state }]);
        expect(await countEvents(inbox, { states: [state] })).toMatchObject({ count: 1 });
      }
      const since = new Date(START);
      expect((await listEvents(inbox, { ignoredSince: since })).events.map(({ id }) => id)).toEqual(['ignored']);
      const { id, total } = await previewBulk(inbox, 'rerun', { ignoredSince: since }, ADA);
      expect([total, (await runBulk(inbox, id, ADA)).counts]).toEqual([1, { done: 1 }]);
      expect(await store.row('ignored')).toMatchObject({ state: 'pending' });
      expect(await store.row('discarded')).toMatchObject({ state: 'discarded' });
      const taken = await previewBulk(inbox, 'rerun', { states: ['discarded'] }, ADA);
      expect(taken).toMatchObject({ total: 1, breakdown: { states: { discarded: 1 } } });
    });

    it('of an invalid event that fits today gives it its type and time, and a rerun its entity by the rule of the receiver', async () => {
      await storeIn(inbox, invalidThen(orderEvent('evt')));
      await discardEvents(inbox, [key('evt')], ADA);
      expect(await inbox.get(key('evt'))).toMatchObject({ state: 'discarded', type: 'order.created', entity: null });
      await rerunEvents(inbox, [key('evt')], ADA, { entity: () => 'by my rule' });
      expect(await inbox.get(key('evt'))).toMatchObject({ state: 'pending', entity: 'by my rule' });
    });
  });

  describe('several events', () => {
    it('have a result each, in the order given, and one line in the audit', async () => {
      await handled(inbox, FAILED, orderEvent('dead'), { ...orderEvent('dead'), endpoint: 'second' });
      await handled(inbox, { outcome: 'processed' }, orderEvent('processed'));
      const keys = [key('processed'), key('nobody'), key('dead'), { endpoint: 'second', id: 'dead' }, key('dead')];
      const { results, counts, audit } = await rerunEvents(inbox, keys, { ...ADA, via: 'cli' });
      const expected: ActResult[] = ['not needed', 'unknown', 'done', 'done', 'not needed'];
      expect(results).toEqual(keys.map((key, at) => ({ key, result: expected[at] })));
      expect(counts).toEqual({ 'not needed': 2, unknown: 1, done: 2 });
      expect(await auditOf(inbox)).toEqual([
        {
          seq: audit,
          at: new Date(NOW),
          actor: 'ada',
          via: 'cli',
          act: 'rerun',
          reason: 'the shop was down',
          filter: {
            events: [
              { endpoint: 'default', ids: ['processed', 'nobody', 'dead', 'dead'] },
              { endpoint: 'second', ids: ['dead'] },
            ],
          },
          counts,
        },
      ]);
    });

    it('of one endpoint stand in the audit as its ids, and that they were forced', async () => {
      await rerunEvents(inbox, [key('a'), key('b')], ADA, { force: true });
      const { lines } = await auditLines(inbox);
      expect(lines[0]?.filter).toEqual({ endpoint: 'default', ids: ['a', 'b'], force: true });
    });

    it('may be 500, and no more: nothing is done to 501, and the error says what to use', async () => {
      await handled(inbox, FAILED, orderEvent('evt_0'));
      const ids = Array.from({ length: 501 }, (_, n) => `evt_${n}`);
      const refused = rerunEvents(inbox, ids.map(key), ADA);
      await expect(refused).rejects.toThrow(ConfigurationError);
      await expect(refused).rejects.toThrow('previewBulk');
      expect(await store.row('evt_0')).toMatchObject({ state: 'dead' });
      expect(await auditOf(inbox)).toEqual([]);
      expect((await rerunEvents(inbox, ids.slice(0, 500).map(key), ADA)).counts).toEqual({ done: 1, unknown: 499 });
    });

    it('whose bodies are too large to be read in one commit are refused; one alone never is', async () => {
      const ids = ['evt_0', 'evt_1', 'evt_2', 'evt_3', 'evt_4'];
      await handled(inbox, FAILED, ...ids.map((id) => orderEvent(id, { order: 'x'.repeat(130_000) })));
      await expect(rerunEvents(inbox, ids.map(key), ADA)).rejects.toThrow(ConfigurationError);
      expect(await store.row('evt_0')).toMatchObject({ state: 'dead' });
      expect((await rerunEvents(inbox, ids.slice(1).map(key), ADA)).counts).toEqual({ done: 4 });
      await store.setBody('evt_0', Buffer.alloc(5_000_000));
      expect((await rerunEvents(inbox, [key('evt_0')], ADA)).counts).toEqual({ 'still invalid': 1 });
    });

    it('may be none', async () => {
      expect(await rerunEvents(inbox, [], ADA)).toMatchObject({ results: [], counts: {} });
    });
  });

  it('an act by nobody is refused, and nothing is done', async () => {
    await handled(inbox, FAILED, orderEvent('evt'));
    const nobody = {} as By;
    await expect(rerunEvents(inbox, [key('evt')], nobody)).rejects.toThrow(ConfigurationError);
    await expect(discardEvents(inbox, [key('evt')], nobody)).rejects.toThrow(ConfigurationError);
    expect(await store.row('evt')).toMatchObject({ state: 'dead' });
  });

  it('each move is counted once', async () => {
    await handled(inbox, FAILED, orderEvent('evt_1'), orderEvent('evt_2'));
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_3', { type: 'order.ready' }));
    const keys = ['evt_1', 'evt_2', 'evt_3'].map(key);
    await rerunEvents(inbox, keys, ADA, { force: true });
    await discardEvents(inbox, keys, ADA);
    await discardEvents(inbox, keys, ADA);
    expect((await totalsOf(inbox)).filter((total) => /^(rerun|discarded)/.test(total))).toEqual([
      'discarded order.created 2',
      'discarded order.ready 1',
      'rerun order.created 2',
      'rerun order.ready 1',
    ]);
  });

  it('a pruned event that is discarded stays a tombstone', async () => {
    await handled(inbox, FAILED, orderEvent('evt'));
    await store.bury('evt');
    await discardEvents(inbox, [key('evt')], ADA);
    expect(await inbox.get(key('evt'))).toMatchObject({ state: 'discarded', body: null });
  });
});
