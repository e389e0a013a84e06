import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventFilter, BodyCondition, EventPage } from '../../src/inbox/operator/search.ts';
import { listEvents } from '../../src/ops/find.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { suite } from '../helpers/suite.ts';
import type { SearchedStore } from './searched-store.ts';

const MIB = 1024 * 1024;

export const conditions = (count: number, value = 'x'): readonly BodyCondition[] =>
  Array.from({ length: count }, (_, n) => ({ path: `data.f${n}`, value }));

export async function storeLarge(
  inbox: Inbox,
  id: string,
  bytes: number,
  pad: 'list' | 'text' = 'list',
): Promise<void> {
  const fields = Object.fromEntries(conditions(8).map(({ path, value }) => [path.slice('data.'.length), value]));
  const large = pad === 'text' ? 'x'.repeat(bytes) : Array.from({ length: Math.floor(bytes / 3) }, () => 10);
  const body = JSON.stringify({ id, type: 'order.created', data: { large, ...fields } });
  expect(await inbox.accept(incoming({ id, body }), later())).toMatchObject({ result: 'stored' });
}

async function pagesOf(inbox: Inbox, filter: EventFilter): Promise<readonly EventPage[]> {
  const pages: EventPage[] = [];
  for (let before: number | null | undefined; before !== null;) {
    const page = await listEvents(inbox, filter, { before: before ?? null });
    pages.push(page);
    before = page.next;
  }
  return pages;
}

export function clockThatRuns(stepMs: number): void {
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += stepMs));
}

/** How often the event loop turned while something was done: deliveries are taken in at each of these. */
export async function turnsOf<T>(work: Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
  let turns = 0;
  let over = false;
  const turn = (): void => {
    turns += 1;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work.finally(() => (over = true));
  return { turns, result };
}

export const TOO_MUCH: readonly (readonly [string, EventFilter, RegExp])[] = [
  ['nine conditions on the body', { body: conditions(9) }, /body must have at most 8 values, not 9\./],
  ['very many conditions', { body: conditions(100_000) }, /body must have at most 8 values, not 100000\./],
  ['very many types', { types: Array.from({ length: 101 }, String) }, /types must have at most 100 values/],
  [
    'very many states',
    { states: Array.from({ length: 101 }, () => 'dead' as const) },
    /states must have at most 100 values/,
  ],
  ['a long text', { entity: 'x'.repeat(1_001) }, /entity must have at most 1000 characters/],
  ['a long type', { types: ['x'.repeat(1_001)] }, /types must have at most 1000 characters/],
  ['a long value', { body: [{ path: 'a', value: 'x'.repeat(1_001) }] }, /body must have at most 1000/],
  ['a deep path', { body: [{ path: 'a.'.repeat(600) + 'a', value: '' }] }, /body must have at most 1000/],
];

export const testSearchBounds = suite((open: () => Promise<SearchedStore>) => {
  let store: SearchedStore;
  let inbox: Inbox;
  beforeEach(async () => {
    store = await open();
    inbox = store.inbox;
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await store[Symbol.asyncDispose]();
  });

  it.each(TOO_MUCH)(
    'refuses a filter that asks for too much, before anything is looked at: %s',
    async (_, filter, said) => {
      const message = expect.stringMatching(said) as unknown;
      await expect(listEvents(inbox, filter)).rejects.toMatchObject({
        name: 'ConfigurationError',
        code: 'INVALID_OPTION',
        message,
      });
    },
  );

  describe('what a page of a search looks at', () => {
    it('is parsed once for each event, whatever is asked of it', async () => {
      for (let n = 0; n < 5; n += 1) await storeLarge(inbox, `evt_${n}`, 100_000);
      const filters: readonly EventFilter[] = [
        { body: conditions(1) },
        { body: conditions(8) },
        { body: conditions(8), bodyText: 'x', entity: 'order::ord_1', merchant: 'mer_7' },
      ];
      const parse = vi.spyOn(JSON, 'parse');
      for (const filter of filters) {
        parse.mockClear();
        await store.readOnly.search(filter, {});
        const bodies = parse.mock.calls.filter(([text]) => text.length > 50_000);
        expect(bodies).toHaveLength(5);
      }
    });

    it('is bounded by bytes times conditions, and it says where to go on', async () => {
      for (let n = 0; n < 20; n += 1) await storeLarge(inbox, `evt_${n}`, MIB, 'text');
      const one = await pagesOf(inbox, { body: conditions(1) });
      expect(one.map(({ examined }) => examined)).toEqual([20]);
      const eight = await pagesOf(inbox, { body: conditions(8) });
      for (const { examined } of eight) expect(examined).toBeLessThanOrEqual(8);
      expect(eight.length).toBeLessThanOrEqual(4);
      expect(eight.flatMap(({ events }) => events)).toHaveLength(20);
    });

    it('is bounded by time, and it gets on nevertheless', async () => {
      for (let n = 0; n < 12; n += 1) await storeLarge(inbox, `evt_${n}`, 100);
      clockThatRuns(1_000);
      const pages = await pagesOf(inbox, { body: conditions(1) });
      expect(pages.length).toBeGreaterThan(2);
      expect(pages.flatMap(({ events }) => events).map(({ id }) => id)).toEqual(
        Array.from({ length: 12 }, (_, n) => `evt_${11 - n}`),
      );
    });
  });

  it('deliveries have their turn between two events that are looked at, and within one whose body is large', async () => {
    await storeLarge(inbox, 'evt_1', MIB);
    clockThatRuns(11);
    const { turns, result } = await turnsOf(listEvents(inbox, { body: conditions(8) }));
    expect(result.events).toHaveLength(1);
    // Sixteen stretches of 64 KiB.
    expect(turns).toBeGreaterThanOrEqual(16);
  });

  it('ends with the reason of a signal, before it begins and while it rests', async () => {
    for (let n = 0; n < 30; n += 1) await storeLarge(inbox, `evt_${n}`, 100);
    const reason = new Error('nobody waits');
    await expect(listEvents(inbox, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    clockThatRuns(11);
    const stop = new AbortController();
    const page = listEvents(inbox, { body: conditions(8) }, { signal: stop.signal });
    setImmediate(() => stop.abort(reason));
    await expect(page).rejects.toBe(reason);
  });

  it('waits for none of those that were given up before', async () => {
    for (let n = 0; n < 30; n += 1) await storeLarge(inbox, `evt_${n}`, 100);
    clockThatRuns(11);
    const alone = await turnsOf(listEvents(inbox, { body: conditions(8) }));
    const gone = new AbortController();
    const given = Array.from({ length: 500 }, () =>
      listEvents(inbox, { body: conditions(8) }, { signal: gone.signal }),
    );
    const ended = Promise.allSettled(given);
    gone.abort();
    const behind = await turnsOf(listEvents(inbox, { body: conditions(8) }));
    expect(behind.result).toEqual(alone.result);
    expect(behind.turns).toBeLessThan(3 * alone.turns);
    expect((await ended).filter(({ status }) => status === 'rejected')).toHaveLength(500);
  });
});
