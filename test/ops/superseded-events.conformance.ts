import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import {
  countEvents,
  discardEvents,
  eraseEntity,
  exportEvents,
  getEvent,
  importEvents,
  listEvents,
  metrics,
  pauseType,
  pruneEvents,
  rerunEvents,
  resumeType,
  stats,
  whyWaiting,
  type EventFilter,
} from '../../src/ops/index.ts';
import type { ClaimRequest } from '../../src/inbox/work.ts';
import { orderEvent, orderEvents, store } from '../helpers/order-event.ts';
import { ADA } from './filled-inbox.ts';

/** What operators do with superseded events. */
export function testSupersededEvents(open: () => Promise<Inbox>): void {
  const latest = { '*': { quietMs: 0, maxMs: 0 } };
  const request = (): ClaimRequest => {
    return { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: Date.now(), latest };
  };
  const keyOf = (n: number) => ({ endpoint: 'default', id: `evt_${n}` });
  const burst = (count: number) =>
    orderEvents(count, (n) => ({ order: 'o', createdAt: n, receivedAt: Date.now() - 10_000 }));

  async function handleAll(inbox: Inbox): Promise<readonly string[]> {
    const ids: string[] = [];
    for (;;) {
      const claimed = await inbox.claim(request(), 10);
      if (claimed.length === 0) return ids;
      for (const { id, lease } of claimed) {
        ids.push(id);
        await inbox.settle(lease, { outcome: 'processed' }, Date.now());
      }
    }
  }

  async function idsOf(inbox: Inbox, filter: EventFilter): Promise<readonly string[]> {
    return (await listEvents(inbox, filter)).events.map(({ id }) => id);
  }

  async function superseded(): Promise<Inbox> {
    const inbox = await open();
    await store(inbox, ...burst(4));
    expect(await handleAll(inbox)).toEqual(['evt_3']);
    return inbox;
  }

  it('they are counted, and their timeline says which event came instead', async () => {
    const inbox = await superseded();
    const { totals, byType } = await stats(inbox);
    expect(totals).toMatchObject({ stored: 4, processed: 4, superseded: 3 });
    expect(byType['order.created']).toMatchObject({ stored: 4, processed: 4, superseded: 3 });
    expect((await metrics(inbox)).text).toContain('hookbox_superseded_total{type="order.created"} 3\n');
    const history = await getEvent(inbox, keyOf(0));
    const shown = { state: 'processed', attempts: 1, failures: 0, lastOutcome: 'superseded', lastError: null };
    expect(history?.summary).toMatchObject(shown);
    expect(history?.attempts).toMatchObject([{ outcome: 'superseded', skipped: 'superseded by evt_3' }]);
    expect(history?.timeline.map(({ what }) => what)).toEqual(['stored', 'attempt', 'settled']);
    expect(await whyWaiting(inbox, keyOf(0))).toBeNull();
    expect(await idsOf(inbox, { superseded: true })).toEqual(['evt_2', 'evt_1', 'evt_0']);
    expect(await idsOf(inbox, { superseded: false })).toEqual(['evt_3']);
    expect(await countEvents(inbox, { superseded: true })).toMatchObject({ count: 3 });
  });

  it('they run if an operator reruns them, each by itself, beside a new burst', async () => {
    const inbox = await superseded();
    await store(
      inbox,
      orderEvent('evt_9', { order: 'o', createdAt: 9 }),
      orderEvent('evt_8', { order: 'o', createdAt: 8 }),
    );
    const { counts } = await rerunEvents(inbox, [keyOf(0), keyOf(1)], ADA, { force: true });
    expect(counts).toEqual({ done: 2 });
    expect(await idsOf(inbox, { superseded: true })).toEqual(['evt_2']);
    expect((await getEvent(inbox, keyOf(0)))?.summary.lastOutcome).toBeNull();
    expect(await handleAll(inbox)).toEqual(['evt_0', 'evt_1', 'evt_9']);
    expect(await inbox.attempts(keyOf(0))).toMatchObject([
      { number: 1, outcome: 'superseded' },
      { number: 2, trigger: 'manual', outcome: 'processed' },
    ]);
    expect(await idsOf(inbox, { superseded: true })).toEqual(['evt_8', 'evt_2']);
  });

  it('they are exported, imported, pruned and erased like others', async () => {
    const inbox = await superseded();
    const lines: string[] = [];
    for await (const line of exportEvents(inbox, ADA)) lines.push(line);
    const copy = await open();
    expect(await importEvents(copy, lines, ADA, { trusted: true })).toMatchObject({ imported: 4 });
    const settled = async (from: Inbox) => (await getEvent(from, keyOf(1)))?.summary.settledAt;
    expect(await settled(copy)).toEqual(await settled(inbox));
    expect(await copy.attempts(keyOf(1))).toEqual(await inbox.attempts(keyOf(1)));
    expect(await handleAll(copy)).toEqual([]);

    const criteria = { states: ['processed'], settledBefore: new Date(Date.now() + 60_000) } as const;
    await pruneEvents(inbox, criteria, ADA);
    expect(await inbox.get(keyOf(1))).toMatchObject({ state: 'processed', body: null });
    const [line] = await inbox.attempts(keyOf(1));
    expect(line?.outcome).toBe('superseded');
    expect(line).not.toHaveProperty('skipped');

    const { entity } = orderEvent('evt_0', { order: 'o' });
    await eraseEntity(copy, entity ?? '', ADA);
    expect(await copy.get(keyOf(2))).toMatchObject({ state: 'processed', body: null, entity: null });
  });

  it('a burst of a paused type waits, and one discarded newest supersedes nothing', async () => {
    const inbox = await open();
    await store(inbox, ...burst(3));
    await pauseType(inbox, 'order.created', ADA, {});
    expect(await handleAll(inbox)).toEqual([]);
    await discardEvents(inbox, [keyOf(2)], ADA);
    await resumeType(inbox, 'order.created', ADA, {});
    expect(await handleAll(inbox)).toEqual(['evt_1']);
    expect((await inbox.get(keyOf(2)))?.state).toBe('discarded');
  });
}
