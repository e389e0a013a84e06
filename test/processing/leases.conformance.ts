import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import {
  EVERYTHING,
  type ClaimedEvent,
  type ClaimRequest,
  type CrashedEvent,
  type Lease,
} from '../../src/inbox/work.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';

const LEASE_MS = 1_000;
const NEXT = { endpoint: 'default', id: 'next' };
const ERROR = { name: 'Error', message: 'thrown later', stack: null };
const { signal } = new AbortController();

export function testLeases(name: string, open: () => Inbox): void {
  async function committed(): Promise<{ inbox: Inbox; lease: Lease }> {
    const inbox = open();
    await inbox.announce(EVERYTHING, START, null);
    for (const id of ['first', 'next']) await inbox.accept(incoming({ id, body: id, receivedAt: START }), later());
    const [first] = await claim(inbox, START + 1);
    const lease = leaseOf(first);
    await inbox.transaction(lease, () => {}, { now: () => START + 2, signal });
    return { inbox, lease };
  }

  describe(`${name}: an event whose transaction has committed`, () => {
    it('is processed, and holds its entity until its handler has ended', async () => {
      const { inbox, lease } = await committed();
      await using _ = inbox;
      expect(await standing(inbox, 'first')).toEqual(['processed', 'processed']);
      expect(await ids(inbox, START + 3)).toEqual([]);
      expect(await inbox.claimOne(NEXT, request(START + 3))).toBe('busy');
      expect(await inbox.settle(lease, { outcome: 'committed' }, START + 4)).toBe(true);
      expect(await ids(inbox, START + 5)).toEqual(['next']);
      expect(await standing(inbox, 'first')).toEqual(['processed', 'processed']);
    });

    it('is due when its lease runs out, as long as it is renewed no sooner', async () => {
      const { inbox, lease } = await committed();
      await using _ = inbox;
      expect(await inbox.nextDue(EVERYTHING)).toBeLessThanOrEqual(START + 1 + LEASE_MS);
      expect(await inbox.renew([lease], START + 900, LEASE_MS)).toEqual([lease]);
      expect(await ids(inbox, START + 1_800)).toEqual([]);
      expect(await ids(inbox, START + 1_900)).toEqual(['next']);
    });

    it('is no crash where its process goes away: whoever looks next lets go of its entity', async () => {
      for (const take of [
        (inbox: Inbox, now: number) => claim(inbox, now),
        async (inbox: Inbox, now: number) => [await inbox.claimOne(NEXT, request(now))],
      ]) {
        const { inbox, lease } = await committed();
        await using _ = inbox;
        expect(await take(inbox, START + 1 + LEASE_MS)).toMatchObject([{ id: 'next' }]);
        expect(await standing(inbox, 'first')).toEqual(['processed', 'processed']);
        expect(await inbox.renew([lease], START + 2_000, LEASE_MS)).toEqual([]);
        expect(await inbox.settle(lease, { outcome: 'committed' }, START + 2_000)).toBe(false);
        expect(await ids(inbox, START + 2_000)).toEqual([]);
      }
    });

    it('stays held by whoever claims, and by others whom they cannot judge', async () => {
      const { inbox, lease } = await committed();
      await using _ = inbox;
      const now = START + 60_000;
      expect(await ids(inbox, now, { expiredBy: START })).toEqual([]);
      expect(await ids(inbox, now, { holds: [lease] })).toEqual([]);
      expect(await inbox.settle(lease, { outcome: 'committed' }, now)).toBe(true);
    });

    it('ends no second time, however that is asked for', async () => {
      const { inbox, lease } = await committed();
      await using _ = inbox;
      const now = START + 3;
      expect(await inbox.settle(lease, { outcome: 'processed' }, now)).toBe(false);
      expect(await inbox.settle(lease, { outcome: 'retry', error: ERROR, dueAt: now }, now)).toBe(false);
      expect(await inbox.settle(lease, { outcome: 'interrupted' }, now)).toBe(false);
      const work = vi.fn();
      await expect(inbox.transaction(lease, work, { now: () => now, signal })).rejects.toMatchObject({
        code: 'LEASE_LOST',
      });
      expect(work).not.toHaveBeenCalled();
      expect(await standing(inbox, 'first')).toEqual(['processed', 'processed']);
      expect(await ids(inbox, now)).toEqual([]);
    });

    it('keeps what its handler threw later, and when its lease was lost meanwhile too', async () => {
      for (const now of [START + 3, START + 1 + LEASE_MS]) {
        const { inbox, lease } = await committed();
        await using _ = inbox;
        await claim(inbox, now);
        await inbox.settle(lease, { outcome: 'committed', error: ERROR }, now);
        const [attempt] = await inbox.attempts({ endpoint: 'default', id: 'first' });
        expect(attempt).toMatchObject({ outcome: 'processed', error: ERROR });
      }
    });

    it('has no such lease under a claim that settles it in the usual way', async () => {
      const inbox = open();
      await using _ = inbox;
      await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
      const [first] = await claim(inbox, START);
      expect(await inbox.settle(leaseOf(first), { outcome: 'committed' }, START)).toBe(false);
      expect(await standing(inbox, 'first')).toEqual(['processing']);
    });

    it('has its lease moved with a clock that is set back', async () => {
      const { inbox, lease } = await committed();
      await using _ = inbox;
      const now = START - 3_600_000;
      expect(await ids(inbox, now)).toEqual([]);
      expect(await inbox.renew([lease], now + 500, LEASE_MS)).toEqual([lease]);
      expect(await ids(inbox, now + 500 + LEASE_MS)).toEqual(['next']);
    });
  });

  describe(`${name}: an attempt whose processor has said that it closes`, () => {
    /** A processor has begun to close, and its process is killed. */
    async function killed(times = 1): Promise<{ inbox: Inbox; told: CrashedEvent[]; now: number }> {
      const inbox = open();
      await inbox.announce(EVERYTHING, START, null);
      await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
      const told: CrashedEvent[] = [];
      let now = START;
      for (let n = 0; n < times; n += 1) {
        const [claimed] = await inbox.claim(request(now), 1, (found) => void told.push(...found));
        expect(await inbox.renew([leaseOf(claimed)], now, LEASE_MS, true)).toEqual([leaseOf(claimed)]);
        now += LEASE_MS;
      }
      return { inbox, told, now };
    }

    it('is interrupted where its lease runs out: neither a failure nor a crash, however often', async () => {
      const { inbox, told, now } = await killed(5);
      await using _ = inbox;
      const [claimed] = await inbox.claim(request(now), 1, (found) => void told.push(...found));
      expect(claimed).toMatchObject({ id: 'first', attempt: 6, failures: 0 });
      expect(await standing(inbox, 'first')).toEqual(['processing', ...Array<string>(5).fill('interrupted')]);
      const about = { endpoint: 'default', id: 'first', type: 'order.created', error: null, wasClosing: true };
      expect(told).toEqual(
        [1, 2, 3, 4, 5].map((n) => ({ ...about, attempt: n, deadReason: null, dueAt: START + n * LEASE_MS })),
      );
    });

    it('is interrupted too where the next delivery finds it', async () => {
      const { inbox, now } = await killed();
      await using _ = inbox;
      const key = { endpoint: 'default', id: 'first' };
      expect(await inbox.claimOne(key, request(now))).toMatchObject({ attempt: 2 });
      expect(await standing(inbox, 'first')).toEqual(['processing', 'interrupted']);
    });

    it('leaves no suspect: others run beside it', async () => {
      const { inbox, now } = await killed();
      await using _ = inbox;
      await inbox.accept(incoming({ id: 'other', entity: 'other', receivedAt: START }), later());
      expect(await ids(inbox, now)).toEqual(['other', 'first']);
    });

    it('has crashed where a later claim of its event has said nothing of the kind', async () => {
      const { inbox, now } = await killed();
      await using _ = inbox;
      expect(await ids(inbox, now)).toEqual(['first']);
      expect(await ids(inbox, now + LEASE_MS)).toEqual(['first']);
      expect(await standing(inbox, 'first')).toEqual(['processing', 'interrupted', 'crashed']);
    });

    it('ends as it ends where it is not killed', async () => {
      const inbox = open();
      await using _ = inbox;
      await inbox.accept(incoming({ id: 'first', receivedAt: START }), later());
      const [claimed] = await claim(inbox, START);
      await inbox.renew([leaseOf(claimed)], START, LEASE_MS, true);
      expect(await inbox.settle(leaseOf(claimed), { outcome: 'processed' }, START)).toBe(true);
      expect(await standing(inbox, 'first')).toEqual(['processed', 'processed']);
    });
  });

  it(`${name}: handlers of one order run one at a time, also after their transactions`, async () => {
    await using inbox = open();
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

function claim(inbox: Inbox, now: number, more?: Partial<ClaimRequest>): Promise<readonly ClaimedEvent[]> {
  return inbox.claim(request(now, more), 10);
}

async function ids(inbox: Inbox, now: number, more?: Partial<ClaimRequest>): Promise<readonly string[]> {
  return (await claim(inbox, now, more)).map(({ id }) => id);
}

async function standing(inbox: Inbox, id: string): Promise<readonly (string | undefined)[]> {
  const key = { endpoint: 'default', id };
  const attempts = await inbox.attempts(key);
  return [(await inbox.get(key))?.state, ...attempts.map(({ outcome }) => outcome)];
}

function leaseOf(claimed: ClaimedEvent | undefined): Lease {
  if (claimed === undefined) throw new Error('nothing was claimed');
  return claimed.lease;
}
