import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { abortableInbox } from '../../../src/page/shell.tsx';
import { visitorQueue } from '../../../src/page/safety/visitor-queue.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ADA, openedPage, signedIn, VIC, type OpenedPage } from './opened-page.ts';
import { bulkOf, stubVisit } from './stub-visit.ts';

const BOUNDS = { concurrent: 3, concurrentEach: 2, waiting: 5, waitingEach: 3 };

describe('the queue of those who look something up', () => {
  const never = new AbortController().signal;

  function entering(bounds = BOUNDS) {
    const queue = visitorQueue(bounds);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    return {
      begun,
      end: async (name: string) => {
        ends.get(name)?.();
        await turn();
      },
      enter: async (name: string, signal = never) => {
        const end = await queue.enter(name[0] ?? '', signal);
        if (end === 'full') return 'full';
        begun.push(name);
        ends.set(name, end);
        return 'begun';
      },
    };
  }

  test('a visitor has so many turns, all of them so many, and who waits less comes first', async () => {
    const { begun, enter, end } = entering();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) void enter(name);
    await turn();
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    await end('b1');
    expect(begun.slice(3)).toEqual(['b2']);
    await end('a2');
    await end('a2');
    expect(begun.slice(4)).toEqual(['a3']);
    await end('a1');
    expect(begun.slice(5)).toEqual(['a4']);
    await end('a3');
    expect(begun.slice(6)).toEqual(['c1']);
  });

  test('so many wait of each, and of all, and the next one is told so', async () => {
    const { enter, end } = entering();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void enter(name);
    await turn();
    expect(await enter('a6')).toBe('full');
    void enter('b1');
    for (const name of ['b2', 'c1']) void enter(name);
    await turn();
    expect(await enter('d1')).toBe('full');
    await end('a1');
    void enter('d2');
    await turn();
    expect(await enter('d3')).toBe('full');
  });

  test('who has gone leaves it at once, and never has a turn', async () => {
    const { begun, enter, end } = entering({ ...BOUNDS, waitingEach: 1 });
    for (const name of ['a1', 'a2']) void enter(name);
    for (let n = 0; n < 1_000; n += 1) {
      const gone = new AbortController();
      const waiting = enter('a3', gone.signal);
      gone.abort(new Error('gone'));
      await expect(waiting).rejects.toThrow('gone');
    }
    await expect(enter('a4', AbortSignal.abort(new Error('gone before')))).rejects.toThrow('gone before');
    await end('a1');
    expect(begun).toEqual(['a1', 'a2']);
    expect(await enter('a5')).toBe('begun');
  });
});

describe('a page that somebody floods', () => {
  const SEARCH = '/events?body=data.total%3D1';

  async function floodedPage(): Promise<{
    readonly page: OpenedPage;
    readonly ask: (path: string, who?: typeof ADA | typeof VIC, signal?: AbortSignal) => Promise<Response>;
    readonly goOn: () => void;
    readonly searches: () => number;
  }> {
    const page = openedPage();
    await store(page.inbox, orderEvent('evt_1'));
    const operations = operationsOf(page.inbox);
    const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
    onTestFinished(() => goOn());
    const searched = operations.search.bind(operations);
    const search = vi.spyOn(operations, 'search').mockImplementation(async (filter, request) => {
      if (filter.body !== undefined) await gate;
      return searched(filter, request);
    });
    const searches = (): number => search.mock.calls.filter(([filter]) => filter.body !== undefined).length;
    const ask = async (path: string, who: typeof ADA | typeof VIC = VIC, signal = new AbortController().signal) =>
      page.app.request(`http://shop.example/ops${path}`, { headers: signedIn(who), signal });
    return { page, ask, goOn, searches };
  }

  test('answers 429 beyond what may wait, and others as ever', async () => {
    const { ask, goOn, searches } = await floodedPage();
    const answers = Array.from({ length: 60 }, () => ask(SEARCH));
    for (const path of ['', '/health', '/events', '/metrics']) expect((await ask(path, ADA)).status).toBe(200);
    expect(searches()).toBe(2);
    const refused = await ask('');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await refused.text()).toContain('The page is busy.');
    expect((await ask('/assets/page.js')).status).toBe(200);
    expect((await ask('/health/ready')).status).toBe(200);
    goOn();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(18);
    expect(statuses.filter((status) => status === 429)).toHaveLength(42);
    expect((await ask('')).status).toBe(200);
  });

  test('is free again when those who flooded it have gone', async () => {
    const { page, ask, goOn, searches } = await floodedPage();
    for (let n = 0; n < 500; n += 1) {
      const gone = new AbortController();
      void ask(SEARCH, VIC, gone.signal);
      await turn();
      gone.abort();
    }
    await turn();
    expect(searches()).toBe(2);
    goOn();
    expect((await ask('', VIC)).status).toBe(200);
    expect((await ask(SEARCH, VIC)).status).toBe(200);
    expect(searches()).toBe(3);
    await page.inbox.close();
  });

  test.for(['', '/health', '/dead', '/events?q=evt', '/metrics'])(
    'asks nothing more of the inbox for whoever has gone from %s',
    async (path) => {
      const { app, inbox } = openedPage();
      await store(inbox, orderEvent('evt_1'));
      const gone = new AbortController();
      const operations = operationsOf(inbox);
      let calls = 0;
      let after = 0;
      for (const [name, asked] of Object.entries(operations)) {
        const ask: unknown = asked;
        if (typeof ask !== 'function') continue;
        Object.assign(operations, {
          [name]: (...given: readonly unknown[]): unknown => {
            calls += 1;
            if (gone.signal.aborted) after += 1;
            gone.abort();
            return Reflect.apply(ask, operations, given);
          },
        });
      }
      await app.request(`http://shop.example/ops${path}`, { headers: signedIn(ADA), signal: gone.signal });
      expect(calls).toBe(1);
      expect(after).toBe(0);
    },
  );
});

test('what was found out for one visitor is known to the next', async () => {
  const { inbox, html } = openedPage();
  const heartbeat = { ms: 1, silentMs: 120_000, stopped: false };
  const silent = bulkOf({ state: 'running', startedAt: new Date(), worked: 32, audit: 3, heartbeat });
  const bulk = vi.spyOn(operationsOf(inbox), 'bulk').mockImplementation(async () => silent);
  const asked: number[] = [];
  for (let visits = 0; visits < 3; visits += 1) {
    expect(await html('/bulks/7')).toContain('its process ended');
    asked.push(bulk.mock.calls.length);
  }
  // The first visitor has looked twice at whether it lives, a moment apart; each also counts its outcome.
  expect(asked).toEqual([3, 5, 7]);
});

test('an inbox for somebody who has gone rejects with the reason, and has what the inbox has', async () => {
  const { operated } = stubVisit();
  const gone = new AbortController();
  const inbox = abortableInbox(Object.freeze({ ...operated.inbox }), gone.signal);
  expect(inbox.file).toBe('hookbox.db');
  expect(inbox.schema).toBeUndefined();
  expect(await inbox.unhandled(0)).toEqual([]);
  expect(await operationsOf(inbox).deadGroups()).toEqual([]);
  const reason = new Error('gone');
  gone.abort(reason);
  await expect(inbox.unhandled(0)).rejects.toBe(reason);
  await expect(operationsOf(inbox).gauges()).rejects.toBe(reason);
});

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
