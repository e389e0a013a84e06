import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { EVERYTHING, type ClaimRequest, type CrashedEvent, type Lease } from '../../src/inbox/work.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { claim, claimIds, inbox, LEASE_MS, leaseOf, openers } from './inbox-under-test.ts';

const NEXT = { endpoint: 'default', id: 'next' };
const ERROR = { name: 'Error', message: 'thrown later', stack: null };
const { signal } = new AbortController();

export function testLeases(name: string, open: () => Inbox): void {
  const { empty, holding } = openers(open);

  async function committed(): Promise<Lease> {
    await holding({ id: 'first', receivedAt: START }, { id: 'next', receivedAt: START });
    const [first] = await claim(START + 1);
    const lease = leaseOf(first);
    await inbox.transaction(lease, () => {}, { now: () => START + 2, signal });
    return lease;
  }

  describe(`${name}: an event whose transaction has committed`, () => {
    it('is processed, and holds its entity until its handler has ended', async () => {
      const lease = await committed();
      expect(await standing('first')).toEqual(['processed', 'processed']);
      expect(await claimIds(START + 3)).toEqual([]);
      expect(await inbox.claimOne(NEXT, request(START + 3))).toBe('busy');
      expect(await inbox.settle(lease, { outcome: 'committed' }, START + 4)).toBe(true);
      expect(await claimIds(START + 5)).toEqual(['next']);
      expect(await standing('first')).toEqual(['processed', 'processed']);
    });

    it('is due when its lease runs out, as long as it is renewed no sooner', async () => {
      const lease = await committed();
      expect(await inbox.nextDue(EVERYTHING)).toBeLessThanOrEqual(START + 1 + LEASE_MS);
      expect(await inbox.renew([lease], START + 900, LEASE_MS)).toEqual([lease]);
      expect(await claimIds(START + 1_800)).toEqual([]);
      expect(await claimIds(START + 1_900)).toEqual(['next']);
    });

    it('is no crash where its process goes away: whoever looks next lets go of its entity', async () => {
      for (const take of [
        (now: number) => claim(now),
        async (now: number) => [await inbox.claimOne(NEXT, request(now))],
      ]) {
        const lease = await committed();
        expect(await take(START + 1 + LEASE_MS)).toMatchObject([{ id: 'next' }]);
        expect(await standing('first')).toEqual(['processed', 'processed']);
        expect(await inbox.renew([lease], START + 2_000, LEASE_MS)).toEqual([]);
        expect(await inbox.settle(lease, { outcome: 'committed' }, START + 2_000)).toBe(false);
        expect(await claimIds(START + 2_000)).toEqual([]);
      }
    });

    it('stays held by whoever claims, and by others whom they cannot judge', async () => {
      const lease = await committed();
      const now = START + 60_000;
      expect(await claimIds(now, { expiredBy: START })).toEqual([]);
      expect(await claimIds(now, { holds: [lease] })).toEqual([]);
      expect(await inbox.settle(lease, { outcome: 'committed' }, now)).toBe(true);
    });

    it('ends no second time, however that is asked for', async () => {
      const lease = await committed();
      const now = START + 3;
      expect(await inbox.settle(lease, { outcome: 'processed' }, now)).toBe(false);
      expect(await inbox.settle(lease, { outcome: 'retry', error: ERROR, dueAt: now }, now)).toBe(false);
      expect(await inbox.settle(lease, { outcome: 'interrupted' }, now)).toBe(false);
      const work = vi.fn();
      await expect(inbox.transaction(lease, work, { now: () => now, signal })).rejects.toMatchObject({
        code: 'LEASE_LOST',
      });
      expect(work).not.toHaveBeenCalled();
      expect(await standing('first')).toEqual(['processed', 'processed']);
      expect(await claimIds(now)).toEqual([]);
    });

    it('keeps what its handler threw later, and when its lease was lost meanwhile too', async () => {
      for (const now of [START + 3, START + 1 + LEASE_MS]) {
        const lease = await committed();
        await claim(now);
        await inbox.settle(lease, { outcome: 'committed', error: ERROR }, now);
        const [attempt] = await inbox.attempts({ endpoint: 'default', id: 'first' });
        expect(attempt).toMatchObject({ outcome: 'processed', error: ERROR });
      }
    });

    it('has no such lease under a claim that settles it in the usual way', async () => {
      empty();
      await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
      const [first] = await claim(START);
      expect(await inbox.settle(leaseOf(first), { outcome: 'committed' }, START)).toBe(false);
      expect(await standing('first')).toEqual(['processing']);
    });

    it('has its lease moved with a clock that is set back', async () => {
      const lease = await committed();
      const now = START - 3_600_000;
      expect(await claimIds(now)).toEqual([]);
      expect(await inbox.renew([lease], now + 500, LEASE_MS)).toEqual([lease]);
      expect(await claimIds(now + 500 + LEASE_MS)).toEqual(['next']);
    });
  });

  describe(`${name}: an attempt whose processor has said that it closes`, () => {
    /** A processor has begun to close, and its process is killed. */
    async function killed(times = 1): Promise<{ told: CrashedEvent[]; now: number }> {
      await holding({ id: 'first' });
      const told: CrashedEvent[] = [];
      let now = START;
      for (let n = 0; n < times; n += 1) {
        const [claimed] = await inbox.claim(request(now), 1, (found) => void told.push(...found));
        expect(await inbox.renew([leaseOf(claimed)], now, LEASE_MS, true)).toEqual([leaseOf(claimed)]);
        now += LEASE_MS;
      }
      return { told, now };
    }

    it('is interrupted where its lease runs out: neither a failure nor a crash, however often', async () => {
      const { told, now } = await killed(5);
      const [claimed] = await inbox.claim(request(now), 1, (found) => void told.push(...found));
      expect(claimed).toMatchObject({ id: 'first', attempt: 6, failures: 0 });
      expect(await standing('first')).toEqual(['processing', ...Array<string>(5).fill('interrupted')]);
      const about = { endpoint: 'default', id: 'first', type: 'order.created', error: null, wasClosing: true };
      expect(told).toEqual(
        [1, 2, 3, 4, 5].map((n) => ({ ...about, attempt: n, deadReason: null, dueAt: START + n * LEASE_MS })),
      );
    });

    it('is interrupted too where the next delivery finds it', async () => {
      const { now } = await killed();
      const key = { endpoint: 'default', id: 'first' };
      expect(await inbox.claimOne(key, request(now))).toMatchObject({ attempt: 2 });
      expect(await standing('first')).toEqual(['processing', 'interrupted']);
    });

    it('leaves no suspect: others run beside it', async () => {
      const { now } = await killed();
      await inbox.accept(incoming({ id: 'other', entity: 'other', receivedAt: START }), later());
      expect(await claimIds(now)).toEqual(['other', 'first']);
    });

    it('has crashed where a later claim of its event has said nothing of the kind', async () => {
      const { now } = await killed();
      expect(await claimIds(now)).toEqual(['first']);
      expect(await claimIds(now + LEASE_MS)).toEqual(['first']);
      expect(await standing('first')).toEqual(['processing', 'interrupted', 'crashed']);
    });

    it('ends as it ends where it is not killed', async () => {
      empty();
      await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
      const [claimed] = await claim(START);
      await inbox.renew([leaseOf(claimed)], START, LEASE_MS, true);
      expect(await inbox.settle(leaseOf(claimed), { outcome: 'processed' }, START)).toBe(true);
      expect(await standing('first')).toEqual(['processed', 'processed']);
    });
  });

  it(`${name}: handlers of one order run one at a time, also after their transactions`, async () => {
    empty();
    await store(inbox, ...['a', 'b', 'c'].map((id) => orderEvent(id, { order: 'o', receivedAt: Date.now() })));
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    const processors = Array.from({ length: 2 }, () =>
      createProcessor({
        inbox,
        logger: false,
        handlers: {
          async '*'({ id }, context) {
            most = Math.max(most, (running += 1));
            await context.transaction(() => {});
            await new Promise((resolve) => setTimeout(resolve, 80));
            seen.push(id);
            running -= 1;
          },
        },
      }),
    );
    for (const each of processors) await each.start();
    await expect.poll(() => seen, { timeout: 10_000 }).toHaveLength(3);
    for (const each of processors) await each.close();
    expect([seen, most]).toEqual([['a', 'b', 'c'], 1]);
  });
}

function request(now: number, more: Partial<ClaimRequest> = {}): ClaimRequest {
  return { ...EVERYTHING, leaseMs: LEASE_MS, ordered: true, now, ...more };
}

async function standing(id: string): Promise<readonly (string | undefined)[]> {
  const key = { endpoint: 'default', id };
  const attempts = await inbox.attempts(key);
  return [(await inbox.get(key))?.state, ...attempts.map(({ outcome }) => outcome)];
}
