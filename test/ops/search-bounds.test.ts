import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventFilter, PayloadCondition } from '../../src/inbox/operator/filter.ts';
import type { EventPage } from '../../src/inbox/operator/search.ts';
import type { Access } from '../../src/inbox/sqlite/operator/access.ts';
import { search } from '../../src/inbox/sqlite/operator/search/event-search.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { listEvents } from '../../src/ops/find.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { stats } from '../../src/ops/stats.ts';
import { exportEvents } from '../../src/ops/export.ts';
import { previewBulk } from '../../src/ops/bulks.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { openedPage } from './page/opened-page.ts';
import { partOf, textOf } from './page/read-html.ts';
import { plantDead } from './events-in-states.ts';

const MIB = 1024 * 1024;

let database: ReturnType<typeof merchantDatabase>;
let inbox: Inbox;
beforeEach(() => {
  database = merchantDatabase();
  inbox = sqliteInbox({ database });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await inbox.close();
});

const conditions = (count: number, value = 'x'): readonly PayloadCondition[] =>
  Array.from({ length: count }, (_, n) => ({ path: `data.f${n}`, value }));

/** An event whose body has eight fields that fit, and is as large as asked for. */
async function storeLarge(id: string, bytes: number, pad: 'list' | 'text' = 'list'): Promise<void> {
  const fields = Object.fromEntries(conditions(8).map(({ path, value }) => [path.slice('data.'.length), value]));
  const large = pad === 'text' ? 'x'.repeat(bytes) : Array.from({ length: Math.floor(bytes / 3) }, () => 10);
  const body = JSON.stringify({ id, type: 'order.created', data: { large, ...fields } });
  expect(await inbox.accept(incoming({ id, body }), later())).toMatchObject({ result: 'stored' });
}

async function pagesOf(filter: EventFilter): Promise<readonly EventPage[]> {
  const pages: EventPage[] = [];
  for (let before: number | null | undefined; before !== null;) {
    const page = await listEvents(inbox, filter, { before: before ?? null });
    pages.push(page);
    before = page.next;
  }
  return pages;
}

/** From here on each look at the clock finds it so much later. */
function clockThatRuns(stepMs: number): void {
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += stepMs));
}

/** How often the event loop turned while something was done: deliveries are taken in at each of these. */
async function turnsOf<T>(work: Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
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

async function linesOf(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

/** Of a URL in which a field stands again and again. */
function queryOf(field: string, values: readonly string[]): string {
  return new URLSearchParams(values.map((value): [string, string] => [field, value])).toString();
}

describe('a filter that asks for too much', () => {
  it.each<readonly [string, EventFilter, RegExp]>([
    ['nine conditions on the body', { payload: conditions(9) }, /8 values of payload at most, and this one has 9/],
    ['very many conditions', { payload: conditions(100_000) }, /8 values of payload at most, and this one has 100000/],
    ['very many types', { types: Array.from({ length: 101 }, String) }, /100 values of types at most/],
    ['very many states', { states: Array.from({ length: 101 }, () => 'dead' as const) }, /100 values of states/],
    ['a long text', { entity: 'x'.repeat(1_001) }, /entity is longer than 1000 characters/],
    ['a long type', { types: ['x'.repeat(1_001)] }, /types is longer than 1000 characters/],
    ['a long value', { payload: [{ path: 'a', value: 'x'.repeat(1_001) }] }, /payload is longer than 1000/],
    ['a deep path', { payload: [{ path: 'a.'.repeat(600) + 'a', value: '' }] }, /payload is longer than 1000/],
  ])('is refused before anything is looked at: %s', async (_, filter, said) => {
    const refused = {
      name: 'ConfigurationError',
      code: 'INVALID_OPTION',
      message: expect.stringMatching(said) as unknown,
    };
    await expect(listEvents(inbox, filter)).rejects.toMatchObject(refused);
    await expect(linesOf(exportEvents(inbox, { actor: 'ada' }, filter))).rejects.toMatchObject(refused);
    await expect(previewBulk(inbox, 'rerun', filter, { actor: 'ada' })).rejects.toMatchObject(refused);
  });

  it('is refused by the page in the same words, and nothing is looked at', async () => {
    const { inbox: shown, html } = openedPage();
    const looked = vi.spyOn(shown.operations ?? {}, 'search' as never);
    const nine = conditions(9).map(({ path, value }) => `${path}=${value}`);
    const page = await html(`/events?${queryOf('payload', nine)}`);
    expect(textOf(partOf(page, 'problems'))).toContain(
      'A filter takes 8 values of payload at most, and this one has 9. Leave some out.',
    );
    const types = Array.from({ length: 101 }, (_, n) => `t${n}`);
    const other = await html(`/events?${queryOf('type', types)}`);
    expect(textOf(partOf(other, 'problems'))).toContain('A filter takes 100 values of types at most');
    expect(looked).not.toHaveBeenCalled();
  });

  it('is told what is wrong ten times at most', async () => {
    const { html } = openedPage();
    const wrong = Array.from({ length: 500 }, (_, n) => `s${n}`);
    const page = await html(`/events?${queryOf('state', wrong)}`);
    expect(partOf(page, 'problems').match(/<li/g)).toHaveLength(10);
  });
});

describe('what a page of a search looks at', () => {
  it('is parsed once for each event, whatever is asked of it', async () => {
    for (let n = 0; n < 5; n += 1) await storeLarge(`evt_${n}`, 100_000);
    const filters: readonly EventFilter[] = [
      { payload: conditions(1) },
      { payload: conditions(8) },
      // By the body as well, as long as nothing is indexed.
      { payload: conditions(8), entity: 'order::ord_1', merchant: 'mer_7' },
    ];
    const parse = vi.spyOn(JSON, 'parse');
    for (const filter of filters) {
      parse.mockClear();
      // Nobody can write, so nothing becomes indexed.
      const access: Access = {
        database: () => database,
        write: () => Promise.reject(new Error('full')),
        alone: async (work) => work(database),
        notify() {},
      };
      await search(access).search(filter, {});
      const bodies = parse.mock.calls.filter(([text]) => text.length > 50_000);
      expect(bodies).toHaveLength(5);
    }
  });

  it('is bounded by bytes times conditions, and it says where to go on', async () => {
    for (let n = 0; n < 20; n += 1) await storeLarge(`evt_${n}`, MIB, 'text');
    const one = await pagesOf({ payload: conditions(1) });
    expect(one.map(({ examined }) => examined)).toEqual([20]);
    const eight = await pagesOf({ payload: conditions(8) });
    for (const { examined } of eight) expect(examined).toBeLessThanOrEqual(8);
    expect(eight.length).toBeLessThanOrEqual(4);
    expect(eight.flatMap(({ events }) => events)).toHaveLength(20);
  });

  it('is bounded by time, and it gets on nevertheless', async () => {
    for (let n = 0; n < 12; n += 1) await storeLarge(`evt_${n}`, 100);
    clockThatRuns(1_000);
    const pages = await pagesOf({ payload: conditions(1) });
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flatMap(({ events }) => events).map(({ id }) => id)).toEqual(
      Array.from({ length: 12 }, (_, n) => `evt_${11 - n}`),
    );
  });
});

describe('deliveries have their turn', () => {
  it('between two events that are looked at, and within one whose body is large', async () => {
    await storeLarge('evt_1', MIB);
    clockThatRuns(11);
    const { turns, result } = await turnsOf(listEvents(inbox, { payload: conditions(8) }));
    expect(result.events).toHaveLength(1);
    // Sixteen stretches of 64 KiB.
    expect(turns).toBeGreaterThanOrEqual(16);
  });

  it('between any two slices, however many search at once', async () => {
    for (let n = 0; n < 30; n += 1) await storeLarge(`evt_${n}`, 100);
    clockThatRuns(11);
    let turn = 0;
    const looking = new Map<number, Set<number>>();
    const searches = Array.from({ length: 20 }, (_, number) => {
      const access: Access = {
        database() {
          looking.set(turn, (looking.get(turn) ?? new Set()).add(number));
          return database;
        },
        write: () => Promise.reject(new Error('not needed')),
        alone: async (work) => work(database),
        notify() {},
      };
      return search(access).search({ payload: conditions(8) }, {});
    });
    let over = false;
    const next = (): void => {
      turn += 1;
      if (!over) setImmediate(next);
    };
    setImmediate(next);
    const pages = await Promise.all(searches).finally(() => (over = true));
    for (const { events } of pages) expect(events).toHaveLength(30);
    // The turn is counted at one point of it, so two that follow one another may seem to be one.
    expect(Math.max(...Array.from(looking.values(), ({ size }) => size))).toBeLessThanOrEqual(2);
  });

  it('between any two steps of what was counted, however many ask at once', async () => {
    clockThatRuns(11);
    let turn = 0;
    const sums = new Map<number, number>();
    const operations = operationsOf(inbox);
    const counted: Inbox = {
      ...inbox,
      operations: {
        ...operations,
        totals(span) {
          sums.set(turn, (sums.get(turn) ?? 0) + 1);
          return operations.totals(span);
        },
      },
    };
    let over = false;
    const next = (): void => {
      turn += 1;
      if (!over) setImmediate(next);
    };
    setImmediate(next);
    await Promise.all(Array.from({ length: 20 }, () => stats(counted, { steps: 10 }))).finally(() => (over = true));
    expect(Math.max(...sums.values())).toBeLessThanOrEqual(2);
    expect(Array.from(sums.values()).reduce((a, b) => a + b, 0)).toBe(200);
  });

  it('while groups of dead events are put together', async () => {
    plantDead(database, ...severalIncoming(400));
    database.exec("UPDATE hookbox_events SET fingerprint = printf('%016x', seq) WHERE state = 'dead'");
    clockThatRuns(11);
    const { turns, result } = await turnsOf(inbox.operations?.deadGroups() ?? Promise.resolve([]));
    expect(result).toHaveLength(200);
    expect(turns).toBeGreaterThanOrEqual(500);
  });
});
