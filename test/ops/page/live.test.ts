import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createReceiver, type Receiver } from '../../../src/receive/receiver.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { opsPage } from '../../../src/page/operators-page.tsx';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import { watchChanges, type Standing, liveStreams } from '../../../src/page/live-updates.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { ADA, openedPage, signedIn } from './opened-page.ts';
import { bulkOf, noGauges, summary } from './stub-visit.ts';

function changingInbox(): {
  inbox: Inbox;
  now: { newest: number; rows: CountRow[]; worked: number; acts: number; fails: boolean };
  looks: () => number;
} {
  const now = { newest: 1, rows: [] as CountRow[], worked: 0, acts: 0, fails: false };
  let looks = 0;
  const operations = {
    search: async () => {
      looks += 1;
      if (now.fails) throw new Error('busy');
      return { events: [summary({ seq: now.newest })], next: null, examined: 1 };
    },
    counts: async () => now.rows,
    lines: async () => ({
      lines: [
        {
          seq: 1,
          at: new Date(),
          actor: 'a',
          via: 'page',
          act: 'prune',
          reason: null,
          filter: {},
          counts: { pruned: now.acts },
        },
      ],
      next: null,
    }),
    bulks: async () => [bulkOf({ worked: now.worked })],
    gauges: async () => noGauges,
  };
  return { inbox: { operations } as unknown as Inbox, now, looks: () => looks };
}

function counted(count: number, at = 60_000): CountRow {
  return { at, what: 'stored', detail: 'order.created', count };
}

describe('watching for changes', () => {
  test('tells at once how things stand, and then only what has changed', async () => {
    const { inbox, now, looks } = changingInbox();
    const told: Standing[] = [];
    onTestFinished(watchChanges(inbox, { everyMs: 2 }).listen((standing) => told.push(standing)));
    const sees = (versions: number): Promise<void> =>
      vi.waitFor(() => expect(told.length).toBe(versions), { interval: 2, timeout: 20_000 });
    await sees(1);
    expect(told[0]).toEqual({ newest: 1, ...pick(noGauges), version: 1 });

    for (const change of [
      () => (now.newest = 2),
      () => now.rows.push(counted(1)),
      () => (now.rows[0] = counted(2)),
      () => (now.worked = 5),
      () => (now.acts = 50),
    ]) {
      change();
      await sees((told.at(-1)?.version ?? 0) + 1);
    }

    const before = looks();
    // The minute of these counts is over: nothing has changed by that.
    now.rows.length = 0;
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(before + 5), { interval: 2, timeout: 20_000 });
    expect(told.length).toBe(6);
  });

  test('one look serves all who listen, and none is made when nobody does', async () => {
    const { inbox, looks } = changingInbox();
    const changes = watchChanges(inbox, { everyMs: 2 });
    await sleep(20);
    expect(looks()).toBe(0);

    let told = 0;
    const stops = Array.from({ length: 50 }, () => changes.listen(() => (told += 1)));
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(3), { interval: 2, timeout: 20_000 });
    expect(told).toBe(50);
    expect(looks()).toBeLessThan(50);
    for (const stop of stops) stop();
    await sleep(10);
    const atTheEnd = looks();
    await sleep(20);
    expect(looks()).toBe(atTheEnd);
  });

  test('whoever comes later is told at once, also what happened while nobody listened', async () => {
    const { inbox, now } = changingInbox();
    const changes = watchChanges(inbox, { everyMs: 1_000_000 });
    const first = await new Promise<Standing>((resolve) => changes.listen(resolve));
    const second = await new Promise<Standing>((resolve) => changes.listen(resolve));
    expect(second).toEqual(first);

    const alone = watchChanges(inbox, { everyMs: 1_000_000 });
    let stop = (): void => {};
    await new Promise<void>((resolve) => (stop = alone.listen(() => resolve())));
    stop();
    now.newest = 9;
    const told: number[] = [];
    onTestFinished(alone.listen(({ newest }) => told.push(newest)));
    await vi.waitFor(() => expect(told.at(-1)).toBe(9), { interval: 2, timeout: 20_000 });
  });

  test('a look that fails is made again', async () => {
    const { inbox, now } = changingInbox();
    const told: number[] = [];
    now.fails = true;
    onTestFinished(watchChanges(inbox, { everyMs: 2 }).listen(({ newest }) => told.push(newest)));
    await sleep(20);
    expect(told).toEqual([]);
    now.fails = false;
    await vi.waitFor(() => expect(told).toEqual([1]), { interval: 2, timeout: 20_000 });
  });
});

describe('a stream', () => {
  const standing: Standing = { newest: 7, ...pick(noGauges), version: 3 };

  function streams(options: Parameters<typeof liveStreams>[1] = {}): {
    answer: (init?: RequestInit) => Response;
    change: (standing: Standing) => void;
    listeners: Set<unknown>;
  } {
    const listeners = new Set<(standing: Standing) => void>();
    const respond = liveStreams(
      { listen: (listener) => (listeners.add(listener), () => void listeners.delete(listener)) },
      options,
    );
    return {
      answer: (init) => respond(new Request('http://shop.example/ops/live', init)),
      change: (now) => listeners.forEach((listener) => listener(now)),
      listeners,
    };
  }

  test('tells of changes as a small JSON, in the form of server-sent events', async () => {
    const { answer, change } = streams();
    const response = answer();
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const reader = textReader(response);
    expect(await reader.read()).toBe('retry: 3000\n\n');
    change(standing);
    const [event = '', data = '', ...end] = (await reader.read()).split('\n');
    expect([event, ...end]).toEqual(['event: changed', '', '']);
    expect(JSON.parse(data.replace(/^data: /, ''))).toEqual(standing);
    await reader.cancel();
  });

  test('who reads slowly hears the newest, and is not kept everything for', async () => {
    const { answer, change } = streams();
    const reader = textReader(answer());
    for (let version = 1; version <= 1_000; version += 1) change({ ...standing, version });
    const versions: number[] = [];
    while (versions.at(-1) !== 1_000) {
      const [, version] = /"version":(\d+)/.exec(await reader.read()) ?? [];
      if (version !== undefined) versions.push(Number(version));
    }
    expect(versions.length).toBeLessThan(10);
    await reader.cancel();
  });

  test.for([
    ['the client goes', async (reader: TextReader) => reader.cancel()],
    ['the request is aborted', async (...[, abort]: [TextReader, AbortController]) => abort.abort()],
  ] as const)('ends when %s, and lets go of what it listened to', async ([, go]) => {
    const { answer, listeners } = streams();
    const abort = new AbortController();
    const reader = textReader(answer({ signal: abort.signal }));
    await reader.read();
    expect(listeners.size).toBe(1);
    await go(reader, abort);
    expect(listeners.size).toBe(0);
  });

  test('gives a sign when nothing changes, and ends after a while so that the visitor is asked again', async () => {
    const { answer, listeners } = streams({ heartbeatMs: 2, longestMs: 30 });
    const text = await answer().text();
    expect(text).toMatch(/^retry: 3000\n\n(?:: still here\n\n)+$/);
    expect(listeners.size).toBe(0);
  });

  test('is one of so many, and none for a HEAD', async () => {
    const { answer, listeners } = streams({ maxStreams: 2 });
    const readers = [answer(), answer()].map(textReader);
    expect(answer({ method: 'HEAD' }).status).toBe(503);
    expect(answer().status).toBe(503);
    await readers[0]?.cancel();
    expect(answer({ method: 'HEAD' }).body).toBeNull();
    expect(listeners.size).toBe(1);
    expect(answer().status).toBe(200);
  });
});

test('the page streams what happens in the inbox', async () => {
  const { get, inbox } = openedPage();
  const reader = textReader(await get('/live'));
  const newest = async (): Promise<number> => {
    const [, seq] = /"newest":(\d+)/.exec(await reader.read()) ?? [];
    return seq === undefined ? newest() : Number(seq);
  };
  expect(await newest()).toBe(0);
  await store(inbox, orderEvent('evt_1'));
  expect(await newest()).toBe(1);
  await reader.cancel();
});

describe('an open page', () => {
  const SECRET = 'a signing secret';

  test.for([
    ['its receiver', async (receiver: Receiver) => receiver.close()],
    ['its inbox', async ({ inbox }: Receiver) => inbox.close()],
  ] as const)('is brought up to date until %s closes', async ([, close]) => {
    for (const thread of [false, true]) {
      const receiver = createReceiver({ secret: SECRET, inbox: sqliteInbox(scratchFile(), { thread }) });
      onTestFinished(() => receiver.inbox.close());
      onTestFinished(() => receiver.close());
      const page = opsPage(receiver, { basic: [ADA] });
      const ask = async () => page.request('http://shop.example/live', { headers: signedIn(ADA) });
      const streams = [textReader(await ask()), textReader(await ask())];
      for (const { read } of streams) await read();
      await close(receiver);
      for (const { read } of streams) {
        await expect(
          (async () => {
            for (;;) await read();
          })(),
        ).rejects.toThrow('the stream has ended');
      }
      expect((await ask()).status).toBe(503);
    }
  });
});

interface TextReader {
  readonly read: () => Promise<string>;
  readonly cancel: () => Promise<void>;
}

function textReader(response: Response): TextReader {
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error('there is no body');
  return {
    async read() {
      const { value, done } = await reader.read();
      if (done) throw new Error('the stream has ended');
      return Buffer.from(value).toString();
    },
    cancel: () => reader.cancel(),
  };
}

function pick({
  pending,
  retrying,
  processing,
  dead,
}: typeof noGauges): Pick<Standing, 'pending' | 'retrying' | 'processing' | 'dead'> {
  return { pending, retrying, processing, dead };
}
