import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Scope } from '../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import { START, VirtualClock } from '../helpers/virtual-clock.ts';
import { claim, claimIds, inbox, LEASE_MS, leaseOf, openers, store, type Parts } from './inbox-under-test.ts';

const SHOP_A: Scope = { endpoints: ['shop-a'], types: '*' };
const SHOP_B: Scope = { endpoints: ['shop-b'], types: '*' };
const CREATED: Scope = { endpoints: ['shop-a'], types: ['order.created'] };
const READY: Scope = { endpoints: ['shop-a'], types: ['order.ready'] };
const EVERYWHERE: Scope = { endpoints: '*', types: '*' };

export function testScope(name: string, open: () => Inbox): void {
  const { empty } = openers(open);
  async function holding(...events: Parts[]): Promise<void> {
    empty();
    await store(...events.map((event) => ({ endpoint: 'shop-a', entity: null, receivedAt: START, ...event })));
  }

  describe(`${name}, who runs`, () => {
    it('a processor is there from its start until it is closed, with what it handles', async () => {
      await holding();
      const handlers = { 'order.created': () => {} };
      const worker = createProcessor({
        inbox,
        endpoint: 'shop-a',
        handlers,
        clock: new VirtualClock(),
        logger: silent,
      });
      expect(await inbox.processors(START)).toEqual({ processors: [], handled: [] });
      await worker.start();
      const seen = await inbox.processors(START);
      expect(seen).toEqual({
        processors: [{ ...CREATED, name: expect.any(String), startedAt: new Date(START), seenAt: new Date(START) }],
        handled: [{ endpoint: 'shop-a', type: 'order.created', seenAt: new Date(START) }],
      });
      await worker.close();
      expect(await inbox.processors(START)).toEqual({ ...seen, processors: [] });
    });

    it('one whose machine has slept is there again within a second, and puts nothing away for that', async () => {
      await holding({ id: 'evt_ready', type: 'order.ready' });
      const timers = new VirtualClock();
      let sleptMs = 0;
      const now = () => timers.now() + sleptMs;
      const clock = { now, after: (ms: number, callback: () => void) => timers.after(ms, callback) };
      const handlers = { 'order.created': () => {} };
      await using worker = createProcessor({ inbox, endpoint: 'shop-a', handlers, clock, logger: silent });
      await worker.start();
      await expect.poll(async () => (await inbox.processors(now())).processors).toHaveLength(1);
      sleptMs = IGNORE_AFTER_MS + PRESENT_MS;
      expect((await inbox.processors(now())).processors).toEqual([]);
      await timers.advance(1_000);
      const seenAt = new Date(now());
      // Its announcement is on its way to a remote database.
      await expect
        .poll(() => inbox.processors(now()), { timeout: 5_000 })
        .toEqual({
          processors: [{ ...CREATED, name: expect.any(String), startedAt: new Date(START), seenAt }],
          handled: [{ endpoint: 'shop-a', type: 'order.created', seenAt }],
        });
      expect((await inbox.get({ endpoint: 'shop-a', id: 'evt_ready' }))?.state).toBe('pending');
    });

    it('one that goes without a word is gone after ten minutes, also when the clock was set back since', async () => {
      await holding();
      const named = async (now: number) => (await inbox.processors(now)).processors.map(({ name }) => name);
      const HOUR_MS = 3_600_000;
      await inbox.announce(EVERYWHERE, START + HOUR_MS, null, { name: 'one', startedAt: START });
      await inbox.announce(CREATED, START + HOUR_MS + 1, null, { name: 'other', startedAt: START + 1 });
      expect(await named(START + HOUR_MS + PRESENT_MS - 1)).toEqual(['one', 'other']);
      expect(await named(START + HOUR_MS + PRESENT_MS)).toEqual(['other']);
      await claimIds(START, EVERYWHERE);
      expect(await named(START)).toEqual(['one', 'other']);
      expect(await named(START + PRESENT_MS + 60_000)).toEqual([]);
      await inbox.announce(CREATED, START + PRESENT_MS + 60_000, null, { name: 'next', startedAt: START });
      expect(await named(START)).toEqual(['next']);
    });
  });

  describe(`${name}, endpoint by endpoint`, () => {
    const one = { id: 'a', endpoint: 'shop-a' };
    const other = { id: 'b', endpoint: 'shop-b' };

    it.each([
      ['one', SHOP_A, ['a']],
      ['one by its types', { endpoints: ['shop-b'], types: ['order.created'] }, ['b']],
      ['two', { endpoints: ['shop-a', 'shop-b'], types: '*' }, ['a', 'b']],
      ['every one', EVERYWHERE, ['a', 'b']],
      ['every one by its types', { endpoints: '*', types: ['order.created'] }, ['a', 'b']],
      ['another one', { endpoints: ['shop-c'], types: '*' }, []],
      ['none', { endpoints: [], types: '*' }, []],
    ] as const)('a processor of %s claims the events of that and no others', async (_, scope, expected) => {
      await holding(one, other);
      expect(await claimIds(START, scope)).toEqual(expected);
    });

    it('the next time that something is due is that of its endpoints', async () => {
      await holding({ ...one, receivedAt: START + 20 }, { ...other, receivedAt: START + 10 });
      expect(await claimIds(START, EVERYWHERE)).toEqual([]);
      expect(await inbox.nextDue(SHOP_A)).toBe(START + 20);
      expect(await inbox.nextDue({ endpoints: ['shop-b'], types: ['order.created'] })).toBe(START + 10);
      expect(await inbox.nextDue({ endpoints: ['shop-b', 'shop-a'], types: ['order.created'] })).toBe(START + 10);
      expect(await inbox.nextDue({ endpoints: '*', types: ['order.created'] })).toBe(START + 10);
      expect(await inbox.nextDue({ endpoints: ['shop-c'], types: '*' })).toBeNull();
    });

    it('one event is claimed for its own delivery by its own endpoint only', async () => {
      await holding(one);
      const request = { leaseMs: LEASE_MS, ordered: true, now: START };
      expect(await inbox.claimOne(one, { ...SHOP_B, ...request })).toBe('settled');
      expect(await inbox.claimOne(one, { ...SHOP_A, ...request })).toMatchObject({ id: 'a' });
    });

    it('one that handles a type does not take it for another endpoint: there it is ignored, here it is not', async () => {
      await holding(one, other);
      await inbox.announce(SHOP_A, START, null);
      const b: Scope = { endpoints: ['shop-b'], types: ['order.ready'] };
      await inbox.announce(b, START + PRESENT_MS, START);
      expect(await states()).toEqual({ a: 'pending', b: 'ignored' });
    });

    it('nothing of another endpoint is ignored, whatever is handled there', async () => {
      await holding(one, other);
      const result = await inbox.announce({ ...SHOP_B, types: ['order.ready'] }, START + PRESENT_MS, START);
      expect(result).toEqual({ ignored: [{ endpoint: 'shop-b', type: 'order.created', count: 1 }], more: false });
      expect(await states()).toEqual({ a: 'pending', b: 'ignored' });
    });

    it('a processor of every endpoint takes its types for each of them', async () => {
      await holding(one, other);
      await inbox.announce({ endpoints: '*', types: ['order.created'] }, START, null);
      await inbox.announce({ ...SHOP_B, types: ['order.ready'] }, START + PRESENT_MS, START);
      expect(await states()).toEqual({ a: 'pending', b: 'pending' });
    });

    it('an older event holds back newer ones only if somebody handles its type at that endpoint', async () => {
      const queue = (endpoint: string): Parts[] => [
        { id: `${endpoint} older`, endpoint, entity: 'order', created: at(1) },
        { id: `${endpoint} newer`, endpoint, entity: 'order', created: at(2), type: 'order.ready' },
      ];
      await holding(...queue('shop-a'), ...queue('shop-b'));
      await inbox.announce(CREATED, START, null);
      expect(await claimIds(START, { endpoints: '*', types: ['order.ready'] })).toEqual(['shop-b newer']);
    });

    it('retention is that of its endpoints', async () => {
      await holding(one, other);
      for (const { lease } of await claim(START, EVERYWHERE)) {
        await inbox.settle(lease, { outcome: 'processed' }, START);
      }
      expect(await inbox.prune(['shop-a'], START + 1, 10)).toBe(1);
      expect(await inbox.prune(['shop-a'], START + 1, 10)).toBe(0);
      expect((await inbox.get(one))?.body).toBeNull();
      expect((await inbox.get(other))?.body).not.toBeNull();
      expect(await inbox.prune(['shop-c', 'shop-b'], START + 1, 10)).toBe(1);
    });
  });

  describe(`${name}, where nobody handles a type`, () => {
    const created = { id: 'created', type: 'order.created' };

    it('it is ignored when nobody was seen to handle it for seven days, and not a moment before', async () => {
      await holding(created);
      await inbox.announce(CREATED, START, null);
      const end = START + IGNORE_AFTER_MS;
      for (const now of [START + PRESENT_MS, START + 2 * PRESENT_MS, end - 1]) {
        expect(await inbox.announce(READY, now, now - PRESENT_MS)).toEqual({ ignored: [], more: false });
      }
      expect(await states()).toEqual({ created: 'pending' });
      await inbox.announce(READY, end, end - PRESENT_MS);
      expect(await states()).toEqual({ created: 'ignored' });
    });

    it('nobody is gone who has run since the time to judge by, however late it is', async () => {
      await holding(created);
      await inbox.announce(CREATED, START + 1, null);
      const late = START + 3 * IGNORE_AFTER_MS;
      await inbox.announce(READY, late, START);
      expect(await states()).toEqual({ created: 'pending' });
      await inbox.announce(READY, late, START + 1);
      expect(await states()).toEqual({ created: 'ignored' });
    });

    it('its events hold back newer ones as long as the claim takes somebody for being there', async () => {
      await holding(
        { ...created, entity: 'order', created: at(1) },
        { id: 'ready', type: 'order.ready', entity: 'order', created: at(2) },
      );
      await inbox.announce(CREATED, START, null);
      const now = START + IGNORE_AFTER_MS;
      expect(await claimIds(now, { ...READY, handledSince: START - 1 })).toEqual([]);
      await inbox.announce(READY, now, null);
      expect(await claimIds(now, READY)).toEqual(['ready']);
    });

    it('it is told of when it has waited for ten minutes, with who was seen last', async () => {
      await holding(created, { ...created, id: 'second' }, { id: 'ready', type: 'order.ready' });
      await inbox.announce(CREATED, START - 5, null);
      await inbox.announce(READY, START + 1, null);
      expect(await inbox.unhandled(START + PRESENT_MS - 6)).toEqual([]);
      expect(await inbox.unhandled(START + PRESENT_MS)).toEqual([
        { endpoint: 'shop-a', type: 'order.created', count: 2, more: false, since: new Date(START - 5) },
      ]);
      await inbox.announce(CREATED, START + PRESENT_MS, null);
      expect(await inbox.unhandled(START + PRESENT_MS)).toEqual([]);
    });

    it('it is told of whether its events were claimed before, wait for others or arrived just then', async () => {
      await holding({ ...created, entity: 'order' }, { ...created, id: 'behind', entity: 'order' });
      await inbox.announce(CREATED, START, null);
      const [first] = await claim(START, CREATED);
      expect(await claimIds(START, CREATED)).toEqual([]);
      await inbox.settle(leaseOf(first), { outcome: 'interrupted' }, START);
      await inbox.accept(incoming({ ...created, id: 'fresh', endpoint: 'shop-a', receivedAt: START }), later());
      expect(await inbox.unhandled(START + PRESENT_MS)).toMatchObject([{ type: 'order.created', count: 3 }]);
    });

    it('what nobody ever handled is not told of, unless no processor knows its endpoint', async () => {
      await holding(created, { ...created, id: 'elsewhere', endpoint: 'shop-b' });
      const now = START + PRESENT_MS;
      expect(await inbox.unhandled(now)).toEqual([]);
      await inbox.announce(READY, now, null);
      expect(await inbox.unhandled(now)).toEqual([
        { endpoint: 'shop-b', type: 'order.created', count: 1, more: false, since: null },
      ]);
    });

    it('what was ignored is counted by endpoint and type, with whether somebody handles it now', async () => {
      await holding(created, { ...created, id: 'second' }, { id: 'ready', type: 'order.ready' });
      await inbox.announce({ endpoints: ['shop-a'], types: ['cart.abandoned'] }, START + PRESENT_MS, START);
      const now = START + 2 * PRESENT_MS;
      const counted = { endpoint: 'shop-a', type: 'order.created', count: 2, more: false };
      expect(await inbox.ignoredSince(CREATED, START, now)).toEqual([{ ...counted, handled: false }]);
      await inbox.announce(CREATED, now, null);
      expect(await inbox.ignoredSince(CREATED, START, now)).toEqual([{ ...counted, handled: true }]);
      expect(await inbox.ignoredSince(CREATED, START + PRESENT_MS + 1, now)).toEqual([]);
      expect(await inbox.ignoredSince(SHOP_B, START, now)).toEqual([]);
      const all = await inbox.ignoredSince(EVERYWHERE, START, now);
      expect(all.map(({ type, count }) => [type, count])).toEqual([
        ['order.created', 2],
        ['order.ready', 1],
      ]);
    });
  });
}

async function states(): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries((await inbox.list()).map(({ id, state }) => [id, state]));
}

function at(ms: number): { readonly ms: number; readonly ns: number } {
  return { ms: START + ms, ns: 0 };
}
