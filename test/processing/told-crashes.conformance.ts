import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { MAX_CRASHES } from '../../src/inbox/rules/attempt.ts';
import { EVERYTHING, type CrashedEvent } from '../../src/inbox/work.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';

const REQUEST = { ...EVERYTHING, leaseMs: 1_000, ordered: true } as const;

export function testToldCrashes(name: string, open: () => Inbox): void {
  describe(`${name}: who frees a lease`, () => {
    it('is told of the crash, and of the one that the event is dead by', async () => {
      await using inbox = open();
      await inbox.accept(incoming({ endpoint: 'shop', receivedAt: START }), later());
      const told: CrashedEvent[] = [];
      for (let n = 0; n <= MAX_CRASHES; n += 1) {
        await inbox.claim({ ...REQUEST, now: START + n * 2_000 }, 1, (crashed) => void told.push(...crashed));
      }
      const about = { endpoint: 'shop', id: 'evt_1', type: 'order.created', error: null };
      expect(told).toEqual([
        { ...about, attempt: 1, deadReason: null, dueAt: START + 2_000 },
        { ...about, attempt: 2, deadReason: null, dueAt: START + 4_000 },
        { ...about, attempt: 3, deadReason: 'crashed', dueAt: null },
      ]);
    });

    it('is told by a delivery that runs its handler, too', async () => {
      await using inbox = open();
      await inbox.accept(incoming({ receivedAt: START }), later());
      const told: CrashedEvent[] = [];
      await inbox.claim({ ...REQUEST, now: START }, 1);
      const again = { ...REQUEST, now: START + 2_000 };
      await inbox.claimOne({ endpoint: 'default', id: 'evt_1' }, again, (crashed) => void told.push(...crashed));
      expect(told).toMatchObject([{ id: 'evt_1', attempt: 1, deadReason: null }]);
    });
  });
}
