import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { START } from '../helpers/virtual-clock.ts';
import { claim, inbox, KEY, LEASE_MS, leaseOf, openers, PROCESSED, stateOf } from './inbox-under-test.ts';

const MAIL = { name: 'mail', result: '{"id":"msg_1"}' };
const ERROR = { name: 'Error', message: 'fails', stack: null };

export function testSteps(name: string, open: () => Inbox): void {
  const { holding } = openers(open);
  const claimed = async (now: number) => leaseOf((await claim(now))[0]);
  const steps = () => inbox.steps(KEY);

  describe(`${name}: the steps of an event`, () => {
    it('are kept with their results, and later attempts find them', async () => {
      await holding({ id: 'evt_1' }, { id: 'evt_2', entity: null });
      const first = await claimed(START + 10);
      expect(await steps()).toEqual([]);
      expect(await inbox.keepStep(first, MAIL, START + 11)).toBe(true);
      expect(await inbox.keepStep(first, { name: 'label “山”', result: null }, START + 12)).toBe(true);
      await inbox.settle(first, { outcome: 'retry', error: ERROR, dueAt: START + 20 }, START + 13);
      const second = await claimed(START + 20);
      expect(await inbox.keepStep(second, { name: 'stock', result: '"\\u0000"' }, START + 21)).toBe(true);
      expect(await steps()).toEqual([
        { ...MAIL, attempt: 1, at: new Date(START + 11) },
        { name: 'label “山”', result: null, attempt: 1, at: new Date(START + 12) },
        { name: 'stock', result: '"\\u0000"', attempt: 2, at: new Date(START + 21) },
      ]);
      expect(await inbox.steps({ endpoint: 'default', id: 'evt_2' })).toEqual([]);
      expect(await inbox.steps({ endpoint: 'other', id: 'evt_1' })).toEqual([]);
    });

    it('have a name once: the first result stays', async () => {
      await holding({ id: 'evt_1' });
      const lease = await claimed(START);
      expect(await inbox.keepStep(lease, MAIL, START)).toBe(true);
      expect(await inbox.keepStep(lease, { ...MAIL, result: '2' }, START + 1)).toBe(true);
      expect(await steps()).toEqual([{ ...MAIL, attempt: 1, at: new Date(START) }]);
    });

    it('are kept together, however many are written at the same time', async () => {
      await holding({ id: 'evt_1' });
      const lease = await claimed(START);
      const names = Array.from({ length: 20 }, (_, n) => `step ${String(n).padStart(2, '0')}`);
      const kept = await Promise.all(names.map((step) => inbox.keepStep(lease, { name: step, result: '1' }, START)));
      expect(kept).toEqual(names.map(() => true));
      expect((await steps()).map((step) => step.name)).toEqual(names);
    });

    it('are not written under a lease that another processor has taken over', async () => {
      await holding({ id: 'evt_1' });
      const stale = await claimed(START);
      const fresh = await claimed(START + LEASE_MS + 1);
      expect(await inbox.keepStep(stale, MAIL, START + LEASE_MS + 2)).toBe(false);
      expect(await steps()).toEqual([]);
      expect(await inbox.keepStep(fresh, MAIL, START + LEASE_MS + 3)).toBe(true);
      expect(await inbox.keepStep(stale, { name: 'other', result: null }, START + LEASE_MS + 4)).toBe(false);
      expect(await steps()).toMatchObject([{ name: 'mail', attempt: 2 }]);
    });

    it('are written under a lease that has expired, while nobody has taken over', async () => {
      await holding({ id: 'evt_1' });
      const lease = await claimed(START);
      expect(await inbox.keepStep(lease, MAIL, START + 5 * LEASE_MS)).toBe(true);
    });

    it('are not written after the attempt has ended, nor after its transaction', async () => {
      await holding({ id: 'evt_1' }, { id: 'evt_2', entity: null });
      const [first, second] = await claim(START + 10);
      await inbox.settle(leaseOf(first), PROCESSED, START + 10);
      expect(await inbox.keepStep(leaseOf(first), MAIL, START + 11)).toBe(false);
      const { signal } = new AbortController();
      await inbox.transaction(leaseOf(second), () => {}, { now: () => START + 10, signal });
      expect(await inbox.keepStep(leaseOf(second), MAIL, START + 11)).toBe(false);
      expect(await steps()).toEqual([]);
    });

    it('stay when the event is rerun, and are pruned with it', async () => {
      await holding({ id: 'evt_1' });
      const lease = await claimed(START);
      await inbox.keepStep(lease, MAIL, START);
      await inbox.settle(lease, { outcome: 'dead', reason: 'failed', error: ERROR }, START);
      const event = await inbox.get(KEY);
      expect(event !== null && (await inbox.rerun(KEY, event, START + 1))).toBe(true);
      expect(await steps()).toHaveLength(1);
      await inbox.settle(await claimed(START + 2), PROCESSED, START + 2);
      expect([await stateOf(), (await steps()).length]).toEqual(['processed', 1]);
      expect(await inbox.prune('*', START + 3, 10)).toBe(1);
      expect(await steps()).toEqual([]);
    });
  });
}
