import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimRequest } from '../../src/inbox/work.ts';
import { pauseType } from '../../src/ops/pauses.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';

const ERROR = { name: 'Error', message: 'fails', stack: null };
const HOUR_MS = 3_600_000;
const LANES = 1_100;
const REQUEST: ClaimRequest = { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: START + 1_000 };

const lane = (n: number): string => `type.${String(n).padStart(5, '0')}`;

export function testManyLanes(open: () => Promise<Inbox>): void {
  async function store(inbox: Inbox, ...events: readonly (Parameters<typeof incoming>[0] & object)[]): Promise<void> {
    const incomings = events.map((parts) => incoming({ entity: null, receivedAt: START, ...parts }));
    await Promise.all(incomings.map((event) => inbox.accept(event, later())));
  }

  const each = Array.from({ length: LANES }, (_, n) => n);

  async function allWaiting(inbox: Inbox): Promise<void> {
    await store(inbox, ...each.map((n) => ({ id: `waits_${n}`, type: lane(n) })));
    const claimed = await inbox.claim(REQUEST, LANES);
    expect(claimed).toHaveLength(LANES);
    const retry = { outcome: 'retry', error: ERROR, dueAt: START + HOUR_MS } as const;
    await Promise.all(claimed.map(({ lease }) => inbox.settle(lease, retry, REQUEST.now)));
  }

  it('what is due is claimed though a type is paused and more types than one can name wait', async () => {
    const inbox = await open();
    await allWaiting(inbox);
    await pauseType(inbox, 'paused', { actor: 'ada', now: START }, { unseen: true });
    await store(inbox, { id: 'stopped', type: 'paused' }, { id: 'due', type: 'zzz' });
    expect((await inbox.claim(REQUEST, 10)).map(({ id }) => id)).toEqual(['due']);
    expect(await inbox.nextDue(REQUEST)).toBe(REQUEST.now + REQUEST.leaseMs);
  });

  it('and though a type is full', async () => {
    const inbox = await open();
    await allWaiting(inbox);
    await store(inbox, { id: 'full', type: 'full' }, { id: 'due', type: 'zzz' });
    expect((await inbox.claim({ ...REQUEST, room: { full: 0 } }, 10)).map(({ id }) => id)).toEqual(['due']);
  });

  it('a type that is paused at more endpoints than one can name keeps no other from being claimed', async () => {
    const inbox = await open();
    for (const n of each)
      await pauseType(inbox, 'paused', { actor: 'ada', now: START }, { endpoint: lane(n), unseen: true });
    await store(inbox, ...each.map((n) => ({ id: 'stopped', endpoint: lane(n), type: 'paused' })));
    await store(inbox, { id: 'due', endpoint: 'zzz', type: 'paused' }, { id: 'other', endpoint: lane(7), type: 'a' });
    const claimed = await inbox.claim(REQUEST, 10);
    expect(claimed.map(({ id }) => id).toSorted()).toEqual(['due', 'other']);
  });
}
