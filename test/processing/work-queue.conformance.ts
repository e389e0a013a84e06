import { describe, expect, it, vi } from 'vitest';
import { TransactionError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent, Started } from '../../src/inbox/event.ts';
import { EVERYTHING, type AttemptError, type Lease, type Settlement, type StartRequest } from '../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { MAX_CRASHES } from '../../src/inbox/rules/attempt.ts';
import { incoming, invalidIncoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import {
  announce,
  at,
  claim,
  claimIds,
  claimOne,
  handleAll,
  inbox,
  KEY,
  LEASE_MS,
  leaseOf,
  openers,
  outcomes,
  PROCESSED,
  stateOf,
  store,
  type Claim,
  type Parts,
} from './inbox-under-test.ts';

const INTERRUPTED: Settlement = { outcome: 'interrupted' };
const ERROR: AttemptError = { name: 'Error', message: 'no such order', stack: 'Error: no such order\n    at handler' };
const dead = (reason: 'failed' | 'invalid' = 'failed'): Settlement => ({ outcome: 'dead', reason, error: ERROR });
const retry = (dueAt: number): Settlement => ({ outcome: 'retry', error: ERROR, dueAt });

/** `open` gives a new empty inbox for each test. */
export function testWorkQueue(name: string, open: () => Inbox): void {
  const { empty, holding } = openers(open);

  describe(name, () => {
    describe('a claim', () => {
      it('takes what was due first, and no more than its limit', async () => {
        await holding(
          { id: 'late', receivedAt: START + 20 },
          { id: 'early', receivedAt: START + 5 },
          { id: 'between', receivedAt: START + 10 },
        );
        expect(await claimIds(START + 100, { ordered: false, limit: 2 })).toEqual(['early', 'between']);
        expect(await claimIds(START + 100, { ordered: false, limit: 2 })).toEqual(['late']);
        expect(await claimIds(START + 100, { ordered: false, limit: 2 })).toEqual([]);
      });

      it('takes what was due at the same time in the order of arrival, whatever their types', async () => {
        const types = ['order.ready', 'cart.abandoned', 'order.created', 'cart.abandoned', 'order.ready'];
        await holding(...types.map((type, n) => ({ id: `evt_${n}`, type, entity: null, receivedAt: START })));
        const all = ['evt_0', 'evt_1', 'evt_2', 'evt_3', 'evt_4'];
        const named = [...new Set(types)];
        expect(await claimIds(START, { types: named, limit: 3 })).toEqual(all.slice(0, 3));
        expect(await claimIds(START, { types: '*', limit: 3 })).toEqual(all.slice(3));
      });

      it('takes nothing before it is due', async () => {
        await holding({ receivedAt: START + 10 });
        expect(await claimIds(START + 9)).toEqual([]);
        expect(await claimIds(START + 10)).toEqual(['evt_1']);
      });

      it('takes only the types it names', async () => {
        await holding(
          { id: 'order', type: 'order.created', entity: null },
          { id: 'cart', type: 'cart.abandoned', entity: null },
          { id: 'unknown', type: 'order.refunded', entity: null },
        );
        const now = START + 10;
        expect(await claimIds(now, { types: [] })).toEqual([]);
        expect(await claimIds(now, { types: ['order.ready'] })).toEqual([]);
        expect(await claimIds(now, { types: ['cart.abandoned', 'order.refunded'] })).toEqual(['cart', 'unknown']);
        expect(await claimIds(now, { types: ['order.created'] })).toEqual(['order']);
      });

      it('of * takes every type, unknown ones too', async () => {
        await holding(
          { id: 'order', type: 'order.created', entity: null },
          { id: 'unknown', type: 'order.refunded', entity: null },
          { id: 'odd', type: '*', entity: null },
        );
        expect(await claimIds(START + 10, { types: '*' })).toEqual(['order', 'unknown', 'odd']);
      });

      it('brings along what a handler is told', async () => {
        await holding({ endpoint: 'shop', id: 'evt_7', body: '{"n":7}', verified: false });
        const [claimed] = await claim(START);
        if (claimed === undefined) throw new Error('nothing was claimed');
        const { lease, body, ...told } = claimed;
        expect(Buffer.from(body).toString()).toBe('{"n":7}');
        expect(told).toEqual({
          endpoint: 'shop',
          id: 'evt_7',
          verified: false,
          receivedAt: new Date(START),
          attempt: 1,
          failures: 0,
          superseded: false,
        });
        expect(lease).toEqual({ seq: expect.any(Number), fence: expect.any(Number) });
        expect(await stateOf('evt_7', 'shop')).toBe('processing');
      });

      it('never takes what is invalid, processed or dead', async () => {
        await holding({ id: 'processed', entity: 'a' }, { id: 'dead', entity: 'b' });
        await inbox.accept(invalidIncoming({ id: 'invalid', type: 'order.created', receivedAt: START }), later());
        for (const claimed of await claim(START + 10)) {
          await inbox.settle(claimed.lease, claimed.id === 'dead' ? dead() : PROCESSED, START + 10);
        }
        expect((await inbox.list()).map(({ state }) => state)).toEqual(['processed', 'dead', 'dead']);
        expect(await claimIds(START + PRESENT_MS)).toEqual([]);
      });

      it('takes an event once, when several are made at the same time', async () => {
        await holding(...several(20));
        const claims = await Promise.all(Array.from({ length: 5 }, () => claimIds(START + 100, { limit: 6 })));
        const ids = claims.flat();
        expect(ids).toHaveLength(20);
        expect(new Set(ids)).toEqual(new Set(several(20).map(({ id }) => id)));
      });
    });

    describe('events of one entity', () => {
      it('are claimed one at a time', async () => {
        await holding({ id: 'first' }, { id: 'second' });
        const [first] = await claim(START + 10);
        expect(first?.id).toBe('first');
        expect(await claimIds(START + 10)).toEqual([]);
        await inbox.settle(leaseOf(first), PROCESSED, START + 20);
        expect(await claimIds(START + 20)).toEqual(['second']);
      });

      it('are claimed in the order they were created in, not in that of arrival', async () => {
        const order = [3, 1, 4, 0, 2];
        await holding(...order.map((at) => ({ id: `evt_${at}`, created: { ms: START + at, ns: 0 } })));
        expect(await handleAll()).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3', 'evt_4']);
      });

      it('are told apart by nanoseconds, and by a time before 1970', async () => {
        await holding(
          { id: 'third', created: { ms: 0, ns: 11 } },
          { id: 'second', created: { ms: 0, ns: 2 } },
          { id: 'first', created: { ms: -5, ns: 999_999 } },
        );
        expect(await handleAll()).toEqual(['first', 'second', 'third']);
      });

      it('created at the same instant are claimed in the order of arrival', async () => {
        const created = { ms: START, ns: 5 };
        await holding({ id: 'z', created }, { id: 'a', created }, { id: 'm', created });
        expect(await handleAll()).toEqual(['z', 'a', 'm']);
      });

      it('include an older one that arrives while newer ones wait: it goes next', async () => {
        await holding({ id: 'second', created: at(2) }, { id: 'third', created: at(3) });
        const [second] = await claim(START + 10);
        await store({ id: 'first', created: at(1) });
        expect(await claimIds(START + 10)).toEqual([]);
        await inbox.settle(leaseOf(second), PROCESSED, START + 20);
        expect(await handleAll(START + 20)).toEqual(['first', 'third']);
      });

      it.each([
        ['is processed', PROCESSED],
        ['is dead', dead()],
      ])('wait for an older one in backoff until that %s', async (_, end) => {
        await holding(...OLDER_AND_NEWER);
        await settleNext(START + 10, retry(START + 5_000));
        expect(await claimIds(START + 4_999)).toEqual([]);
        expect(await settleNext(START + 5_000, retry(START + 9_000))).toBe('older');
        expect(await claimIds(START + 8_999)).toEqual([]);
        expect(await settleNext(START + 9_000, end)).toBe('older');
        expect(await claimIds(START + 9_000)).toEqual(['newer']);
      });

      it('wait for an older one that was given back, and for one whose lease ran out', async () => {
        await holding(...OLDER_AND_NEWER);
        expect(await settleNext(START + 10, INTERRUPTED)).toBe('older');
        expect(await claimIds(START + 10)).toEqual(['older']);
        expect(await settleNext(START + 10 + LEASE_MS, PROCESSED)).toBe('older');
        expect(await claimIds(START + 10 + LEASE_MS)).toEqual(['newer']);
      });

      it('do not wait for an older one whose type nobody handles', async () => {
        empty();
        await announce(['order.ready'], START);
        await store(
          { id: 'untaken', type: 'order.created', created: at(1) },
          { id: 'taken', type: 'order.ready', created: at(2) },
          { id: 'untaken too', type: 'order.created', created: at(3) },
          { id: 'taken too', type: 'order.ready', created: at(4) },
        );
        const types = ['order.ready'];
        expect(await claimIds(START + 10, { types })).toEqual(['taken']);
        expect(await settleNext(START + 10 + LEASE_MS, PROCESSED, { types })).toBe('taken');
        expect(await claimIds(START + 10 + LEASE_MS, { types })).toEqual(['taken too']);
      });

      it('do wait for an older one whose type another processor handles', async () => {
        empty();
        await announce(['order.ready'], START);
        await announce(['order.created'], START);
        await store(...OF_TWO_TYPES);
        expect(await claimIds(START + 10, { types: ['order.ready'] })).toEqual([]);
        expect(await settleNext(START + 10, PROCESSED, { types: ['order.created'] })).toBe('older');
        expect(await claimIds(START + 10, { types: ['order.ready'] })).toEqual(['newer']);
      });

      it('do wait for an older one of an unknown type that the * of another processor handles', async () => {
        await holding(
          { id: 'older', type: 'order.refunded', created: at(1) },
          { id: 'newer', type: 'order.ready', created: at(2) },
        );
        expect(await claimIds(START + 10, { types: ['order.ready'] })).toEqual([]);
      });

      it('no longer wait for an older one whose taker was last seen ten minutes ago', async () => {
        empty();
        await announce(['order.created'], START);
        await store(...OF_TWO_TYPES);
        expect(await claimIds(START + PRESENT_MS, { types: ['order.ready'] })).toEqual(['newer']);
      });

      it('no longer wait for it either when they were found waiting before', async () => {
        empty();
        await announce(['order.created'], START);
        await store(...OF_TWO_TYPES);
        expect(await claimIds(START + PRESENT_MS - 1, { types: ['order.ready'] })).toEqual([]);
        await announce(['order.ready'], START + PRESENT_MS);
        expect(await claimIds(START + PRESENT_MS, { types: ['order.ready'] })).toEqual(['newer']);
      });

      it('go on when an older one they waited for is ignored', async () => {
        empty();
        await announce(['order.created'], START);
        await store(...OF_TWO_TYPES);
        expect(await claimIds(START + 10, { types: ['order.ready'] })).toEqual([]);
        const now = START + IGNORE_AFTER_MS + 10;
        await announce(['order.ready'], now, now - PRESENT_MS);
        expect(await stateOf('older')).toBe('ignored');
        expect(await claimIds(now, { types: ['order.ready'] })).toEqual(['newer']);
      });

      it('are those of one endpoint: the same order at another stands apart', async () => {
        await holding({ id: 'one', endpoint: 'shop' }, { id: 'two', endpoint: 'market' });
        expect(await claimIds(START + 10)).toEqual(['one', 'two']);
      });

      it('do not hold back those of another entity', async () => {
        await holding(
          { id: 'a1', entity: 'a' },
          { id: 'a2', entity: 'a' },
          { id: 'b1', entity: 'b' },
          { id: 'b2', entity: 'b' },
        );
        expect(await claimIds(START + 10)).toEqual(['a1', 'b1']);
      });

      it('are claimed side by side and as they fall due with ordered: false', async () => {
        await holding({ id: 'second', created: at(2) }, { id: 'first', created: at(1) });
        expect(await claimIds(START + 10, { ordered: false })).toEqual(['second', 'first']);
      });

      it('go on when one that they wait for is replaced by a body about another entity', async () => {
        await holding(
          { id: 'moving', created: at(1), body: 'unsigned', verified: false },
          { id: 'waiting', created: at(2) },
        );
        expect(await claimIds(START + 10, { limit: 2 })).toEqual(['moving']);
        expect(await settleNext(START + 10 + LEASE_MS, INTERRUPTED)).toBe('moving');
        const signed = incoming({ id: 'moving', created: at(1), entity: 'order::ord_2', body: 'signed' });
        expect(await inbox.accept(signed, later())).toMatchObject({ replaced: true });
        expect((await handleAll(START + 2_000)).toSorted()).toEqual(['moving', 'waiting']);
      });

      it('go on when one that they wait for is replaced by a body that was created after them', async () => {
        await holding(
          { id: 'moving', created: at(1), body: 'unsigned', verified: false },
          { id: 'waiting', created: at(2) },
        );
        expect(await claimIds(START + 10, { limit: 2 })).toEqual(['moving']);
        expect(await settleNext(START + 10 + LEASE_MS, INTERRUPTED)).toBe('moving');
        const signed = incoming({ id: 'moving', created: at(3), body: 'signed' });
        expect(await inbox.accept(signed, later())).toMatchObject({ replaced: true });
        expect(await handleAll(START + 2_000)).toEqual(['waiting', 'moving']);
      });
    });

    it('events without an entity are in no order, and wait for nobody', async () => {
      await holding(
        { id: 'second', entity: null, created: at(2) },
        { id: 'first', entity: null, created: at(1) },
        { id: 'third', entity: null, created: at(3) },
      );
      expect(await claimIds(START + 10)).toEqual(['second', 'first', 'third']);
    });

    describe('a lease', () => {
      it('holds until it runs out; then the event is claimed again, and the attempt was a crash', async () => {
        await holding({});
        await claim(START);
        expect(await claimIds(START + LEASE_MS - 1)).toEqual([]);
        const [again] = await claim(START + LEASE_MS);
        expect(again).toMatchObject({ id: 'evt_1', attempt: 2, failures: 0 });
        expect(await outcomes()).toEqual(['crashed']);
      });

      it('that ran out frees the entity for an event of another processor', async () => {
        empty();
        await announce(['order.ready'], START);
        await store(...OF_TWO_TYPES);
        expect(await claimIds(START + 10, { types: ['order.created'] })).toEqual(['older']);
        expect(await claimIds(START + 10, { types: ['order.ready'] })).toEqual([]);
        expect(await claimIds(START + 10 + LEASE_MS, { types: ['order.ready'] })).toEqual(['newer']);
      });

      it('is extended by renewing it, as long as it is held', async () => {
        await holding({ id: 'kept', entity: 'a' }, { id: 'left', entity: 'b' });
        const [kept, left] = await claim(START + 1);
        expect(await inbox.renew([leaseOf(kept)], START + 900, LEASE_MS)).toEqual([leaseOf(kept)]);
        const now = START + 1 + LEASE_MS;
        expect(await claimIds(now)).toEqual(['left']);
        expect(await inbox.renew([leaseOf(kept), leaseOf(left)], now, LEASE_MS)).toEqual([leaseOf(kept)]);
        expect(await inbox.settle(leaseOf(kept), PROCESSED, now + LEASE_MS - 1)).toBe(true);
      });

      it('comes back from its renewal as the very one that was given', async () => {
        await holding({});
        const [claimed] = await claim(START);
        const lease = leaseOf(claimed);
        expect((await inbox.renew([lease], START, LEASE_MS))[0]).toBe(lease);
      });

      it('that has run out is renewed all the same, until somebody has taken the event over', async () => {
        await holding({});
        const [claimed] = await claim(START);
        const late = START + 3_600_000;
        expect(await inbox.renew([leaseOf(claimed)], late, LEASE_MS)).toEqual([leaseOf(claimed)]);
        expect(await claimIds(late + LEASE_MS - 1)).toEqual([]);
        expect(await claimIds(late + LEASE_MS)).toEqual(['evt_1']);
        expect(await inbox.renew([leaseOf(claimed)], late + LEASE_MS, LEASE_MS)).toEqual([]);
      });

      it.each<[string, Settlement, string]>([
        ['processed', PROCESSED, 'processed'],
        ['retry', retry(START), 'pending'],
        ['dead', dead(), 'dead'],
        ['interrupted', INTERRUPTED, 'pending'],
      ])(
        'that has run out still ends the attempt, until somebody has taken the event over: %s',
        async (_, end, state) => {
          await holding({});
          const [claimed] = await claim(START);
          expect(await inbox.settle(leaseOf(claimed), end, START + 3_600_000)).toBe(true);
          expect([await stateOf(), (await outcomes()).includes('crashed')]).toEqual([state, false]);
        },
      );

      it('that has run out still commits, until somebody has taken the event over', async () => {
        await holding({});
        const [claimed] = await claim(START);
        const { signal } = new AbortController();
        await inbox.transaction(leaseOf(claimed), () => {}, { now: () => START + 3_600_000, signal });
        expect([await stateOf(), await outcomes()]).toEqual(['processed', ['processed']]);
      });

      it('of whoever claims is renewed when it has run out: who claims has not crashed', async () => {
        await holding({ id: 'own', entity: 'a' }, { id: 'of another', entity: 'b' });
        const [own] = await claim(START + 1);
        const now = START + 3_600_000;
        expect(await claimIds(now, { holds: [leaseOf(own)] })).toEqual(['of another']);
        expect(await claimIds(now + LEASE_MS - 1)).toEqual([]);
        expect(await inbox.settle(leaseOf(own), PROCESSED, now + LEASE_MS - 1)).toBe(true);
        expect([await outcomes('own'), await outcomes('of another')]).toEqual([['processed'], ['crashed']]);
      });

      it("that whoever claims holds under an older fence is nobody's", async () => {
        await holding({});
        const [lost] = await claim(START);
        await claim(START + LEASE_MS);
        expect(await claimIds(START + 2 * LEASE_MS, { holds: [leaseOf(lost)] })).toEqual(['evt_1']);
        expect(await outcomes()).toEqual(['crashed', 'crashed']);
      });

      it('of others is left to them when whoever claims cannot tell whether they live', async () => {
        await holding({});
        const [claimed] = await claim(START);
        const now = START + 3_600_000;
        expect(await claimIds(now, { expiredBy: START + LEASE_MS - 1 })).toEqual([]);
        expect(await claimOne(KEY, now, { expiredBy: START })).toBe('busy');
        expect(await inbox.renew([leaseOf(claimed)], now, LEASE_MS)).toHaveLength(1);
        expect(await claimIds(now + LEASE_MS, { expiredBy: now + LEASE_MS })).toEqual(['evt_1']);
      });

      it('that was given up cannot be renewed', async () => {
        await holding({});
        const [claimed] = await claim(START);
        await inbox.settle(leaseOf(claimed), PROCESSED, START);
        expect(await inbox.renew([leaseOf(claimed), { seq: 99, fence: 1 }], START, LEASE_MS)).toEqual([]);
        expect(await inbox.renew([], START, LEASE_MS)).toEqual([]);
      });
    });

    describe('whoever has lost a lease', () => {
      const settlements: readonly Settlement[] = [PROCESSED, retry(START), dead(), dead('invalid'), INTERRUPTED];
      const losses: readonly [string, (lease: Lease) => Promise<unknown>, number][] = [
        ['to another claim', () => claim(START + LEASE_MS), START + LEASE_MS + 1],
        ['by settling it', (lease) => settleLease(lease, START + 1), START + 2],
      ];

      for (const [how, lose, now] of losses) {
        it.each(settlements)(`${how} cannot end the attempt: $outcome`, async (settlement) => {
          await holding({});
          const [claimed] = await claim(START);
          await lose(leaseOf(claimed));
          const before = await everythingOf();
          expect(await inbox.settle(leaseOf(claimed), settlement, now)).toBe(false);
          expect(await everythingOf()).toEqual(before);
        });

        it(`${how} cannot run a transaction: its function is not called`, async () => {
          await holding({});
          const [claimed] = await claim(START);
          await lose(leaseOf(claimed));
          const before = await everythingOf();
          const work = vi.fn();
          const { signal } = new AbortController();
          const failure: unknown = await inbox
            .transaction(leaseOf(claimed), work, { now: () => now, signal })
            .catch((thrown: unknown) => thrown);
          expect(failure).toBeInstanceOf(TransactionError);
          expect(failure).toMatchObject({ code: 'LEASE_LOST' });
          expect(work).not.toHaveBeenCalled();
          expect(await everythingOf()).toEqual(before);
        });
      }

      it('cannot note an error on the attempt of whoever has it now', async () => {
        await holding({});
        const [lost] = await claim(START);
        expect(await settleNext(START + LEASE_MS, PROCESSED)).toBe('evt_1');
        const before = await everythingOf();
        expect(await inbox.settle(leaseOf(lost), { outcome: 'committed', error: ERROR }, START + LEASE_MS)).toBe(false);
        expect(await everythingOf()).toEqual(before);
      });

      it('does not hold up whoever has it now', async () => {
        await holding({});
        const [lost] = await claim(START);
        const [current] = await claim(START + LEASE_MS);
        await inbox.settle(leaseOf(lost), dead(), START + LEASE_MS);
        expect(await inbox.renew([leaseOf(current)], START + LEASE_MS, LEASE_MS)).toHaveLength(1);
        expect(await inbox.settle(leaseOf(current), PROCESSED, START + LEASE_MS)).toBe(true);
        expect(await stateOf()).toBe('processed');
      });
    });

    describe('when the clock is set back by an hour', () => {
      const THEN = START + 3_600_000;

      it('a lease of one who has gone lasts no longer than it would have', async () => {
        await holding({ receivedAt: THEN });
        await claim(THEN);
        expect(await claimIds(START)).toEqual([]);
        expect(await claimIds(START + LEASE_MS - 1)).toEqual([]);
        expect(await claimIds(START + LEASE_MS)).toEqual(['evt_1']);
        expect(await outcomes()).toEqual(['crashed']);
      });

      it('nor does it for a single delivery', async () => {
        await holding({ receivedAt: THEN });
        await claimOne(KEY, THEN);
        expect(await claimOne(KEY, START)).toBe('busy');
        expect(await claimOne(KEY, START + LEASE_MS)).toMatchObject({ attempt: 2 });
      });

      it('a lease that is longer than those of whoever claims stays one', async () => {
        await holding({ receivedAt: THEN });
        const [claimed] = await claim(THEN, { leaseMs: 60_000 });
        expect(await claimIds(START)).toEqual([]);
        expect(await claimIds(START + 59_999)).toEqual([]);
        expect(await inbox.renew([leaseOf(claimed)], START + 60_000, 60_000)).toHaveLength(1);
        expect(await claimIds(START + 60_000)).toEqual([]);
      });

      it('a lease that its holder renews stays one, also when it had almost run out', async () => {
        await holding({ receivedAt: THEN });
        const [claimed] = await claim(THEN);
        await inbox.renew([], THEN + 60_000, LEASE_MS); // somebody else, before the clock was set
        expect(await claimIds(START)).toEqual([]);
        expect(await claimIds(START + LEASE_MS - 1)).toEqual([]);
        expect(await inbox.renew([leaseOf(claimed)], START + LEASE_MS - 1, LEASE_MS)).toHaveLength(1);
        expect(await claimIds(START + LEASE_MS)).toEqual([]);
      });

      it('a retry waits no longer than it would have, and no shorter', async () => {
        await holding({ receivedAt: THEN });
        await settleNext(THEN, retry(THEN + 7_000));
        expect(await claimIds(START)).toEqual([]);
        expect(await inbox.nextDue(EVERYTHING)).toBe(START + 7_000);
        expect(await claimIds(START + 6_999)).toEqual([]);
        expect(await claimIds(START + 7_000)).toEqual(['evt_1']);
      });

      it('what was due is due', async () => {
        await holding(...several(3).map((event) => ({ ...event, receivedAt: THEN })));
        expect(await claimIds(THEN, { limit: 1 })).toEqual(['evt_0']);
        expect(await claimIds(START)).toEqual(['evt_1', 'evt_2']);
      });

      it('what arrived before it is due, also when no processor has looked since', async () => {
        empty();
        await store({ receivedAt: THEN });
        expect(await claimIds(START)).toEqual(['evt_1']);
      });

      it('what was given back, rerun or replaced is due', async () => {
        await holding({ id: 'back', entity: 'a', receivedAt: THEN });
        expect(await settleNext(THEN, INTERRUPTED)).toBe('back');
        await store({ id: 'rerun', entity: 'b', receivedAt: THEN + 1 });
        expect(await claimIds(THEN + 10, { limit: 1 })).toEqual(['back']);
        expect(await settleNext(THEN + 10, dead())).toBe('rerun');
        await inbox.rerun({ endpoint: 'default', id: 'rerun' }, { ...contentOf(incoming()), entity: 'b' }, THEN + 20);
        await inbox.accept(invalidIncoming({ id: 'mended', receivedAt: THEN }), later());
        await inbox.accept(incoming({ id: 'mended', entity: 'c', receivedAt: START }), later());
        expect(await claimIds(START)).toEqual(['mended']);
        expect(await claimIds(START + 20)).toEqual(['rerun']);
        expect(await claimIds(START + LEASE_MS + 10)).toContain('back');
      });

      it('what waited for an older event of its entity goes on when that is done', async () => {
        await holding(
          { id: 'older', receivedAt: THEN, created: at(1) },
          { id: 'newer', receivedAt: THEN, created: at(2) },
        );
        const [older] = await claim(THEN);
        expect(await claimIds(START)).toEqual([]);
        expect(await inbox.settle(leaseOf(older), PROCESSED, START)).toBe(true);
        expect(await claimIds(START)).toEqual(['newer']);
      });

      it('and again, each time is made good', async () => {
        await holding({ receivedAt: THEN + 3_600_000 });
        await settleNext(THEN + 3_600_000, retry(THEN + 3_600_000 + 7_000));
        expect(await claimIds(THEN)).toEqual([]);
        expect(await claimIds(START)).toEqual([]);
        expect(await claimIds(START + 7_000)).toEqual(['evt_1']);
      });

      it('it is not minded when it is but a few seconds', async () => {
        await holding({ receivedAt: THEN });
        await settleNext(THEN, retry(THEN + 7_000));
        expect(await claimIds(THEN - 3_000)).toEqual([]);
        expect(await inbox.nextDue(EVERYTHING)).toBe(THEN + 7_000);
      });
    });

    describe('a suspect, which has a crash behind it,', () => {
      it('runs when no other suspect does, beside any number of others', async () => {
        await holding(...several(3));
        await claim(START + 10);
        const now = START + 10 + LEASE_MS;
        await store({ id: 'fresh', entity: 'fresh', receivedAt: now }, { id: 'new', entity: 'new', receivedAt: now });
        const [suspect, ...others] = await claim(now);
        expect([suspect?.id, ...others.map(({ id }) => id)]).toEqual(['evt_0', 'fresh', 'new']);
        expect(await claimIds(now)).toEqual([]);
        await inbox.settle(leaseOf(suspect), PROCESSED, now);
        expect(await claimIds(now)).toEqual(['evt_1']);
      });

      it('does not keep a claim from what comes after it', async () => {
        await holding(...several(5));
        await claim(START + 10);
        const now = START + 10 + LEASE_MS;
        await store({ id: 'fresh', entity: 'fresh', receivedAt: now + 1 });
        expect(await claimIds(now + 1, { limit: 1 })).toEqual(['evt_0']);
        expect(await claimIds(now + 1, { limit: 1 })).toEqual(['fresh']);
      });

      it(`is dead(crashed) at its crash number ${MAX_CRASHES}, and is claimed no more`, async () => {
        await holding({}, { id: 'newer', created: at(9_999_999) });
        let now = START;
        for (let crash = 1; crash <= MAX_CRASHES; crash += 1) {
          expect(await claimIds(now)).toEqual(['evt_1']);
          expect(await stateOf()).toBe('processing');
          now += LEASE_MS;
        }
        expect(await claimIds(now)).toEqual(['newer']);
        expect(await inbox.get(KEY)).toMatchObject({
          state: 'dead',
          deadReason: 'crashed',
        });
        expect(await outcomes()).toEqual(['crashed', 'crashed', 'crashed']);
      });

      it('is not closer to that by failing, or by being interrupted', async () => {
        await holding({});
        await claim(START);
        const now = START + LEASE_MS;
        expect(await settleNext(now, retry(now))).toBe('evt_1');
        expect(await settleNext(now, INTERRUPTED)).toBe('evt_1');
        expect(await settleNext(now, retry(now))).toBe('evt_1');
        await claim(now);
        expect(await claimIds(now + LEASE_MS)).toEqual(['evt_1']);
        expect(await outcomes()).toEqual(['crashed', 'failed', 'interrupted', 'failed', 'crashed']);
      });

      it('leaves those alone that were running beside it: they are never dead for its crashes', async () => {
        await holding(...several(12));
        const poison = 'evt_0';
        let now = START + 100;
        for (let round = 0; round < 60; round += 1) {
          const claimed = await claim(now, { limit: 4 });
          if (claimed.length === 0) break;
          if (claimed.some(({ id }) => id === poison)) now += LEASE_MS;
          else for (const { lease } of claimed) await inbox.settle(lease, PROCESSED, now);
        }
        const states = (await inbox.list()).map(({ id, state, deadReason }) => [id, state, deadReason]);
        expect(states).toEqual(
          several(12).map(({ id }) => (id === poison ? [id, 'dead', 'crashed'] : [id, 'processed', null])),
        );
      });
    });

    it('an attempt that was interrupted does not count, however often', async () => {
      await holding({});
      for (let n = 1; n <= 25; n += 1) {
        const [claimed] = await claim(START);
        expect(claimed).toMatchObject({ attempt: n, failures: 0 });
        await inbox.settle(leaseOf(claimed), INTERRUPTED, START);
      }
      expect(await stateOf()).toBe('pending');
      expect(new Set(await outcomes())).toEqual(new Set(['interrupted']));
    });

    describe('the attempts of an event', () => {
      it('are kept in their order with trigger, outcome, times and error', async () => {
        await holding({});
        const t = (seconds: number): number => START + seconds * 10_000;
        const long = 5_000;
        await settleNext(t(0), retry(t(1)), {}, t(0) + 7);
        await claim(t(1));
        await settleNext(t(2), dead(), { leaseMs: long }, t(2) + long - 1);
        await inbox.rerun(KEY, contentOf(incoming()), t(3));
        await settleNext(t(3), INTERRUPTED);
        await settleNext(t(4), PROCESSED);
        const attempt = (
          number: number,
          trigger: string,
          outcome: string,
          from: number,
          to: number,
          error: unknown,
        ) => ({
          number,
          trigger,
          outcome,
          startedAt: new Date(from),
          endedAt: new Date(to),
          error,
        });
        expect(await inbox.attempts(KEY)).toEqual([
          attempt(1, 'auto', 'failed', t(0), t(0) + 7, ERROR),
          attempt(2, 'auto', 'crashed', t(1), t(2), null),
          attempt(3, 'auto', 'failed', t(2), t(2) + long - 1, ERROR),
          attempt(4, 'manual', 'interrupted', t(3), t(3), null),
          attempt(5, 'auto', 'processed', t(4), t(4), null),
        ]);
      });

      it('are none for an event that was never run, and for one that nobody sent', async () => {
        await holding({});
        expect(await inbox.attempts(KEY)).toEqual([]);
        expect(await inbox.attempts({ endpoint: 'other', id: 'evt_1' })).toEqual([]);
      });

      it('show what was thrown after a success, which stays one', async () => {
        await holding({});
        const [claimed] = await claim(START);
        await inbox.transaction(leaseOf(claimed), () => {}, { now: () => START, signal: new AbortController().signal });
        await inbox.settle(leaseOf(claimed), { outcome: 'committed', error: ERROR }, START);
        expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed', error: ERROR }]);
        expect(await stateOf()).toBe('processed');
      });

      it('may have an error without a stack, and one with no words', async () => {
        await holding({});
        const error = { name: 'string', message: '', stack: null };
        await settleNext(START, { outcome: 'retry', error, dueAt: START });
        expect(await inbox.attempts(KEY)).toMatchObject([{ error }]);
      });
    });

    describe('an event is superseded', () => {
      it('when a newer one of its entity was processed before', async () => {
        await holding({ id: 'newer', created: at(2) });
        await settleNext(START, PROCESSED);
        await store({ id: 'older', created: at(1) }, { id: 'newest', created: { ...at(2), ns: 1 } });
        const [older] = await claim(START + 10);
        expect(older).toMatchObject({ id: 'older', superseded: true });
        await inbox.settle(leaseOf(older), PROCESSED, START + 10);
        expect(await claim(START + 10)).toMatchObject([{ id: 'newest', superseded: false }]);
      });

      it('even after the newer one was pruned', async () => {
        await holding({ id: 'newer', created: at(2) });
        await settleNext(START, PROCESSED);
        expect(await inbox.prune('*', START + 1, 10)).toBe(1);
        await store({ id: 'older', created: at(1) });
        expect(await claim(START + 10)).toMatchObject([{ id: 'older', superseded: true }]);
      });

      it('even after a still older one was processed late', async () => {
        await holding({ id: 'third', created: at(3) });
        await settleNext(START, PROCESSED);
        await store({ id: 'first', created: at(1) });
        await settleNext(START + 10, PROCESSED);
        await store({ id: 'second', created: at(2) });
        expect(await claim(START + 10)).toMatchObject([{ id: 'second', superseded: true }]);
      });

      it('not by one that was created at the same instant', async () => {
        await holding({ id: 'one', created: { ms: START, ns: 7 } });
        await settleNext(START, PROCESSED);
        await store({ id: 'other', created: { ms: START, ns: 7 } });
        expect(await claim(START + 10)).toMatchObject([{ id: 'other', superseded: false }]);
      });

      it.each([
        ['that only failed', dead(), {}],
        ['of another entity', PROCESSED, { entity: 'order::ord_2' }],
        ['of another endpoint', PROCESSED, { endpoint: 'market' }],
        ['without an entity', PROCESSED, { entity: null }],
      ])('not by a newer one %s', async (_, end, parts) => {
        await holding({ id: 'newer', created: at(2), ...parts });
        await settleNext(START, end);
        await store({ id: 'older', created: at(1) });
        expect(await claim(START + 10)).toMatchObject([{ id: 'older', superseded: false }]);
      });

      it.each([
        ['settled', async (lease: Lease) => void (await inbox.settle(lease, PROCESSED, START))],
        [
          'by its transaction',
          async (lease: Lease) => {
            await inbox.transaction(lease, () => {}, { now: () => START, signal: new AbortController().signal });
            await inbox.settle(lease, { outcome: 'committed' }, START);
          },
        ],
      ])('not by one that was created more than a day ahead, %s, but by one that says less', async (_, end) => {
        const day = 86_400_000;
        for (const [ahead, superseded] of [
          [10 * 365 * day, false],
          [day + 1, false],
          [day, true],
        ] as const) {
          await holding({ id: 'ahead', created: { ms: START + ahead, ns: 0 } });
          const [claimed] = await claim(START);
          await end(leaseOf(claimed));
          await store({ id: 'later', created: { ms: START + 5, ns: 0 } });
          expect(await claim(START + 10)).toMatchObject([{ id: 'later', superseded }]);
        }
      });

      it('never when it has no entity', async () => {
        await holding({ id: 'newer', entity: null, created: at(2) });
        await settleNext(START, PROCESSED);
        await store({ id: 'older', entity: null, created: at(1) });
        expect(await claim(START + 10)).toMatchObject([{ id: 'older', superseded: false }]);
      });
    });

    it('a retry is due at its time and not before, with the failures so far', async () => {
      await holding({});
      expect(await settleNext(START, retry(START + 500))).toBe('evt_1');
      expect(await claimIds(START + 499)).toEqual([]);
      const [second] = await claim(START + 500);
      expect(second).toMatchObject({ attempt: 2, failures: 1 });
      await inbox.settle(leaseOf(second), retry(START + 600), START + 500);
      expect(await claim(START + 600)).toMatchObject([{ attempt: 3, failures: 2 }]);
    });

    describe('the next time that something is due', () => {
      it('is never when there is nothing', async () => {
        await holding();
        expect([await inbox.nextDue(EVERYTHING), await inbox.nextDue({ endpoints: '*', types: [] })]).toEqual([
          null,
          null,
        ]);
      });

      it('is that of the first event of the types in question', async () => {
        await holding(
          { id: 'order', type: 'order.created', entity: 'a', receivedAt: START + 30 },
          { id: 'cart', type: 'cart.abandoned', entity: 'b', receivedAt: START + 20 },
          { id: 'unknown', type: 'order.refunded', entity: 'c', receivedAt: START + 10 },
        );
        // A processor that looks for work has looked at what has arrived since.
        expect(await claimIds(START)).toEqual([]);
        expect(await inbox.nextDue(EVERYTHING)).toBe(START + 10);
        expect(await inbox.nextDue({ endpoints: '*', types: ['order.created', 'cart.abandoned'] })).toBe(START + 20);
        expect(await inbox.nextDue({ endpoints: '*', types: ['order.created'] })).toBe(START + 30);
        expect(await inbox.nextDue({ endpoints: '*', types: ['order.ready'] })).toBeNull();
      });

      it('is that of a retry, of a lease that runs out, and of neither once they have ended', async () => {
        await holding({});
        const [claimed] = await claim(START);
        expect(await inbox.nextDue(EVERYTHING)).toBe(START + LEASE_MS);
        expect(await inbox.nextDue({ endpoints: '*', types: ['order.ready'] })).toBe(START + LEASE_MS);
        await inbox.settle(leaseOf(claimed), retry(START + 70), START);
        expect(await inbox.nextDue(EVERYTHING)).toBe(START + 70);
        await settleNext(START + 70, dead());
        expect(await inbox.nextDue(EVERYTHING)).toBeNull();
      });
    });

    describe('an event whose type nobody handles', () => {
      const untaken = { id: 'untaken', type: 'order.refunded', entity: null };

      it('is ignored once it has been due for ten minutes', async () => {
        empty();
        await store(untaken);
        await announce(['order.created'], START + PRESENT_MS - 1, START - 1);
        expect(await stateOf('untaken')).toBe('pending');
        await announce(['order.created'], START + PRESENT_MS, START);
        expect(await stateOf('untaken')).toBe('ignored');
        expect(await claimIds(START + PRESENT_MS)).toEqual([]);
      });

      it('is left alone by a processor that has not been up for so long itself', async () => {
        empty();
        await store(untaken);
        await announce(['order.created'], START + 3 * PRESENT_MS);
        expect(await stateOf('untaken')).toBe('pending');
      });

      it.each([
        ['its type', ['order.refunded']],
        ['every type', '*' as const],
      ])('is left alone while another processor handles %s', async (_, types) => {
        empty();
        await store(untaken);
        await announce(types, START + 1);
        await announce(['order.created'], START + PRESENT_MS, START);
        expect(await stateOf('untaken')).toBe('pending');
        const later = START + IGNORE_AFTER_MS + 1;
        await announce(['order.created'], later, later - PRESENT_MS);
        expect(await stateOf('untaken')).toBe('ignored');
      });

      it('is brought back by a rerun, and then waits ten minutes again', async () => {
        empty();
        await store(untaken);
        const now = START + PRESENT_MS;
        await announce(['order.created'], now, START);
        const content = { type: 'order.refunded', created: at(0), entity: null };
        expect(await inbox.rerun({ endpoint: 'default', id: 'untaken' }, content, now)).toBe(true);
        await announce(['order.created'], now + 1, START + 1);
        expect(await stateOf('untaken')).toBe('pending');
        expect(await claimIds(now + 1)).toEqual(['untaken']);
      });

      it('is no more ignored when it waits for a retry, runs, or was settled', async () => {
        empty();
        await store(...['retry', 'running', 'processed', 'dead'].map((id) => ({ ...untaken, id })));
        for (const { id, lease } of await claim(START + 10)) {
          if (id === 'retry') await inbox.settle(lease, retry(START + 2 * PRESENT_MS), START + 10);
          if (id === 'processed') await inbox.settle(lease, PROCESSED, START + 10);
          if (id === 'dead') await inbox.settle(lease, dead(), START + 10);
        }
        await announce(['order.created'], START + 2 * PRESENT_MS, START + PRESENT_MS);
        expect((await inbox.list()).map(({ state }) => state)).toEqual(['pending', 'processing', 'processed', 'dead']);
      });
    });

    describe('a rerun', () => {
      const content = contentOf(incoming());

      it('brings a dead event back: due at once, its failures forgotten, its attempts kept', async () => {
        await holding({});
        await settleNext(START, retry(START));
        await settleNext(START, dead());
        expect(await inbox.rerun(KEY, content, START + 500)).toBe(true);
        expect(await inbox.get(KEY)).toMatchObject({ state: 'pending', deadReason: null });
        expect(await claim(START + 500)).toMatchObject([{ attempt: 3, failures: 0 }]);
      });

      it('brings a crashed event back as no suspect any more', async () => {
        await holding({});
        let now = START + 10;
        for (let crash = 0; crash < MAX_CRASHES; crash += 1) {
          expect(await claimIds(now)).toEqual(['evt_1']);
          now += LEASE_MS;
        }
        expect(await claimIds(now)).toEqual([]);
        expect(await stateOf()).toBe('dead');
        expect(await inbox.rerun(KEY, content, now)).toBe(true);
        expect(await claimIds(now)).toEqual(['evt_1']);
        expect(await claimIds(now + LEASE_MS)).toEqual(['evt_1']);
        expect(await stateOf()).toBe('processing');
      });

      it("takes what today's schemas make of the body: an invalid event gets a type, a time and an entity", async () => {
        await holding({ id: 'newer', created: at(2) });
        await inbox.accept(invalidIncoming({ receivedAt: START }), later());
        const mended = { type: 'order.ready', created: at(1), entity: 'order::ord_1' };
        expect(await inbox.rerun(KEY, mended, START + 10)).toBe(true);
        expect(await inbox.get(KEY)).toMatchObject({ ...mended, state: 'pending', deadReason: null });
        expect(await handleAll(START + 10)).toEqual(['evt_1', 'newer']);
      });

      it('puts the event back into the order of its entity', async () => {
        await holding({}, { id: 'newer', created: at(1) }, { id: 'newest', created: at(2) });
        await settleNext(START + 10, dead());
        const [newer] = await claim(START + 10);
        expect(newer?.id).toBe('newer');
        await inbox.rerun(KEY, content, START + 10);
        expect(await claimIds(START + 10)).toEqual([]);
        await inbox.settle(leaseOf(newer), PROCESSED, START + 20);
        expect(await claim(START + 20)).toMatchObject([{ id: 'evt_1', superseded: true }]);
      });

      it.each([
        ['pending', async () => {}],
        ['processing', () => claim(START)],
        ['processed', () => settleNext(START, PROCESSED)],
      ])('changes nothing about a %s event, and says so', async (state, prepare) => {
        await holding({});
        await prepare();
        const before = await everythingOf();
        expect(await inbox.rerun(KEY, content, START + 1)).toBe(false);
        expect(await everythingOf()).toEqual(before);
        expect(await stateOf()).toBe(state);
      });

      it('of an event that nobody sent, or of a tombstone, says no', async () => {
        await holding({});
        expect(await inbox.rerun({ endpoint: 'default', id: 'evt_9' }, content, START)).toBe(false);
        expect(await inbox.rerun({ endpoint: 'other', id: 'evt_1' }, content, START)).toBe(false);
        await settleNext(START, PROCESSED);
        await inbox.prune('*', START + 1, 1);
        expect(await inbox.rerun(KEY, content, START)).toBe(false);
        expect(await stateOf()).toBe('processed');
      });
    });

    describe('pruning', () => {
      it('makes tombstones of what was processed before, in batches', async () => {
        await holding(...several(5), { id: 'later', entity: 'later' });
        for (const { id, lease } of await claim(START + 10)) {
          await inbox.settle(lease, PROCESSED, id === 'later' ? START + 20 : START + 19);
        }
        expect(await inbox.prune('*', START + 20, 2)).toBe(2);
        expect(await bodiless()).toHaveLength(2);
        expect(await inbox.prune('*', START + 20, 2)).toBe(2);
        expect(await inbox.prune('*', START + 20, 2)).toBe(1);
        expect(await inbox.prune('*', START + 20, 2)).toBe(0);
        expect(await bodiless()).toEqual(several(5).map(({ id }) => id));
      });

      it('keeps what a tombstone needs to tell a redelivery from an event that is new', async () => {
        await holding({ body: 'first' });
        await settleNext(START, PROCESSED);
        await inbox.prune('*', START + 1, 10);
        const again = await inbox.accept(incoming({ body: 'first', receivedAt: START + 9 }), later());
        expect(again).toEqual({ result: 'duplicate', conflict: false, replaced: false });
        expect(await claimIds(START + 10)).toEqual([]);
        expect(await inbox.list()).toHaveLength(1);
        expect(await inbox.get(KEY)).toMatchObject({
          state: 'processed',
          body: null,
          redeliveries: { count: 1 },
        });
      });

      it('takes with it what errors said, and other bodies under the id', async () => {
        await holding({ body: 'first' });
        await inbox.accept(incoming({ body: 'other', receivedAt: START }), later());
        await settleNext(START, retry(START));
        await settleNext(START, PROCESSED);
        await inbox.prune('*', START + 1, 10);
        expect(await inbox.get(KEY)).toMatchObject({ body: null, conflict: null });
        expect(await inbox.attempts(KEY)).toMatchObject([
          { outcome: 'failed', error: { name: 'Error', message: '', stack: null } },
          { outcome: 'processed', error: null },
        ]);
      });

      it('keeps what is dead, ignored, waiting or running', async () => {
        empty();
        await store(...['dead', 'running', 'waiting'].map((id) => ({ id, entity: id })), {
          id: 'ignored',
          type: 'order.refunded',
          entity: null,
        });
        await inbox.accept(invalidIncoming({ id: 'invalid', receivedAt: START }), later());
        for (const { id, lease } of await claim(START + 10, { types: ['order.created'] })) {
          if (id === 'dead') await inbox.settle(lease, dead(), START + 10);
          if (id === 'waiting') await inbox.settle(lease, retry(START + 9 * PRESENT_MS), START + 10);
        }
        await announce(['order.created'], START + PRESENT_MS, START + 100);
        expect(await stateOf('ignored')).toBe('ignored');
        expect(await inbox.prune('*', START + 9 * PRESENT_MS, 10)).toBe(0);
        expect(await bodiless()).toEqual([]);
      });
    });

    describe('claiming one event for its own delivery', () => {
      it('gives it with all that a handler is told, although its type has no taker and its time has not come', async () => {
        empty();
        await store({ receivedAt: START + 50, body: '{"n":1}' });
        const claimed = await claimOne(KEY, START);
        expect(claimed).toMatchObject({
          ...KEY,
          attempt: 1,
          failures: 0,
          superseded: false,
          receivedAt: new Date(START + 50),
        });
        expect(await stateOf()).toBe('processing');
      });

      it('says busy while a lease holds it', async () => {
        await holding({});
        await claimOne(KEY, START);
        expect(await claimOne(KEY, START + LEASE_MS - 1)).toBe('busy');
        expect(await claimOne(KEY, START + LEASE_MS)).toMatchObject({ attempt: 2 });
        expect(await outcomes()).toEqual(['crashed']);
      });

      it('frees no lease but that of its event, or of its entity', async () => {
        await holding({}, { id: 'same' }, { id: 'other', entity: 'other' });
        const other = { endpoint: 'default', id: 'other' };
        const same = { endpoint: 'default', id: 'same' };
        await claimOne(same, START);
        await claimOne(other, START);
        expect(await claimOne(KEY, START + LEASE_MS, { expiredBy: START })).toBe('busy');
        expect(await claimOne(KEY, START + LEASE_MS)).toMatchObject({ attempt: 1 });
        expect([await outcomes('same'), await outcomes('other')]).toEqual([['crashed'], []]);
      });

      it('says busy while a lease holds its entity, unless ordered is false', async () => {
        await holding({}, { id: 'evt_2' }, { id: 'elsewhere', endpoint: 'market' });
        expect(await claimOne(KEY, START + 10)).toMatchObject({ id: 'evt_1' });
        const other = { endpoint: 'default', id: 'evt_2' };
        expect(await claimOne(other, START + 10)).toBe('busy');
        expect(await claimOne({ endpoint: 'market', id: 'elsewhere' }, START + 10)).toMatchObject({
          attempt: 1,
        });
        expect(await claimOne(other, START + 10, { ordered: false })).toMatchObject({ id: 'evt_2' });
      });

      it.each([
        ['is processed', () => settleNext(START, PROCESSED)],
        [
          'is a tombstone',
          async () => {
            await settleNext(START, PROCESSED);
            await inbox.prune('*', START + 1, 1);
          },
        ],
        ['was found invalid', () => settleNext(START, dead('invalid'))],
      ])('says settled when it %s', async (_, prepare) => {
        await holding({});
        await prepare();
        const before = await everythingOf();
        expect(await claimOne(KEY, START + 1)).toBe('settled');
        expect(await everythingOf()).toEqual(before);
      });

      it('says settled for an invalid event and for one that nobody sent', async () => {
        await holding();
        await inbox.accept(invalidIncoming(), later());
        expect(await claimOne(KEY, START + 10_000)).toBe('settled');
        expect(await claimOne({ endpoint: 'default', id: 'evt_9' }, START)).toBe('settled');
      });

      it.each([
        ['has failed and waits', () => settleNext(START, retry(START + 60_000))],
        ['is dead', () => settleNext(START, dead())],
        ['is ignored', () => announce(['order.ready'], START + 2 * PRESENT_MS, START + 2 * PRESENT_MS)],
      ])('runs it again when it %s', async (_, prepare) => {
        await holding({});
        await prepare();
        const claimed = await claimOne(KEY, START + 1);
        if (typeof claimed === 'string') throw new Error(claimed);
        expect(await inbox.settle(claimed.lease, PROCESSED, START + 1)).toBe(true);
        expect(await inbox.get(KEY)).toMatchObject({ state: 'processed', deadReason: null });
      });

      it('does not wait for an older one that failed, which then sees that it is superseded', async () => {
        await holding({ id: 'older', created: at(1) }, { created: at(2) });
        expect(await settleNext(START + 10, retry(START + 60_000))).toBe('older');
        // A processor parks it first: the two modes share one store.
        expect(await claimIds(START + 10)).toEqual([]);
        const newer = await claimOne(KEY, START + 10);
        if (typeof newer === 'string') throw new Error(newer);
        await inbox.settle(newer.lease, PROCESSED, START + 10);
        expect(await claimOne({ endpoint: 'default', id: 'older' }, START + 11)).toMatchObject({
          failures: 1,
          superseded: true,
        });
      });
    });

    describe('whoever listens for pending events', () => {
      it('hears of one that is stored, replaced or rerun, and of nothing else', async () => {
        await holding();
        const heard = vi.fn();
        const stop = inbox.onPending(heard);
        const calls = async (act: () => Promise<unknown>): Promise<number> => {
          const before = heard.mock.calls.length;
          await act();
          return heard.mock.calls.length - before;
        };
        const unsigned = incoming({ body: 'unsigned', verified: false, receivedAt: START });
        expect(await calls(() => inbox.accept(unsigned, later()))).toBe(1);
        expect(await calls(() => inbox.accept(unsigned, later()))).toBe(0);
        expect(await calls(() => inbox.accept(incoming({ body: 'signed', receivedAt: START }), later()))).toBe(1);
        expect(await calls(() => inbox.accept(incoming({ body: 'third', receivedAt: START }), later()))).toBe(0);
        expect(await calls(() => inbox.rerun(KEY, contentOf(unsigned), START))).toBe(0);
        await settleNext(START, dead());
        expect(await calls(() => inbox.rerun(KEY, contentOf(unsigned), START))).toBe(1);
        stop();
        expect(await calls(() => inbox.accept(incoming({ id: 'evt_2' }), later()))).toBe(0);
      });

      it('finds the event there when it is told', async () => {
        await holding();
        let found: Promise<readonly string[]> = Promise.resolve([]);
        inbox.onPending(() => {
          found = claimIds(START);
        });
        await store({});
        expect(await found).toEqual(['evt_1']);
      });
    });
  });
}

export function testStoredAsRunning(name: string, open: () => Inbox): void {
  const { holding } = openers(open);

  describe(`${name}: an event that is stored for a processor with room`, () => {
    const asked: StartRequest = { now: START + 100, leaseMs: LEASE_MS, ordered: true };
    const arrive = (parts: Parts = {}, start: StartRequest = asked) =>
      inbox.accept(incoming({ receivedAt: START + 100, ...parts }), later(), start);

    it('runs under a lease, as if it had been claimed', async () => {
      await holding();
      const { started, ...acceptance } = await arrive();
      expect(acceptance).toEqual({ result: 'stored', conflict: false, replaced: false });
      expect(started).toEqual({ seq: expect.any(Number), fence: expect.any(Number), superseded: false });
      expect(await stateOf()).toBe('processing');
      expect(await claimIds(START + 200)).toEqual([]);
      expect(await inbox.settle(startedLease(started), PROCESSED, START + 200)).toBe(true);
      expect(await stateOf()).toBe('processed');
      expect(await inbox.attempts(KEY)).toMatchObject([
        { number: 1, trigger: 'auto', outcome: 'processed', startedAt: new Date(START + 100) },
      ]);
    });

    it('retries, is renewed, crashes and is fenced as any other', async () => {
      await holding();
      const first = startedLease((await arrive()).started);
      expect(await inbox.renew([first], START + 900, LEASE_MS)).toEqual([first]);
      expect(await claimIds(START + 1_500)).toEqual([]);
      const [second] = await claim(START + 1_901);
      expect(second).toMatchObject({ id: 'evt_1', attempt: 2, failures: 0 });
      expect(leaseOf(second).fence).toBeGreaterThan(first.fence);
      expect(await inbox.settle(first, PROCESSED, START + 1_902)).toBe(false);
      expect(await inbox.settle(leaseOf(second), retry(START + 2_000), START + 1_903)).toBe(true);
      expect(await outcomes()).toEqual(['crashed', 'failed']);
      expect(await claimIds(START + 2_000)).toEqual(['evt_1']);
    });

    it.each(['waits', 'runs'])('does not while another of its entity %s', async (how) => {
      await holding({ id: 'before', created: at(-50) });
      const [before] = how === 'runs' ? await claim(START + 90) : [];
      expect((await arrive()).started).toBeUndefined();
      expect(await stateOf()).toBe('pending');
      if (before !== undefined) await inbox.settle(leaseOf(before), PROCESSED, START + 110);
      else expect(await handleAll()).toEqual(['before', 'evt_1']);
    });

    it('does beside events of other entities', async () => {
      await holding({ id: 'before', entity: 'other' });
      const { started } = await arrive();
      expect(started).toBeDefined();
      expect(await claimIds(START + 110)).toEqual(['before']);
    });

    it('does not behind another of its entity that was stored as running, and has its turn when that has ended', async () => {
      await holding();
      const { started } = await arrive({ id: 'first' });
      expect((await arrive({ id: 'second' })).started).toBeUndefined();
      expect(await claimIds(START + 110)).toEqual([]);
      await inbox.settle(startedLease(started), PROCESSED, START + 120);
      expect(await claimIds(START + 130)).toEqual(['second']);
    });

    it('does beside its entity where order is off', async () => {
      await holding();
      expect((await arrive({ id: 'first' })).started).toBeDefined();
      expect((await arrive({ id: 'second' }, { ...asked, ordered: false })).started).toBeDefined();
    });

    it('is told that a newer one was processed', async () => {
      await holding();
      const newer = await arrive({ id: 'newer', created: at(90) });
      await inbox.settle(startedLease(newer.started), PROCESSED, START + 110);
      const older = await arrive({ id: 'older', created: at(80) });
      expect(older.started).toMatchObject({ superseded: true });
    });

    it('does not where it is invalid, and a duplicate does not either', async () => {
      await holding();
      const invalid = await inbox.accept(invalidIncoming({ id: 'invalid', receivedAt: START }), later(), asked);
      expect(invalid.started).toBeUndefined();
      expect(await stateOf('invalid')).toBe('dead');
      await arrive();
      expect(await arrive()).toEqual({ result: 'duplicate', conflict: false, replaced: false });
      expect(await outcomes()).toEqual([]);
    });

    it('does not after the clock was set back, until a claim has followed it', async () => {
      await holding();
      await arrive({ id: 'before', entity: 'other' });
      const now = START - 3_600_000;
      const early = { ...asked, now };
      expect((await arrive({ receivedAt: now }, early)).started).toBeUndefined();
      expect(await claimIds(now + 10)).toEqual(['evt_1']);
      expect((await arrive({ id: 'later', entity: 'third', receivedAt: now }, early)).started).toBeDefined();
    });
  });
}

function several(count: number): Parts[] {
  return Array.from({ length: count }, (_, n) => ({ id: `evt_${n}`, entity: `order::ord_${n}` }));
}

const OLDER_AND_NEWER: readonly Parts[] = [
  { id: 'older', created: at(1) },
  { id: 'newer', created: at(2) },
];
const OF_TWO_TYPES: readonly Parts[] = [
  { id: 'older', type: 'order.created', created: at(1) },
  { id: 'newer', type: 'order.ready', created: at(2) },
];

async function settleNext(now: number, settlement: Settlement, request: Claim = {}, endedAt = now): Promise<string> {
  const [claimed] = await claim(now, { ...request, limit: 1 });
  expect(await inbox.settle(leaseOf(claimed), settlement, endedAt)).toBe(true);
  return claimed?.id ?? '';
}

async function settleLease(lease: Lease, now: number): Promise<void> {
  expect(await inbox.settle(lease, PROCESSED, now)).toBe(true);
}

function startedLease(started: Started | undefined): Lease {
  if (started === undefined) throw new Error('it was not stored as running');
  return { seq: started.seq, fence: started.fence };
}

function contentOf({ type, created, entity }: IncomingEvent): Pick<IncomingEvent, 'type' | 'created' | 'entity'> {
  return { type, created, entity };
}

async function everythingOf(id = 'evt_1'): Promise<unknown> {
  const key = { endpoint: 'default', id };
  return {
    event: await inbox.get(key),
    attempts: await inbox.attempts(key),
    nextDue: await inbox.nextDue(EVERYTHING),
  };
}

async function bodiless(): Promise<readonly string[]> {
  return (await inbox.list()).filter(({ body }) => body === null).map(({ id }) => id);
}
