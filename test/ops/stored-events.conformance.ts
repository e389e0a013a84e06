import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { newestSeq, storedEvents } from '../../src/ops/stored-events.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { suite } from '../helpers/suite.ts';

async function fill(inbox: Inbox, count: number): Promise<void> {
  await Promise.all(severalIncoming(count).map((event) => inbox.accept(event, later())));
}

export const testStoredEvents = suite((open: () => Promise<Inbox>) => {
  it('come in the order of arrival, without those that are stored meanwhile', async () => {
    await using inbox = await open();
    await fill(inbox, 120);
    const ids: string[] = [];
    for await (const { id } of storedEvents(inbox)) {
      ids.push(id);
      await inbox.accept(incoming({ id: `evt_more_${ids.length}` }), later());
    }
    expect(ids).toEqual(Array.from({ length: 120 }, (_, n) => `evt_${n}`));
  });

  it('are read a page at a time', async () => {
    await using inbox = await open();
    await fill(inbox, 120);
    const sizes: number[] = [];
    const list: Inbox['list'] = async (page) => {
      const events = await inbox.list(page);
      sizes.push(events.length);
      return events;
    };
    let read = 0;
    for await (const _ of storedEvents({ ...inbox, list })) read += 1;
    expect(read).toBe(120);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50);
  });

  it('have a newest one', async () => {
    await using inbox = await open();
    expect(await newestSeq(inbox)).toBe(0);
    await fill(inbox, 3);
    expect(await newestSeq(inbox)).toBe(3);
  });

  it('have to fit all that is asked for', async () => {
    await using inbox = await open();
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
