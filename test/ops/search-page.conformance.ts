import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import { countEvents, discardEvents, findEvents, listEvents, rerunEvents } from '../../src/ops/index.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { handled, key } from './events-in-states.ts';
import { allPages, idsOf } from './found-pages.ts';

const HOUR_MS = 60 * 60_000;

/** How planted events stand: all of them, or, of `some dead`, each 5,000th; the others are processed. */
export type Planted = 'processed' | 'ready' | 'fresh' | 'dead' | 'some dead';

export interface PlantedStore extends AsyncDisposable {
  readonly inbox: Inbox;
  /** Events that were received a second after the other from `START` on, evt_1 first. */
  plant(count: number, as?: Planted): Promise<void>;
  stand(seq: number, as: 'retrying' | 'parked' | 'processing'): Promise<void>;
  /** @param ms - what is received then, in SQL: `received_ms` is when it was */
  receiveAt(ms: string, where: string): Promise<void>;
  receivedWithin(since: Date, until: Date): Promise<readonly string[]>;
  noteOutOfOrder(first: number, last: number): Promise<void>;
}

export const testSearchPage = suite((open: () => Promise<PlantedStore>) => {
  let kept: PlantedStore;
  let inbox: Inbox;
  beforeEach(async () => {
    kept = await open();
    ({ inbox } = kept);
    onTestFinished(() => kept[Symbol.asyncDispose]());
  });

  const filters: Record<string, readonly [filter: EventFilter, fits: (n: number) => boolean, as?: Planted]> = {
    'without a filter': [{}, () => true],
    'by type': [{ types: ['order.failed'] }, (n) => n % 4_000 === 1],
    'that nothing fits': [{ types: ['order.none'] }, () => false],
    'by body': [{ body: [{ path: 'data.n', value: '7' }] }, (n) => n === 7],
    'by error': [{ error: 'x' }, () => false],
    'by an entity that is not indexed yet': [{ entity: 'ord_6999' }, (n) => n % 7_000 === 6_999],
    'by state, when all are ready': [
      { states: ['pending'], body: [{ path: 'data.n', value: '19999' }] },
      (n) => n === 19_999,
      'ready',
    ],
    'by state and type, when all are ready': [
      { states: ['pending'], types: ['order.failed'] },
      (n) => n % 4_000 === 1,
      'ready',
    ],
    'by state, when all are fresh': [
      { states: ['pending'], body: [{ path: 'data.n', value: '9' }] },
      (n) => n === 9,
      'fresh',
    ],
    'by state, when all are dead': [
      { states: ['dead', 'ignored'], body: [{ path: 'data.n', value: '9' }] },
      (n) => n === 9,
      'dead',
    ],
  };
  it.each(Object.entries(filters))('%s looks at 5,000 of 20,000 events at most', async (_, [filter, fits, as]) => {
    await kept.plant(20_000, as);

    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    const pages = await allPages(operations, filter, 500);
    const expected = Array.from({ length: 20_000 }, (_unused, n) => n + 1).filter(fits);
    expect(idsOf(pages)).toEqual(expected.toReversed().map((n) => `evt_${n}`));
    for (const { examined } of pages) expect(examined).toBeLessThanOrEqual(5_000);
    expect(pages.length).toBeLessThanOrEqual(4 + expected.length / 500 + 1);
    const examined = pages.reduce((sum, page) => sum + page.examined, 0);
    expect(examined).toBeLessThanOrEqual(20_000);
  });

  it('looks only at what an index knows, of however many events', async () => {
    await kept.plant(20_000, 'some dead');
    await inbox.accept(incoming({ id: 'evt_20', body: 'other' }), later());
    await kept.stand(1, 'retrying');
    await kept.stand(2, 'parked');
    await kept.stand(3, 'processing');
    while ((await inbox.operations?.indexNew(5_000)) !== 0);

    const examined = async (filter: EventFilter): Promise<number> => {
      const page = await listEvents(inbox, filter);
      expect(page.next).toBeNull();
      return page.examined;
    };
    expect(await examined({ states: ['dead'] })).toBe(4);
    expect(await examined({ deadReasons: ['invalid'] })).toBe(4);
    expect(await examined({ fingerprint: 'failed' })).toBe(4);
    expect(await examined({ states: ['ignored', 'dead', 'pending', 'processing'] })).toBe(7);
    expect(await examined({ states: ['pending'], types: ['order.ready'] })).toBe(1);
    expect(await examined({ retrying: true })).toBe(1);
    expect(await examined({ redelivered: true })).toBe(1);
    expect(await examined({ conflict: true })).toBe(1);
    expect(await examined({ id: 'evt_77' })).toBe(1);
    expect(await examined({ entity: 'ord_42' })).toBe(3);
    expect(await examined({ states: ['dead', 'pending'], entity: 'ord_42', types: ['order.ready'] })).toBe(3);
    expect(await examined({ redelivered: true, entity: 'ord_42' })).toBe(1);
    expect(await countEvents(inbox)).toEqual({ count: 10_000, more: true, cut: false });
    expect(await countEvents(inbox, { states: ['dead'] })).toEqual({ count: 4, more: false, cut: false });
    expect(await countEvents(inbox, { text: 'EVT_19999' })).toEqual({ count: 1, more: false, cut: true });
    const { events, next } = await findEvents(inbox, 'evt_1999');
    expect([events[0]?.id, next]).toEqual(['evt_1999', null]);
  });

  it('begins and ends where the time is, with an hour on both sides', async () => {
    await kept.plant(20_000);
    const at = (n: number): Date => new Date(START + n * 1_000);

    const since = await listEvents(inbox, { since: at(19_990) }, { limit: 500 });
    expect(since.next).toBeNull();
    expect(since.examined).toBeLessThan(3_650);
    expect(since.events).toHaveLength(11);

    const until = await listEvents(inbox, { until: at(5_000) }, { limit: 10 });
    expect(until.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, n) => 4_999 - n));
    expect(until.examined).toBeLessThan(3_650);

    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    const both = await allPages(operations, { since: at(10_000), until: at(10_003) }, 500);
    expect(idsOf(both)).toEqual(['evt_10002', 'evt_10001', 'evt_10000']);
    expect(both.length).toBeLessThanOrEqual(2);

    expect(await listEvents(inbox, { since: at(90_000) })).toEqual({ events: [], next: null, examined: 0 });
    expect(await listEvents(inbox, { until: at(-90_000) })).toEqual({ events: [], next: null, examined: 0 });
  });

  it.each<readonly [string, readonly (readonly [ms: string, where: string])[]]>([
    [
      'events here and there that have a time of their own',
      [
        ['0', 'seq % 20 = 0'],
        ['received_ms * 2', 'seq % 20 = 1'],
      ],
    ],
    ['a single one where halving begins', [['0', 'seq IN (10000, 10001)']]],
    ['a clock that went an hour slow for a while', [['received_ms - 3599000', 'seq BETWEEN 9000 AND 11000']]],
    ['a clock that went an hour fast for a while', [['received_ms + 3599000', 'seq BETWEEN 9000 AND 11000']]],
  ])('is not misled by %s', async (_, changes) => {
    await kept.plant(20_000);
    for (const [ms, where] of changes) await kept.receiveAt(ms, where);
    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');
    for (const n of [1, 3_000, 6_000, 7_000, 13_000, 14_000, 19_900]) {
      const within = { since: new Date(START + n * 1_000), until: new Date(START + (n + 60) * 1_000) };
      const expected = await kept.receivedWithin(within.since, within.until);
      expect(idsOf(await allPages(operations, within, 500))).toEqual(expected);
      expect(expected.length).toBeGreaterThan(0);
    }
  });

  it('skips nothing of what an import has put among newer events, and goes on skipping around it', async () => {
    await kept.plant(20_000);
    await kept.receiveAt('received_ms - 172800000', 'seq BETWEEN 10001 AND 10400');
    await kept.noteOutOfOrder(10_001, 10_200);
    await kept.noteOutOfOrder(10_201, 10_400);
    const { operations } = inbox;
    if (operations === undefined) throw new Error('cannot be looked into');

    const old = { until: new Date(START - HOUR_MS) };
    const pages = await allPages(operations, old, 500);
    expect(idsOf(pages)).toHaveLength(400);
    await kept.receiveAt('received_ms - 172800000', 'seq BETWEEN 12001 AND 12100');
    await kept.noteOutOfOrder(12_001, 12_100);
    expect(idsOf(await allPages(operations, old, 500))).toHaveLength(500);
    const around = await allPages(
      operations,
      { since: new Date(START + 2_000_000), until: new Date(START + 2_010_000) },
      500,
    );
    expect(idsOf(around)).toHaveLength(10);
    expect(around.reduce((sum, page) => sum + page.examined, 0)).toBeLessThan(10_000);
    const recent = await allPages(operations, { since: new Date(START + 19_990_000) }, 500);
    expect(recent.reduce((sum, page) => sum + page.examined, 0)).toBeLessThan(6_000);
  });

  it('an import into an empty file is in order, so searches skip as ever', async () => {
    await kept.plant(20_000);
    for (let first = 1; first < 20_000; first += 200) await kept.noteOutOfOrder(first, first + 199);
    expect((await listEvents(inbox, { since: new Date(START + 19_990_000) })).examined).toBeLessThan(3_650);
  });

  it('goes on where the one before ended while events arrive, are rerun and are discarded', async () => {
    const failed = {
      outcome: 'dead',
      reason: 'failed',
      error: { name: 'Error', message: 'no', stack: null },
    } as const;
    await Promise.all(Array.from({ length: 120 }, (_, n) => handled(inbox, failed, orderEvent(`evt_${n}`))));
    const by = { actor: 'ada' };

    const seen: string[] = [];
    let round = 0;
    for (let before: number | null | undefined; before !== null;) {
      const { events, next } = await listEvents(inbox, { states: ['dead'] }, { limit: 10, before: before ?? null });
      seen.push(...events.map(({ id }) => id));
      before = next;
      round += 1;
      await rerunEvents(inbox, events.slice(0, 5), by);
      await discardEvents(inbox, [key(`evt_${round}`)], by);
      await handled(inbox, failed, orderEvent(`later_${round}`));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => id.startsWith('later'))).toEqual([]);
    expect(seen.length).toBeGreaterThan(100);
  });
});
