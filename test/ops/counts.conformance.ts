import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Gauges } from '../../src/inbox/operator/gauges.ts';
import type { Counted, CountTotal } from '../../src/inbox/rules/counted.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { discardEvents } from '../../src/ops/act-on-events.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { EARNED, own, ownEvent } from '../helpers/own-events.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { counted, DAY, HOUR, MINUTE, NOON, totalsOf } from './counted.ts';
import { ANY, committed, FAILED, failure, handleAgain, handled, invalidThen, RETRY } from './events-in-states.ts';

export interface CountedStore {
  readonly inbox: Inbox;
  readonly another: () => Promise<Inbox>;
  readonly bury: (id: string) => Promise<void>;
  readonly fill: (events: FilledEvents) => Promise<void>;
  readonly sums: () => Promise<readonly unknown[]>;
}

export interface FilledEvents {
  readonly state: 'pending' | 'dead' | 'ignored';
  readonly count: number;
  readonly parked?: boolean;
  readonly failures: number;
}

export const testCounts = suite((open: () => Promise<CountedStore>) => {
  const opened = async () => {
    const store = await open();
    return { ...store, operations: operationsOf(store.inbox) };
  };

  describe('counting', () => {
    it('adds to the minute that a time is in', async () => {
      const { operations } = await opened();
      await operations.count([
        counted(NOON, 'stored', 'order.ready'),
        counted(NOON + 59_999, 'stored', 'order.ready', 2),
      ]);
      await operations.count([counted(NOON + MINUTE, 'stored', 'order.ready'), counted(NOON, 'dead', 'order.ready')]);
      await operations.count([]);
      expect(await operations.counts(NOON, NOON + 2 * MINUTE)).toEqual([
        counted(NOON, 'dead', 'order.ready'),
        counted(NOON, 'stored', 'order.ready', 3),
        counted(NOON + MINUTE, 'stored', 'order.ready'),
      ]);
    });

    it('uses the name of an own type that has a handler, also beside one for all other types', async () => {
      const { inbox, operations } = await opened();
      const ignore = (): void => {};
      const schemas = { [EARNED]: z.object({ points: z.number() }) };
      await using processor = createProcessor({ inbox, ...own(schemas, { [EARNED]: ignore, '*': ignore }) });
      await processor.start();
      await vi.waitFor(async () => expect((await inbox.processors(Date.now())).handled).not.toEqual([]));
      await store(inbox, ownEvent('evt_1', { points: 5 }), ownEvent('evt_2', { points: 5 }, 'loyalty.invented'));
      const all = await operations.counts(0, Date.now() + MINUTE);
      const names = all.flatMap(({ what, detail }) => (what === 'stored' ? detail : []));
      expect(names.toSorted()).toEqual([EARNED, 'other'].toSorted());
    });

    it('tells of the minutes that begin in a span, the first one included and the end not', async () => {
      const { inbox, operations } = await opened();
      await operations.count(
        [-MINUTE, 0, MINUTE, 2 * MINUTE].map((at) => counted(NOON + at, 'processed', 'order.ready')),
      );
      const span = { since: NOON, until: NOON + 2 * MINUTE };
      // As they came in, and as minutes that were taken in.
      for (const _ of ['came in', 'taken in']) {
        const rows = await operations.counts(span.since, span.until);
        expect(rows.map(({ at }) => at)).toEqual([NOON, NOON + MINUTE]);
        expect(await totalsOf(inbox, span)).toEqual(['processed order.ready 2']);
        expect(await totalsOf(inbox, { since: NOON + 1, until: NOON + MINUTE })).toEqual([]);
        expect(await totalsOf(inbox)).toEqual(['processed order.ready 4']);
        await operations.coarsen(NOON - DAY);
      }
    });

    it('counts what deliveries and handlers do, in any process of the file', async () => {
      const { inbox: one, another } = await opened();
      const other = await another();
      await handled(one, { outcome: 'processed' }, orderEvent('evt_1'));
      await handled(other, FAILED, orderEvent('evt_2'));
      await other.accept(orderEvent('evt_1'), later());
      const expected = ['dead order.created 1', 'duplicate  1', 'handler-ms 1 2', 'processed order.created 1'];
      const byType = 'type-ms order.created 1 2';
      expect(await totalsOf(one)).toEqual([...expected, 'stored order.created 2', byType]);
      expect(await totalsOf(other)).toEqual(await totalsOf(one));
    });

    it('counts each thing that happens to an event once, by its type', async () => {
      const { inbox } = await opened();
      const ready = { type: 'order.ready' };
      await store(inbox, invalidThen(orderEvent('invalid')), orderEvent('ours', { type: 'acme.invented' }));
      await inbox.accept(orderEvent('ours', { type: 'acme.invented', total: 1 }), later());
      await handled(inbox, RETRY, orderEvent('retried'));
      await handleAgain(inbox, { outcome: 'interrupted' }, orderEvent('retried'));
      await handled(inbox, FAILED, orderEvent('failed', ready));
      await inbox.rerun(orderEvent('failed'), orderEvent('failed', ready), START);
      await store(inbox, orderEvent('transacted', ready), orderEvent('crashed', ready));
      await committed(inbox, orderEvent('transacted'), START);
      await inbox.claimOne(orderEvent('crashed'), { ...ANY, now: START });
      await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 10 * DAY, START + 9 * DAY);
      await inbox.claim({ ...ANY, types: [], now: START + 10 * DAY }, 1);
      expect((await totalsOf(inbox)).filter((total) => !/^(handler|type)-ms/.test(total))).toEqual([
        'conflict  1',
        'dead invalid 1',
        'dead order.ready 1',
        'duplicate  1',
        'failed order.created 1',
        'failed order.ready 1',
        'ignored order.created 1',
        'ignored other 1',
        'processed order.ready 1',
        'rerun order.ready 1',
        'stored invalid 1',
        'stored order.created 1',
        'stored order.ready 3',
        'stored other 1',
      ]);
    });
  });

  describe('coarsening', () => {
    const details = ['order.ready', 'order.created', ''] as const;
    const moment = fc.integer({ min: 0, max: 500 * DAY });

    it('keeps every sum, whenever it is done and whatever comes late', async () => {
      const count = fc.tuple(
        moment,
        fc.constantFrom<Counted[]>('stored', 'dead', 'answer-ms'),
        fc.constantFrom(...details),
        fc.nat(9),
      );
      const step = fc.oneof({ arbitrary: count, weight: 9 }, { arbitrary: moment, weight: 1 });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), moment, moment, async (steps, oneEnd, otherEnd) => {
          const { operations } = await opened();
          let coarsest = 0;
          const naive: ReturnType<typeof counted>[] = [];
          for (const taken of steps) {
            if (typeof taken === 'number') {
              await operations.coarsen(NOON + taken);
              coarsest = Math.max(coarsest, taken);
              continue;
            }
            const [at, what, detail, times] = taken;
            naive.push(counted(NOON + at, what, detail, times));
            await operations.count(naive.slice(-1));
          }
          const sums = (rows: readonly CountTotal[]): Record<string, number> => {
            const all: Record<string, number> = {};
            for (const { what, detail, count: times } of rows) {
              all[`${what} ${detail}`] = (all[`${what} ${detail}`] ?? 0) + times;
            }
            return all;
          };
          expect(sums(await operations.totals())).toEqual(sums(naive));
          const wholeHour = (at: number): number =>
            Math.floor((NOON + Math.max(at, coarsest - 399 * DAY)) / HOUR) * HOUR;
          const [since = 0, until = 0] = [wholeHour(oneEnd), wholeHour(otherEnd)].toSorted((a, b) => a - b);
          const inSpan = naive.filter(({ at }) => at >= since && at < until);
          expect(sums(await operations.counts(since, until))).toEqual(sums(inSpan));
          expect(sums((await operations.totalsIn([{ since, until }])).flat())).toEqual(sums(inSpan));
        }),
        { numRuns: 25 },
      );
    });

    it('leaves minutes for what is newer, and hours for what is older', async () => {
      const { operations } = await opened();
      const minutes = Array.from({ length: 180 }, (_, n) => counted(NOON + n * MINUTE, 'stored', 'order.ready', n));
      await operations.count(minutes);
      await operations.coarsen(NOON + 2 * HOUR + 30 * MINUTE);
      const rows = await operations.counts(NOON, NOON + DAY);
      expect(rows.slice(0, 3)).toEqual([
        counted(NOON, 'stored', 'order.ready', (59 * 60) / 2),
        counted(NOON + HOUR, 'stored', 'order.ready', ((60 + 119) * 60) / 2),
        counted(NOON + 2 * HOUR, 'stored', 'order.ready', 120),
      ]);
      expect(rows.slice(2)).toEqual(minutes.slice(120));
    });

    it('changes nothing when it is done again, and takes in what came late', async () => {
      const { operations, sums } = await opened();
      await operations.count([counted(NOON, 'stored', 'order.ready'), counted(NOON + MINUTE, 'stored', 'order.ready')]);
      await operations.coarsen(NOON + DAY);
      const once = await sums();
      await operations.coarsen(NOON + DAY);
      expect(await sums()).toEqual(once);
      await operations.count([counted(NOON + 5 * MINUTE, 'stored', 'order.ready', 5)]);
      await operations.coarsen(NOON + DAY);
      expect(await operations.counts(0, NOON + DAY)).toEqual([counted(NOON, 'stored', 'order.ready', 7)]);
    });

    it('forgets hours after 400 days, and no sum of all', async () => {
      const { inbox, operations, sums } = await opened();
      await operations.count([
        counted(NOON, 'stored', 'order.ready', 3),
        counted(NOON + DAY, 'stored', 'order.ready', 4),
      ]);
      await operations.coarsen(NOON + 400 * DAY);
      expect(await operations.counts(0, NOON + DAY)).toHaveLength(1);
      await operations.coarsen(NOON + 400 * DAY + HOUR);
      expect(await operations.counts(0, NOON + DAY)).toEqual([]);
      expect(await totalsOf(inbox)).toEqual(['stored order.ready 7']);
      await operations.coarsen(NOON + 500 * DAY);
      expect(await totalsOf(inbox)).toEqual(['stored order.ready 7']);
      expect(await sums()).toHaveLength(1);
    });

    it('survives a clock that was years ahead for a while', async () => {
      const { inbox, operations } = await opened();
      await operations.count([counted(NOON, 'stored', 'order.ready')]);
      await operations.coarsen(NOON + 10 * 365 * DAY);
      await operations.count([counted(NOON + MINUTE, 'stored', 'order.ready')]);
      await operations.coarsen(NOON - DAY);
      expect(await operations.counts(NOON, NOON + HOUR)).toEqual([counted(NOON + MINUTE, 'stored', 'order.ready')]);
      expect(await totalsOf(inbox)).toEqual(['stored order.ready 2']);
    });

    it('loses and doubles nothing when two processes do it while events are stored and handled', async () => {
      const { inbox: one, another } = await opened();
      const other = await another();
      const stop = new AbortController();
      const coarsening = [one, other].map(async (inbox) => {
        while (!stop.signal.aborted) await operationsOf(inbox).coarsen(Date.now() + DAY);
      });
      const seen: number[] = [];
      for (let round = 0; round < 15; round += 1) {
        const events = severalIncoming(20, { endpoint: `endpoint_${round}` });
        await Promise.all(events.map((event, n) => (n % 2 === 0 ? one : other).accept(event, later())));
        const [stored] = await operationsOf(round % 2 === 0 ? one : other).totals();
        seen.push(stored?.count ?? 0);
      }
      stop.abort();
      await Promise.all(coarsening);
      expect(seen).toEqual(Array.from({ length: 15 }, (_, round) => (round + 1) * 20));
    });
  });

  describe('gauges', () => {
    const none = { count: 0, more: false };
    const some = (count: number) => ({ count, more: false });

    it('count the events by state', async () => {
      const { inbox, operations } = await opened();
      const empty: Gauges = {
        pending: none,
        retrying: none,
        processing: none,
        dead: none,
        ignored: none,
        discarded: none,
        oldestPending: null,
        oldest: [],
      };
      expect(await operations.gauges()).toEqual(empty);

      await store(inbox, orderEvent('ignored', { type: 'order.failed' }));
      await inbox.announce({ endpoints: '*', types: ['order.created'] }, START + HOUR, START + MINUTE);
      await store(inbox, orderEvent('discarded'));
      await discardEvents(inbox, [orderEvent('discarded')], { actor: 'ada', now: START });
      await handled(inbox, { outcome: 'processed' }, orderEvent('processed'));
      await handled(inbox, FAILED, orderEvent('dead_1'), orderEvent('dead_2'));
      await handled(inbox, RETRY, orderEvent('retrying'));
      await store(inbox, orderEvent('running'));
      await inbox.claimOne(orderEvent('running'), { ...ANY, now: START });
      await store(inbox, orderEvent('first', { order: 'ord' }), orderEvent('second', { order: 'ord' }));
      await inbox.claim({ ...ANY, ordered: true, now: START + 1 }, 10);
      await store(inbox, orderEvent('fresh'));
      expect(await operations.gauges()).toMatchObject({
        pending: some(3),
        retrying: some(1),
        processing: some(2),
        dead: some(2),
        ignored: some(1),
        discarded: some(1),
      });
    });

    it('leave out dead events whose bodies are gone, as nothing can be done about them', async () => {
      const { inbox, operations, bury } = await opened();
      await handled(inbox, FAILED, orderEvent('failed'), orderEvent('pruned'));
      await store(inbox, invalidThen(orderEvent('invalid')), invalidThen(orderEvent('invalid and pruned')));
      expect((await operations.gauges()).dead).toEqual(some(4));
      for (const id of ['pruned', 'invalid and pruned']) await bury(id);
      expect((await operations.gauges()).dead).toEqual(some(2));
    });

    it('stop counting at ten thousand and say that there is more', async () => {
      const { operations, fill } = await opened();
      await fill({ state: 'dead', count: 10_000, failures: 0 });
      await fill({ state: 'ignored', count: 10_001, failures: 0 });
      await fill({ state: 'pending', count: 6_000, failures: 1 });
      await fill({ state: 'pending', count: 4_000, failures: 0 });
      expect(await operations.gauges()).toMatchObject({
        dead: { count: 10_000, more: false },
        ignored: { count: 10_000, more: true },
        pending: { count: 10_000, more: false },
        retrying: { count: 6_000, more: false },
      });
      await fill({ state: 'pending', count: 1, parked: true, failures: 0 });
      expect(await operations.gauges()).toMatchObject({ pending: { count: 10_000, more: true } });
    });

    describe('find the pending event that was received first', () => {
      const old = (id: string, parts: Parameters<typeof orderEvent>[1] = {}) =>
        orderEvent(id, { receivedAt: START - DAY, ...parts });
      /** In one commit, and looked at by a processor that has no free slot. */
      const storeDue = async (inbox: Inbox, count: number): Promise<void> => {
        await Promise.all(Array.from({ length: count }, (_, n) => inbox.accept(orderEvent(`due_${n}`), later())));
        await inbox.announce({ endpoints: '*', types: ['order.created'] }, START, null);
      };
      const cases: Record<string, (inbox: Inbox) => Promise<unknown>> = {
        'which no processor has looked at': (inbox) => store(inbox, old('oldest')),
        'which is due': async (inbox) => {
          await store(inbox, old('oldest', { type: 'order.ready' }));
          await inbox.announce({ endpoints: '*', types: ['order.created'] }, START - DAY, null);
        },
        'which waits for another of its entity': async (inbox) => {
          const [first, second] = [old('first', { order: 'ord' }), old('oldest', { order: 'ord', createdAt: 1 })];
          await store(inbox, first, second);
          await inbox.claim({ ...ANY, ordered: true, now: START }, 10);
        },
        'which is tried again tomorrow': (inbox) =>
          handled(inbox, { outcome: 'retry', error: failure, dueAt: START + DAY }, old('oldest')),
        'which was given back by a processor that closed': (inbox) =>
          handled(inbox, { outcome: 'interrupted' }, old('oldest')),
      };

      it.each(Object.entries(cases))('%s', async (_, arrange) => {
        const { inbox, operations } = await opened();
        await arrange(inbox);
        // Newer ones of each kind beside it; those that are due come before what was rerun, interrupted or put off.
        await storeDue(inbox, 50);
        await handled(inbox, RETRY, orderEvent('retrying'));
        await handled(inbox, FAILED, orderEvent('dead'));
        await store(inbox, orderEvent('fresh'), orderEvent('fresh_2', { type: 'order.ready' }));
        const { oldestPending } = await operations.gauges();
        const dayBefore = new Date(START - DAY);
        expect(oldestPending).toEqual({ endpoint: 'default', id: 'oldest', receivedAt: dayBefore, since: dayBefore });
      });

      it('which is tried again tomorrow, behind more that are due than are looked at', async () => {
        const { inbox, operations } = await opened();
        await handled(inbox, { outcome: 'retry', error: failure, dueAt: START + DAY }, old('oldest'));
        await storeDue(inbox, 150);
        expect((await operations.gauges()).oldestPending).toMatchObject({ id: 'oldest' });
      });

      it('one that was rerun has waited since then, until it fails again', async () => {
        const { inbox, operations } = await opened();
        await handled(inbox, FAILED, old('rerun'));
        await inbox.rerun(old('rerun'), old('rerun'), START - HOUR);
        const times = { receivedAt: new Date(START - DAY), since: new Date(START - HOUR) };
        expect((await operations.gauges()).oldestPending).toEqual({ endpoint: 'default', id: 'rerun', ...times });
        await store(inbox, old('older', { receivedAt: START - 2 * HOUR }), orderEvent('newer'));
        expect((await operations.gauges()).oldest.map(({ id }) => id)).toEqual(['older', 'rerun', 'newer']);
        await handleAgain(inbox, RETRY, old('rerun'));
        expect((await operations.gauges()).oldest.map(({ id }) => id)).toEqual(['rerun', 'older', 'newer']);
      });

      it('and those of other entities, one of each, the oldest first, twenty at most', async () => {
        const { inbox, operations } = await opened();
        const at = (minutes: number): number => START - DAY + minutes * MINUTE;
        await store(inbox, old('slow_2', { order: 'slow', receivedAt: at(1) }), old('slow_1', { order: 'slow' }));
        await store(inbox, old('late', { order: 'late', receivedAt: at(100) }));
        await store(inbox, ...Array.from({ length: 30 }, (_, n) => old(`alone_${n}`, { receivedAt: at(31 - n) })));
        const { oldest, oldestPending } = await operations.gauges();
        const newestFirst = Array.from({ length: 19 }, (_, n) => `alone_${29 - n}`);
        expect(oldest.map(({ id }) => id)).toEqual(['slow_1', ...newestFirst]);
        expect(oldestPending).toEqual(oldest[0]);
      });

      it('none when the only old ones are settled or run', async () => {
        const { inbox, operations } = await opened();
        await handled(inbox, { outcome: 'processed' }, orderEvent('processed'));
        await handled(inbox, FAILED, orderEvent('dead'));
        await store(inbox, orderEvent('running'));
        await inbox.claimOne(orderEvent('running'), { ...ANY, now: START });
        expect((await operations.gauges()).oldestPending).toBeNull();
        await inbox.rerun(orderEvent('dead'), orderEvent('dead'), START + 1);
        expect((await operations.gauges()).oldestPending).toMatchObject({ id: 'dead' });
        await handleAgain(inbox, { outcome: 'processed' }, orderEvent('dead'));
        expect((await operations.gauges()).oldestPending).toBeNull();
      });
    });
  });
});
