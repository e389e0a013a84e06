import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { StoredEvent } from '../../src/inbox/event.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { newestSeq, storedEvents } from '../../src/ops/stored-events.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

async function inboxWith(count: number): Promise<Inbox> {
  const inbox = memoryInbox();
  await Promise.all(severalIncoming(count).map((event) => inbox.accept(event, later())));
  return inbox;
}

describe('the newest seq', () => {
  it.each([0, 1, 2, 3, 7, 8, 9, 100])('is found among %i events', async (count) => {
    expect(await newestSeq(await inboxWith(count))).toBe(count);
  });

  it.each([[1], [5], [1, 2, 1_000_000], [3, 4, 9_007_199_254_740_000]])(
    'is found in few calls, whatever the gaps',
    async (...seqs) => {
      let calls = 0;
      const list: Inbox['list'] = async ({ after = 0 } = {}) => {
        calls += 1;
        return seqs.filter((seq) => seq > after).map((seq) => ({ seq }) as StoredEvent);
      };
      expect(await newestSeq({ list })).toBe(seqs.at(-1));
      expect(calls).toBeLessThan(120);
    },
  );
});

describe('the newest seq of an inbox that can be looked into', () => {
  it('is one question', async () => {
    const list = (): never => {
      throw new Error('nothing is halved');
    };
    await using inbox = sqliteInbox(scratchFile());
    expect(await newestSeq({ ...inbox, list })).toBe(0);
    await Promise.all(severalIncoming(3).map((event) => inbox.accept(event, later())));
    expect(await newestSeq({ ...inbox, list })).toBe(3);
  });
});

describe('stored events', () => {
  it('come in the order of arrival, without those that are stored meanwhile', async () => {
    const inbox = await inboxWith(120);
    const ids: string[] = [];
    for await (const { id } of storedEvents(inbox)) {
      ids.push(id);
      await inbox.accept(incoming({ id: `evt_more_${ids.length}` }), later());
    }
    expect(ids).toEqual(Array.from({ length: 120 }, (_, n) => `evt_${n}`));
  });

  it('are read a page at a time', async () => {
    const inbox = await inboxWith(120);
    const sizes: number[] = [];
    const list: Inbox['list'] = async (page) => {
      const events = await inbox.list(page);
      sizes.push(events.length);
      return events;
    };
    let read = 0;
    for await (const _ of storedEvents({ list })) read += 1;
    expect(read).toBe(120);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50);
  });

  it('have to fit all that is asked for', async () => {
    const inbox = memoryInbox();
    const at = new Date('2026-03-01T12:00:00Z');
    const earlier = at.getTime() - 1;
    await inbox.accept(incoming({ id: 'evt_early', receivedAt: earlier }), later());
    await inbox.accept(incoming({ id: 'evt_on_time', receivedAt: at.getTime() }), later());
    await inbox.accept(incoming({ id: 'evt_ready', receivedAt: at.getTime(), type: 'order.ready' }), later());
    await inbox.accept(incoming({ id: 'evt_other', receivedAt: earlier, endpoint: 'other' }), later());
    const chosen = async (filter: Parameters<typeof storedEvents>[1]): Promise<readonly string[]> => {
      const ids: string[] = [];
      for await (const { id } of storedEvents(inbox, filter)) ids.push(id);
      return ids;
    };
    expect(await chosen({ since: at })).toEqual(['evt_on_time', 'evt_ready']);
    expect(await chosen({ until: at })).toEqual(['evt_early', 'evt_other']);
    expect(await chosen({ until: at, endpoint: 'default' })).toEqual(['evt_early']);
    expect(await chosen({ types: ['order.ready', 'cart.abandoned'], states: ['pending'] })).toEqual(['evt_ready']);
    expect(await chosen({ states: ['dead'] })).toEqual([]);
  });
});
