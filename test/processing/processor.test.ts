import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfigurationError, InboxUnavailableError, PermanentError } from '../../src/errors.ts';
import type { HandlerContext, Handlers } from '../../src/processing/handlers.ts';
import type { Attempt, Inbox, StoredEvent } from '../../src/index.ts';
import { schemaBy } from '../helpers/own-events.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { EVERYTHING } from '../../src/inbox/work.ts';
import { PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { backoffMs, DEFAULT_RETRY } from '../../src/inbox/rules/attempt.ts';
import { createProcessor, type Processor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { recordedLog, type RecordedLog } from '../helpers/recorded-log.ts';
import { Child } from '../helpers/child.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const LOCK_HOLDER = new URL('../inbox/lock-holder.ts', import.meta.url);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let clock: VirtualClock;
let inbox: Inbox;
let log: RecordedLog;
let rejections: unknown[];

beforeEach(() => {
  clock = new VirtualClock();
  inbox = sqliteInbox(scratchFile());
  log = recordedLog();
  rejections = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(async () => {
    await inbox.close();
    process.off('unhandledRejection', note);
    expect(rejections).toEqual([]);
  });
});

function processor(handlers: Handlers, options: Partial<ProcessorOptions> = {}): Processor {
  return createProcessor({ inbox, clock, logger: log.logger, ...options, handlers });
}

async function started(handlers: Handlers, options: Partial<ProcessorOptions> = {}): Promise<Processor> {
  const running = processor(handlers, options);
  onTestFinished(async () => {
    const closing = running.close();
    await clock.advance(20_000);
    await closing;
  });
  await running.start();
  await rest();
  return running;
}

async function event(id = 'evt_1'): Promise<StoredEvent> {
  const found = await inbox.get({ endpoint: 'default', id });
  if (found === null) throw new Error(`${id} is not there`);
  return found;
}

function attempts(id = 'evt_1'): Promise<readonly Attempt[]> {
  return inbox.attempts({ endpoint: 'default', id });
}

async function outcomes(id = 'evt_1'): Promise<readonly string[]> {
  return (await attempts(id)).map(({ outcome }) => outcome);
}

class Gate {
  readonly #ends: PromiseWithResolvers<void>[] = [];
  readonly contexts: HandlerContext[] = [];
  readonly ids: string[] = [];

  readonly handler = ({ id }: { readonly id: string }, context: HandlerContext): Promise<void> => {
    const end = Promise.withResolvers<void>();
    this.#ends.push(end);
    this.contexts.push(context);
    this.ids.push(id);
    return end.promise;
  };

  get begun(): number {
    return this.#ends.length;
  }

  async open(at = 0): Promise<void> {
    this.#ends[at]?.resolve();
    await rest();
  }

  async fail(at: number, reason: unknown): Promise<void> {
    this.#ends[at]?.reject(reason);
    await rest();
  }
}

const stored = (...ids: string[]) => store(inbox, ...ids.map((id) => orderEvent(id)));
const several = (count: number) => Array.from({ length: count }, (_, n) => orderEvent(`evt_${n + 1}`));
const storeSeveral = (count: number) => store(inbox, ...several(count));

describe('a processor', () => {
  it('runs the handler of each event and marks it processed', async () => {
    const handled: string[] = [];
    await stored('evt_1');
    await started({ 'order.created': ({ id, data }) => void handled.push(`${id} ${data.total}`) });
    await store(inbox, orderEvent('evt_2', { total: 7 }));
    await rest();
    expect(handled).toEqual(['evt_1 42.5', 'evt_2 7']);
    expect((await inbox.list()).map(({ state }) => state)).toEqual(['processed', 'processed']);
  });

  it('runs as many handlers at once as its concurrency says, and no more', async () => {
    const gate = new Gate();
    await storeSeveral(7);
    await started({ '*': gate.handler }, { processing: { concurrency: 3 } });
    expect(gate.begun).toBe(3);
    await clock.advance(5_000);
    expect(gate.begun).toBe(3);
    await gate.open(1);
    expect(gate.begun).toBe(4);
    await gate.open(0);
    await gate.open(2);
    expect(gate.begun).toBe(6);
    await stored('evt_8');
    await rest();
    expect(gate.begun).toBe(6);
  });

  it('runs the events of one entity in their order, one at a time', async () => {
    const gate = new Gate();
    await store(
      inbox,
      orderEvent('third', { order: 'a', createdAt: 3 }),
      orderEvent('first', { order: 'a', createdAt: 1 }),
      orderEvent('second', { order: 'a', createdAt: 2 }),
    );
    await started({ '*': gate.handler });
    for (let n = 0; n < 3; n += 1) {
      expect(gate.begun).toBe(n + 1);
      await gate.open(n);
    }
    expect(gate.ids).toEqual(['first', 'second', 'third']);
  });

  it('runs them side by side with ordering: false', async () => {
    const gate = new Gate();
    await store(inbox, orderEvent('one', { order: 'a' }), orderEvent('two', { order: 'a' }));
    await started({ '*': gate.handler }, { ordering: false });
    expect(gate.ids).toEqual(['one', 'two']);
  });

  it('keeps the lease of a handler that runs for long', async () => {
    const gate = new Gate();
    await stored('evt_1');
    await started({ '*': gate.handler }, { processing: { leaseMs: 1_000, timeoutMs: MINUTE } });
    await clock.advance(30_000);
    await gate.open();
    expect([gate.begun, (await event()).state]).toEqual([1, 'processed']);
  });

  it('tells a handler which attempt it is, whether it is superseded, and how the event came', async () => {
    const told: unknown[] = [];
    let failures = 1;
    await store(inbox, orderEvent('newer', { order: 'a', createdAt: 2 }));
    await started({
      '*': ({ id }, { attempt, superseded, delivery, signal }) => {
        told.push({ id, attempt, superseded, delivery, aborted: signal.aborted });
        if (id === 'older' && (failures -= 1) >= 0) throw new Error('not yet');
      },
    });
    await inbox.accept(
      { ...orderEvent('older', { order: 'a', createdAt: 1, receivedAt: START + 7 }), verified: false },
      later(),
    );
    await clock.advance(5_000);
    const facts = (receivedAt: number, verified: boolean) => ({
      endpoint: 'default',
      receivedAt: new Date(receivedAt),
      verified,
    });
    expect(told).toEqual([
      { id: 'newer', attempt: 1, superseded: false, delivery: facts(START, true), aborted: false },
      { id: 'older', attempt: 1, superseded: true, delivery: facts(START + 7, false), aborted: false },
      { id: 'older', attempt: 2, superseded: true, delivery: facts(START + 7, false), aborted: false },
    ]);
  });

  it('gives a handler a logger that says which event it is about', async () => {
    await stored('evt_1');
    await started({
      '*': (_, { log }) => {
        log.info({ order: 'ord_1' }, 'seen');
        log.warn({}, 'odd');
        log.error({ id: 'my own' }, 'wrong');
      },
    });
    const facts = { endpoint: 'default', id: 'evt_1', type: 'order.created', attempt: 1 };
    expect(log.lines).toEqual([
      { level: 'info', facts: { ...facts, order: 'ord_1' }, message: 'seen' },
      { level: 'warn', facts, message: 'odd' },
      { level: 'error', facts: { ...facts, id: 'my own' }, message: 'wrong' },
    ]);
  });

  it('is not disturbed by a logger that throws', async () => {
    const thrower = (): never => {
      throw new Error('the log is full');
    };
    await stored('evt_1', 'evt_2');
    await started(
      {
        '*': ({ id }, { log: own }) => {
          own.info({}, 'seen');
          if (id === 'evt_1') throw new PermanentError('no');
        },
      },
      { logger: { info: thrower, warn: thrower, error: thrower } },
    );
    expect([(await event('evt_1')).state, (await event('evt_2')).state]).toEqual(['dead', 'processed']);
  });
});

describe('the handler for', () => {
  it('* takes what has none of its own, unknown types too', async () => {
    const taken: string[] = [];
    await store(
      inbox,
      orderEvent('created'),
      orderEvent('ready', { type: 'order.ready' }),
      orderEvent('unknown', { type: 'order.refunded' }),
      orderEvent('odd', { type: 'constructor' }),
    );
    await started({
      'order.created': ({ id }) => void taken.push(`own ${id}`),
      '*': ({ id, type }) => void taken.push(`* ${id} ${type}`),
    });
    expect(taken).toEqual(['own created', '* ready order.ready', '* unknown order.refunded', '* odd constructor']);
  });

  it('a type that one processor lacks is that of another, which takes its events', async () => {
    const taken: string[] = [];
    await store(inbox, orderEvent('ready', { type: 'order.ready' }), orderEvent('created'));
    await started({ 'order.created': ({ id }) => void taken.push(id) });
    await clock.advance(5 * MINUTE);
    expect(taken).toEqual(['created']);
    expect((await event('ready')).state).toBe('pending');
    await started({ 'order.ready': ({ id }) => void taken.push(id) });
    expect(taken).toEqual(['created', 'ready']);
    expect((await event('ready')).state).toBe('processed');
  });

  it.each(['order.refunded', 'toString', 'order.Created', ''])(
    '%j, which is no type, is refused at creation',
    (type) => {
      expect(() => processor({ [type]: () => {} })).toThrow(ConfigurationError);
      expect(() => processor({ [type]: () => {} })).toThrow(/not an event type/);
    },
  );

  it.each([
    ['order.craeted', 'order.created'],
    ['orderCreated', 'order.created'],
    ['inventory.low-stock', 'inventory.low_stock'],
    ['loyalty.erned', 'loyalty.earned'],
  ])('%j was meant for %s, and is told so', (typed, meant) => {
    const events = { 'loyalty.earned': schemaBy((value) => ({ value })) };
    const create = () => createProcessor({ inbox, events, handlers: { [typed]: () => {} } });
    expect(create).toThrow(`not an event type. Did you mean ${meant}? Use '*'`);
  });

  it('nothing at all: a receive-only process takes nothing', async () => {
    await storeSeveral(3);
    await using receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiver.start();
    await receiver.receive(orderDelivery('evt_9'));
    await sleep(1_100);
    expect((await inbox.list()).map(({ state }) => state)).toEqual(Array.from({ length: 4 }, () => 'pending'));
  });
});

describe('options that cannot work are refused at creation:', () => {
  it.each([
    ['concurrency', { concurrency: 0 }],
    ['timeoutMs', { timeoutMs: 2 ** 31 }],
    ['leaseMs', { leaseMs: -1 }],
    ['retry: attempts', { retry: { attempts: 0 } }],
    ['retry: baseMs', { retry: { baseMs: Number.NaN } }],
    ['retry: baseMs', { retry: { baseMs: -1 } }],
    ['retry: maxMs', { retry: { maxMs: -1 } }],
  ])('%s of %j', (name, processing) => {
    expect(() => processor({}, { processing })).toThrow(name);
  });

  it('a retention of no days', () => {
    expect(() => processor({}, { retention: { processedDays: 0 } })).toThrow('processedDays');
  });
});

describe('the wait before a retry', () => {
  it('is anything from 0 to a limit that doubles with each failure, and is never above maxMs', () => {
    const retries = fc.record({
      attempts: fc.constant(20),
      baseMs: fc.integer({ min: 0, max: 100_000 }),
      maxMs: fc.integer({ min: 0, max: 1e9 }),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), retries, random, (failures, retry, chance) => {
        const limit = retry.baseMs === 0 ? 0 : Math.min(retry.maxMs, retry.baseMs * 2 ** (failures - 1));
        const wait = backoffMs(failures, retry, () => chance);
        expect(Number.isSafeInteger(wait)).toBe(true);
        expect(Math.abs(wait - chance * limit)).toBeLessThanOrEqual(0.5);
      }),
      { examples: [[1_100, { attempts: 20, baseMs: 0, maxMs: 0 }, 0.5]], numRuns: 1_000 },
    );
  });

  it('is spread over all of that, so that what failed together does not come back together', () => {
    const waits = Array.from({ length: 2_000 }, () => backoffMs(5, DEFAULT_RETRY));
    const tenths = new Set(waits.map((wait) => Math.floor(wait / 1_600)));
    expect(tenths.size).toBeGreaterThanOrEqual(10);
    expect(Math.max(...waits)).toBeLessThanOrEqual(16_000);
  });

  it('passes before the handler runs again', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    onTestFinished(() => void vi.restoreAllMocks());
    const at: number[] = [];
    await stored('evt_1');
    await started(
      {
        '*': () => {
          at.push(clock.now() - START);
          throw new Error('not yet');
        },
      },
      { processing: { retry: { baseMs: 400, maxMs: 3_000, attempts: 6 } } },
    );
    await clock.advance(15_000);
    const waits = at.slice(1).map((time, n) => time - (at[n] ?? 0));
    // Up to 400, 800, 1,600, 3,200 → 3,000, 3,000; an idle processor polls once a second.
    [400, 800, 1_600, 3_000, 3_000].forEach((wait, n) => {
      expect(waits[n]).toBeGreaterThanOrEqual(wait - 1);
      expect(waits[n]).toBeLessThanOrEqual(wait + 1_000);
    });
    expect(waits).toHaveLength(5);
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
  });
});

describe('a handler that fails', () => {
  it('is run again until it succeeds', async () => {
    let left = 3;
    await stored('evt_1');
    await started({
      '*': () => {
        if ((left -= 1) >= 0) throw new Error('not yet');
      },
    });
    await clock.advance(30_000);
    expect(await outcomes()).toEqual(['failed', 'failed', 'failed', 'processed']);
    expect((await event()).state).toBe('processed');
  });

  it('for the last time leaves its event dead(failed), which is told, and is run no more', async () => {
    const handler = vi.fn().mockRejectedValue(new TypeError('no such order'));
    await stored('evt_1');
    await started({ '*': handler }, { processing: { retry: { attempts: 3, baseMs: 1 } } });
    await clock.advance(MINUTE);
    expect(handler).toHaveBeenCalledTimes(3);
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
    const last = log.lines.at(-1);
    expect(last).toMatchObject({ level: 'error', facts: { id: 'evt_1', attempt: 3, error: 'TypeError' } });
    expect(last?.message).toContain('dead');
  });

  it.each([
    ['a PermanentError', new PermanentError('deleted')],
    [
      'that of another copy of hookbox',
      Object.assign(new Error('deleted'), { name: 'PermanentError', code: 'PERMANENT' }),
    ],
  ])('with %s is run no more', async (_, error) => {
    const handler = vi.fn().mockRejectedValue(error);
    await stored('evt_1');
    await started({ '*': handler });
    await clock.advance(MINUTE);
    expect(handler).toHaveBeenCalledTimes(1);
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
    expect(await attempts()).toMatchObject([
      { outcome: 'failed', error: { name: 'PermanentError', message: 'deleted' } },
    ]);
  });

  it('synchronously fails its own attempt and nothing else', async () => {
    await stored('evt_1', 'evt_2');
    await started(
      {
        '*': ({ id }) => {
          if (id === 'evt_1') throw new Error('at once');
        },
      },
      { processing: { retry: { attempts: 1 } } },
    );
    expect([(await event('evt_1')).state, (await event('evt_2')).state]).toEqual(['dead', 'processed']);
    expect(await attempts('evt_1')).toMatchObject([{ error: { name: 'Error', message: 'at once' } }]);
  });

  it('holds back the newer events of its entity, and no others', async () => {
    const handled: string[] = [];
    let fails = true;
    await store(
      inbox,
      orderEvent('a1', { order: 'a', createdAt: 1 }),
      orderEvent('a2', { order: 'a', createdAt: 2 }),
      orderEvent('b1', { order: 'b' }),
    );
    await started({
      '*': ({ id }) => {
        if (id === 'a1' && fails) throw new Error('not yet');
        handled.push(id);
      },
    });
    await clock.advance(3_000);
    expect(handled).toEqual(['b1']);
    fails = false;
    await clock.advance(20_000);
    expect(handled).toEqual(['b1', 'a1', 'a2']);
  });

  const oddities: readonly [string, () => unknown, string][] = [
    ['a string', () => 'no such order', 'string'],
    ['undefined', () => undefined, 'undefined'],
    ['null', () => null, 'object'],
    ['an object without a prototype', () => Object.create(null) as unknown, 'object'],
    ['a symbol', () => Symbol('odd'), 'symbol'],
    ['a BigInt', () => 10n, 'bigint'],
    ['a function', () => () => {}, 'function'],
    [
      'an object that refuses to be looked at',
      () => ({
        [Symbol.for('nodejs.util.inspect.custom')]() {
          throw new Error('no');
        },
      }),
      'object',
    ],
    ['a Proxy of which nothing can be read', () => new Proxy({}, REFUSING), 'object'],
    ['an Error whose message is no text', () => Object.assign(new Error('a'), { message: { code: 7 } }), 'Error'],
    ['an Error without a message', () => Object.assign(new Error('a'), { message: undefined }), 'Error'],
    ['an Error whose stack is no text', () => Object.assign(new Error('a'), { stack: 7 }), 'Error'],
  ];

  it.each(oddities)('by throwing %s has failed and is run again like any other', async (_, thrown, name) => {
    const runs: string[] = [];
    const throws = (): never => {
      throw thrown();
    };
    const ways: Record<string, (context: HandlerContext) => unknown> = {
      sync: throws,
      async: () => Promise.resolve().then(throws),
      transaction: (context) => context.transaction(throws),
    };
    await store(inbox, ...Object.keys(ways).map((id) => orderEvent(id)));
    await started(
      {
        '*': ({ id }, context) => {
          runs.push(`${id} ${context.attempt}`);
          return context.attempt === 1 ? ways[id]?.(context) : undefined;
        },
      },
      { processing: { retry: { attempts: 2, baseMs: 1 } } },
    );
    await clock.advance(3_000);
    expect(runs.toSorted()).toEqual(['async 1', 'async 2', 'sync 1', 'sync 2', 'transaction 1', 'transaction 2']);
    for (const id of Object.keys(ways)) {
      expect(await attempts(id)).toMatchObject([
        { outcome: 'failed', error: { name, message: expect.any(String) } },
        { outcome: 'processed' },
      ]);
    }
  });

  it.each([
    ['undefined', undefined],
    ['no text', 42],
    ['a symbol', Symbol('name')],
  ])('by throwing an Error whose name is %s has failed like any other', async (_, name) => {
    await stored('evt_1');
    const error = Object.assign(new Error('odd'), { name });
    await started({ '*': () => Promise.reject(error) }, { processing: { retry: { attempts: 1 } } });
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
    expect(await attempts()).toMatchObject([{ error: { name: expect.any(String), message: 'odd' } }]);
  });

  it('has its error kept, cut to 2,000 characters of message and 8,000 of stack, and a name no longer than that', async () => {
    await stored('error', 'text');
    const error = new Error('m'.repeat(50_000));
    error.name = 'N'.repeat(50_000);
    error.stack = 's'.repeat(50_000);
    await started(
      { '*': ({ id }) => Promise.reject(id === 'error' ? error : 't'.repeat(50_000)) },
      { processing: { retry: { attempts: 1 } } },
    );
    const [kept] = await attempts('error');
    expect(kept?.error?.message).toBe(`${'m'.repeat(2_000)}…`);
    expect(kept?.error?.stack).toBe(`${'s'.repeat(8_000)}…`);
    expect(kept?.error?.name.length).toBeLessThanOrEqual(2_001);
    expect((await attempts('text'))[0]?.error).toEqual({
      name: 'string',
      message: `${'t'.repeat(2_000)}…`,
      stack: null,
    });
  });
});

const REFUSING: ProxyHandler<object> = {
  get() {
    throw new Error('no');
  },
  getPrototypeOf() {
    throw new Error('no');
  },
  ownKeys() {
    throw new Error('no');
  },
};

it('an event whose stored body no longer fits is dead(invalid), with a message of bounded length', async () => {
  const items = Array.from({ length: 5_000 }, () => ({ price: 'free' }));
  const body = JSON.stringify({ id: 'evt_1', type: 'order.created', created: '2026-01-01T00:00:00Z', data: { items } });
  await inbox.accept(incoming({ body, receivedAt: START }), later());
  const handler = vi.fn();
  await started({ '*': handler });
  expect(handler).not.toHaveBeenCalled();
  expect(await event()).toMatchObject({ state: 'dead', deadReason: 'invalid' });
  const [attempt] = await attempts();
  expect(attempt?.error).toMatchObject({ name: 'InvalidEvent', stack: null });
  expect(attempt?.error?.message).toContain('data.items.0.price');
  expect(attempt?.error?.message.length).toBeLessThanOrEqual(2_001);
});

describe('a handler that takes too long', () => {
  const processing = { timeoutMs: 5_000, concurrency: 1, retry: { baseMs: 1, maxMs: 1 } };

  it('has its signal aborted with a TimeoutError, and has failed when it ends on that', async () => {
    const reasons: unknown[] = [];
    await stored('evt_1');
    await started(
      {
        '*': (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              reject(new Error('stopped'));
            });
          }),
      },
      { processing: { ...processing, retry: { attempts: 1 } } },
    );
    await clock.advance(4_999);
    expect(reasons).toEqual([]);
    await clock.advance(1);
    expect(reasons).toMatchObject([{ name: 'TimeoutError', message: expect.stringContaining('5000 ms') }]);
    expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'TimeoutError' } }]);
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
  });

  it('keeps its slot and its entity until it has ended', async () => {
    const gate = new Gate();
    await store(
      inbox,
      orderEvent('slow', { order: 'a' }),
      orderEvent('next', { order: 'a', createdAt: 1 }),
      orderEvent('other', { order: 'b', receivedAt: START + 1 }),
    );
    await started({ '*': gate.handler }, { processing });
    await clock.advance(5_000 + 29_000);
    expect([gate.ids, gate.contexts[0]?.signal.aborted]).toEqual([['slow'], true]);
    await gate.fail(0, new Error('stopped'));
    await clock.advance(1_000);
    expect(await outcomes('slow')).toEqual(['failed']);
    expect(gate.ids).toHaveLength(2);
    expect((await event('next')).state).toBe('pending');
  });

  it('gives them up after 30 s more, and what it does later counts for nothing', async () => {
    const gate = new Gate();
    await stored('evt_1');
    await started({ '*': gate.handler }, { processing });
    await clock.advance(5_000 + 29_999);
    expect(gate.begun).toBe(1);
    await clock.advance(2_000);
    expect(gate.begun).toBe(2);
    expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'TimeoutError' } }]);
    await gate.open(0);
    expect(await outcomes()).toEqual(['failed']);
    expect((await event()).state).toBe('processing');
    await gate.open(1);
    expect(await outcomes()).toEqual(['failed', 'processed']);
  });

  it('may reject long after that, without an unhandled rejection', async () => {
    const gate = new Gate();
    await stored('evt_1');
    await started({ '*': gate.handler }, { processing: { ...processing, retry: { attempts: 1 } } });
    await clock.advance(40_000);
    expect((await event()).state).toBe('dead');
    await gate.fail(0, new Error('much too late'));
    await sleep(20);
    expect(rejections).toEqual([]);
  });

  it('and writes through ctx.transaction after its timeout writes nothing', async () => {
    const gate = new Gate();
    const work = vi.fn();
    let late: Promise<unknown> | undefined;
    await stored('evt_1');
    await started(
      {
        '*': async (found, context) => {
          await gate.handler(found, context);
          late = context.transaction(work).catch((failure: unknown) => failure);
          await late;
        },
      },
      { processing: { ...processing, retry: { attempts: 1 } } },
    );
    await clock.advance(6_000);
    await gate.open();
    expect(await late).toMatchObject({ name: 'TimeoutError' });
    expect(work).not.toHaveBeenCalled();
    expect(await event()).toMatchObject({ state: 'dead', deadReason: 'failed' });
  });
});

describe('a handler that blocks the event loop for longer than its lease', () => {
  it('ends as ever, as long as nobody has taken its event over', async () => {
    let runs = 0;
    await stored('evt_1', 'evt_2');
    await started(
      {
        '*': ({ id }) => {
          if (id === 'evt_1') clock.block(16_000);
          runs += 1;
        },
      },
      { processing: { concurrency: 1 } },
    );
    await clock.advance(20_000);
    expect([runs, await outcomes('evt_1'), await outcomes('evt_2')]).toEqual([2, ['processed'], ['processed']]);
  });

  it('has its signal aborted once another processor has taken the event', async () => {
    const gate = new Gate();
    const other = new Gate();
    const otherClock = new VirtualClock();
    await stored('evt_1');
    await started({ '*': gate.handler });
    await otherClock.advance(16_000);
    const second = createProcessor({ inbox, clock: otherClock, logger: silent, handlers: { '*': other.handler } });
    await second.start();
    await rest();
    expect(other.begun).toBe(1);
    await clock.advance(16_000);
    expect(gate.contexts[0]?.signal).toMatchObject({ aborted: true, reason: { name: 'AbortError' } });
    await gate.open();
    expect((await event()).state).toBe('processing');
    await other.open();
    expect(await outcomes()).toEqual(['crashed', 'processed']);
    await second.close();
  });
});

describe('a machine that sleeps for hours', () => {
  it('takes nobody for crashed: handlers end, and each waits for the other to renew its leases', async () => {
    const one = new Gate();
    const other = new Gate();
    await stored('evt_1', 'evt_2');
    await started({ '*': one.handler }, { processing: { concurrency: 1, timeoutMs: DAY } });
    await started({ '*': other.handler }, { processing: { concurrency: 2, timeoutMs: DAY } });
    expect([one.ids, other.ids]).toEqual([['evt_1'], ['evt_2']]);
    clock.block(5 * 60 * MINUTE);
    await clock.advance(MINUTE);
    await one.open();
    await other.open();
    expect([one.begun, other.begun, await outcomes('evt_1'), await outcomes('evt_2')]).toEqual([
      1,
      1,
      ['processed'],
      ['processed'],
    ]);
  });

  it('has what a dead process left behind handled all the same', async () => {
    await stored('evt_1');
    await inbox.claim({ now: START, leaseMs: 15_000, ...EVERYTHING, ordered: true }, 1);
    await started({ '*': () => {} });
    clock.block(5 * 60 * MINUTE);
    await clock.advance(20_000);
    expect(await outcomes()).toEqual(['crashed', 'processed']);
  });
});

describe('a clock that is set', () => {
  let offset: number;
  const wall = { now: () => clock.now() + offset, after: (ms: number, then: () => void) => clock.after(ms, then) };

  beforeEach(() => {
    offset = 0;
  });

  it.each([-DAY, -60 * MINUTE, -MINUTE])('back by %d ms has a retry wait no longer for it', async (set) => {
    const handler = vi.fn().mockRejectedValueOnce(new Error('not yet'));
    await stored('evt_1');
    await started({ '*': handler }, { clock: wall });
    expect(handler).toHaveBeenCalledTimes(1);
    offset = set;
    await clock.advance(3_000);
    expect(await outcomes()).toEqual(['failed', 'processed']);
  });

  it('back has what waits for a slot handled', async () => {
    const gate = new Gate();
    await storeSeveral(3);
    await started({ '*': gate.handler }, { clock: wall, processing: { concurrency: 1 } });
    offset = -DAY;
    for (let n = 0; n < 3; n += 1) {
      await clock.advance(2_000);
      await gate.open(n);
    }
    expect((await inbox.list()).map(({ state }) => state)).toEqual(['processed', 'processed', 'processed']);
  });

  it('back has what a dead process left behind handled, also by one that starts afterwards', async () => {
    await stored('evt_1', 'evt_2', 'evt_3');
    const request = { now: wall.now(), leaseMs: 15_000, ...EVERYTHING, ordered: true } as const;
    await inbox.claim(request, 1);
    await started({ '*': () => {} }, { clock: wall, processing: { concurrency: 1 } });
    offset = -DAY;
    await clock.advance(17_000);
    expect(await outcomes('evt_1')).toEqual(['crashed', 'processed']);
    await store(inbox, orderEvent('evt_4', { receivedAt: START + DAY }));
    offset = -2 * DAY;
    await started({ '*': () => {} }, { clock: wall });
    expect(await outcomes('evt_4')).toEqual(['processed']);
  });

  it('to and fro takes no lease from a handler that runs', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const limits = { processing: { timeoutMs: 10 * MINUTE } };
    await started({ '*': gate.handler }, { clock: wall, ...limits });
    await started({ '*': gate.handler }, { clock: wall, ...limits });
    for (const set of [-60 * MINUTE, 60 * MINUTE, -6_000, 2 * DAY, 0, -MINUTE, -2 * MINUTE, MINUTE]) {
      offset = set;
      await clock.advance(20_000);
    }
    await gate.open();
    expect([gate.begun, await outcomes()]).toEqual([1, ['processed']]);
  });
});

describe('close()', () => {
  it('waits for the handlers that run, and lets nothing new begin', async () => {
    const gate = new Gate();
    await storeSeveral(3);
    const running = await started({ '*': gate.handler }, { processing: { concurrency: 2 } });
    let closed = false;
    const closing = running.close().then(() => (closed = true));
    await stored('evt_4');
    await clock.advance(2_000);
    await gate.open(0);
    await clock.advance(500);
    expect([closed, gate.begun, gate.contexts[1]?.signal.aborted]).toEqual([false, 2, false]);
    await gate.open(1);
    await closing;
    expect((await inbox.list()).map(({ state }) => state)).toEqual(['processed', 'processed', 'pending', 'pending']);
  });

  it.each([
    ['three seconds', {}, 3_000],
    ['three fifths of what it may take', { closeMs: 1_000 }, 600],
  ])('aborts their signals after %s; an attempt that ends on it does not count', async (_, limits, abortedMs) => {
    await stored('evt_1');
    const running = await started(
      {
        '*': (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      },
      { processing: { ...limits, retry: { attempts: 1 } } },
    );
    const closing = running.close();
    await clock.advance(abortedMs - 1);
    expect((await event()).state).toBe('processing');
    await clock.advance(1);
    await closing;
    expect(await outcomes()).toEqual(['interrupted']);
    expect((await event()).state).toBe('pending');
  });

  it('gives back at once what does not listen even to that, and what it does later counts for nothing', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({ '*': gate.handler }, { processing: { retry: { attempts: 1 } } });
    const closing = running.close();
    await clock.advance(4_000);
    await closing;
    expect(await outcomes()).toEqual(['interrupted']);
    const next = new Gate();
    await started({ '*': next.handler });
    expect(next.contexts).toMatchObject([{ attempt: 2 }]);
    await gate.fail(0, new Error('late'));
    expect(await outcomes()).toEqual(['interrupted']);
    await next.open();
    expect(await outcomes()).toEqual(['interrupted', 'processed']);
  });

  it('counts a handler that succeeds within the time it grants', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({ '*': gate.handler });
    const closing = running.close();
    await clock.advance(2_999);
    await gate.open();
    await closing;
    expect(await outcomes()).toEqual(['processed']);
  });

  it('runs a handler again that returned because it was told to stop: its work is half done', async () => {
    const done: string[] = [];
    const inSteps: Handlers['*'] = async (_, { attempt, signal }) => {
      for (const step of ['reserve', 'charge']) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(2_000, resolve);
          signal.addEventListener('abort', () => {
            cancel();
            resolve();
          });
        });
        if (signal.aborted) return;
        done.push(`${attempt} ${step}`);
      }
    };
    await stored('evt_1');
    const running = await started({ '*': inSteps }, { processing: { retry: { attempts: 1 } } });
    const closing = running.close();
    await clock.advance(4_000);
    await closing;
    expect([await outcomes(), (await event()).state]).toEqual([['interrupted'], 'pending']);
    await started({ '*': inSteps }, { processing: { retry: { attempts: 1 } } });
    await clock.advance(20_000);
    expect(done).toEqual(['1 reserve', '2 reserve', '2 charge']);
    expect(await outcomes()).toEqual(['interrupted', 'processed']);
  });

  it('counts what ctx.transaction has committed, although the handler was told to stop after it', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({
      '*': async (found, context) => {
        await context.transaction(() => {});
        await gate.handler(found, context);
      },
    });
    const closing = running.close();
    await clock.advance(3_500);
    await gate.open();
    await closing;
    expect([await outcomes(), (await event()).state]).toEqual([['processed'], 'processed']);
  });

  it('counts a timeout that came before it, also of a handler that does not listen', async () => {
    const gate = new Gate();
    await stored('listens', 'does not');
    const running = await started({ '*': gate.handler }, { processing: { timeoutMs: 5_000, retry: { attempts: 1 } } });
    await clock.advance(5_000);
    const closing = running.close();
    await clock.advance(3_500);
    await gate.open(0);
    await clock.advance(500);
    await closing;
    expect([await outcomes('listens'), await outcomes('does not')]).toEqual([['failed'], ['failed']]);
    expect((await inbox.list()).map(({ state }) => state)).toEqual(['dead', 'dead']);
  });

  it('writes how an attempt has ended that could not be written before, not that it was interrupted', async () => {
    let full = true;
    const settle: Inbox['settle'] = (...given) =>
      full ? Promise.reject(new InboxUnavailableError('FAILED', 'the disk is full')) : inbox.settle(...given);
    await stored('evt_1');
    const running = await started({ '*': () => {} }, { inbox: { ...inbox, settle } });
    const closing = running.close();
    await clock.advance(3_500);
    full = false;
    await clock.advance(1_000);
    await closing;
    expect(await outcomes()).toEqual(['processed']);
  });

  it('keeps the leases of what it waits for', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({ '*': gate.handler }, { processing: { leaseMs: 1_000, closeMs: 15_000 } });
    const closing = running.close();
    await clock.advance(8_000);
    await gate.open();
    await closing;
    expect(await outcomes()).toEqual(['processed']);
  });

  it.each([1, 4])(
    'is no crash where the process is killed meanwhile, as often as that may be: %i times',
    async (times) => {
      await stored('evt_1', 'evt_2');
      const log = recordedLog();
      for (let n = 1; n <= times; n += 1) {
        const gate = new Gate();
        let isDead = false;
        const dead = (): Promise<never> => new Promise(() => {});
        const killed: Inbox = { ...inbox, settle: (...given) => (isDead ? dead() : inbox.settle(...given)) };
        killed.renew = (...given) => (isDead ? dead() : inbox.renew(...given));
        const running = await started({ '*': gate.handler }, { inbox: killed, logger: log.logger });
        expect(gate.begun).toBe(2);
        void running.close();
        await clock.advance(500);
        isDead = true;
        await clock.advance(60_000);
      }
      await started({ '*': () => {} }, { logger: log.logger });
      await clock.advance(60_000);
      const ended = [...Array<string>(times).fill('interrupted'), 'processed'];
      expect([await outcomes('evt_1'), await outcomes('evt_2')]).toEqual([ended, ended]);
      const told = log.lines.filter(({ message }) => message.includes('killed before close() finished'));
      expect(new Set(told.map(({ level, facts: { id, attempt } }) => [level, id, attempt].join(' ')))).toEqual(
        new Set(Array.from({ length: times }, (_, n) => [1, 2].map((id) => `warn evt_${id} ${n + 1}`)).flat()),
      );
      expect(told).toHaveLength(2 * times);
    },
  );

  it('says in the log which handlers ran on after their signals, and of none that ended', async () => {
    const gate = new Gate();
    await stored('listens', 'does not');
    const log = recordedLog();
    const running = await started(
      {
        '*': (found, context) =>
          found.id === 'does not'
            ? gate.handler(found, context)
            : new Promise<void>((resolve) => {
                context.signal.addEventListener('abort', () => resolve());
              }),
      },
      { logger: log.logger },
    );
    const closing = running.close();
    await clock.advance(5_000);
    await closing;
    const told = log.lines.filter(({ message }) => message.startsWith('handler was still running after close()'));
    expect(told).toMatchObject([{ level: 'warn', facts: { id: 'does not', attempt: 1 } }]);
  });

  it('is idempotent, resolves where nothing was started, and leaves the inbox open', async () => {
    const never = processor({});
    await never.close();
    await never.start();
    await stored('evt_1');
    const running = await started({ '*': () => {} });
    await Promise.all([running.close(), running.close()]);
    await running.close();
    await running.start();
    await stored('evt_2');
    await clock.advance(5_000);
    expect((await event('evt_2')).state).toBe('pending');
  });

  it('resolves where the inbox cannot be told that it leaves', async () => {
    const failing = Object.assign({ ...inbox }, { leave: async () => Promise.reject(new Error('the disk is gone')) });
    const running = await started({ '*': () => {} }, { inbox: failing });
    await expect(running.close()).resolves.toBeUndefined();
  });

  it('happens at the end of a block with await using', async () => {
    await stored('evt_1');
    {
      await using running = processor({ '*': () => {} });
      await running.start();
      await rest();
    }
    await stored('evt_2');
    await clock.advance(5_000);
    expect([(await event('evt_1')).state, (await event('evt_2')).state]).toEqual(['processed', 'pending']);
  });

  it('leaves no timer behind', async () => {
    await storeSeveral(3);
    const running = await started({ '*': () => {} });
    await clock.advance(5_000);
    expect(clock.waiting).toBeGreaterThan(0);
    await running.close();
    await rest();
    expect(clock.waiting).toBe(0);
  });

  it('leaves none behind either when it comes while start() is under way', async () => {
    await stored('evt_1');
    const running = processor({ '*': () => {} });
    const starting = running.start();
    await running.close();
    await starting;
    await rest();
    expect(clock.waiting).toBe(0);
    expect((await event()).state).toBe('pending');
  });

  it('leaves none behind either that would keep the process alive for a handler that never ends', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({ '*': gate.handler });
    const closing = running.close();
    await clock.advance(11_000);
    await closing;
    expect(clock.waiting).toBe(0);
  });

  it('three times in a row, each while a handler runs, kills no event', async () => {
    await stored('evt_1');
    for (let restart = 0; restart < 3; restart += 1) {
      const gate = new Gate();
      const running = await started({ '*': gate.handler }, { processing: { retry: { attempts: 1 } } });
      expect(gate.begun).toBe(1);
      const closing = running.close();
      await clock.advance(11_000);
      await closing;
    }
    await started({ '*': () => {} }, { processing: { retry: { attempts: 1 } } });
    expect(await outcomes()).toEqual(['interrupted', 'interrupted', 'interrupted', 'processed']);
  });
});

describe('an attempt that has ended', () => {
  it('leaves no timer behind when its lease is found lost before that is written', async () => {
    const settling = Promise.withResolvers<void>();
    const slow: Inbox = {
      ...inbox,
      async settle(...all) {
        await settling.promise;
        return inbox.settle(...all);
      },
      renew: async () => [],
    };
    await stored('evt_1');
    const running = await started({ '*': () => {} }, { inbox: slow });
    await clock.advance(6_000);
    settling.resolve();
    await rest();
    await running.close();
    expect(clock.waiting).toBe(0);
  });
});

describe('an inbox that fails', () => {
  const failure = new InboxUnavailableError('FAILED', 'the disk is full');

  /** Methods fail as long as their name is in `broken`. */
  function breaking(broken: Set<keyof Inbox>): Inbox {
    return new Proxy(inbox, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        return broken.has(name as keyof Inbox) ? () => Promise.reject(failure) : value;
      },
    });
  }

  it('is asked again a second later, and told of seldom', async () => {
    const broken = new Set<keyof Inbox>(['claim', 'nextDue', 'renew', 'prune', 'announce']);
    const processing = breaking(broken);
    broken.delete('announce');
    await started({ '*': () => {} }, { inbox: processing });
    broken.add('announce');
    await stored('evt_1');
    await clock.advance(MINUTE);
    expect((await event()).state).toBe('pending');
    const told = log.lines.filter(({ level }) => level === 'error');
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(5);
    expect(told[0]?.facts).toMatchObject({ cause: 'the disk is full' });
    broken.clear();
    await clock.advance(1_000);
    expect((await event()).state).toBe('processed');
  });

  it('and answers again: the log says so, once, when all of it has been done', async () => {
    const broken = new Set<keyof Inbox>();
    const again = () => log.lines.filter(({ message }) => message === 'the inbox is available again');
    await started({ '*': () => {} }, { inbox: breaking(broken) });
    await clock.advance(MINUTE);
    expect(log.lines).toEqual([]);
    for (const call of ['claim', 'nextDue', 'settle'] as const) broken.add(call);
    await clock.advance(5_000);
    expect(log.lines.map(({ level }) => level)).toEqual(['error']);
    for (const call of ['claim', 'nextDue'] as const) broken.delete(call);
    await stored('evt_1');
    await clock.advance(MINUTE);
    expect(again()).toEqual([]);
    broken.clear();
    await clock.advance(MINUTE);
    expect((await event()).state).toBe('processed');
    expect(again()).toMatchObject([{ level: 'warn', facts: { failedForSeconds: expect.any(Number) } }]);
  });

  it('when start() is called rejects it, and start() may be called again', async () => {
    const broken = new Set<keyof Inbox>(['announce']);
    await stored('evt_1');
    const running = processor({ '*': () => {} }, { inbox: breaking(broken) });
    await expect(running.start()).rejects.toBe(failure);
    expect(clock.waiting).toBe(0);
    broken.clear();
    await running.start();
    await rest();
    expect((await event()).state).toBe('processed');
    await running.close();
  });

  it('when an attempt ends has the event handled again, at least once as promised', async () => {
    const broken = new Set<keyof Inbox>(['settle']);
    const handler = vi.fn();
    await stored('evt_1');
    await started({ '*': handler }, { inbox: breaking(broken) });
    expect(handler).toHaveBeenCalledTimes(1);
    broken.clear();
    await clock.advance(20_000);
    expect((await event()).state).toBe('processed');
  });

  it('for longer than a lease makes no crash of a handler that has succeeded', async () => {
    const broken = new Set<keyof Inbox>();
    const handler = vi.fn(() => {
      for (const call of ['settle', 'renew', 'claim'] as const) broken.add(call);
    });
    await stored('evt_1');
    await started({ '*': handler }, { inbox: breaking(broken) });
    for (let time = 1; time <= 3; time += 1) {
      await clock.advance(MINUTE);
      broken.delete('claim');
      await clock.advance(3_000);
    }
    broken.clear();
    await clock.advance(3_000);
    expect([handler.mock.calls.length, await outcomes()]).toEqual([1, ['processed']]);
  });

  it('for longer than a lease makes no crash of the handlers of another process, which may just be slower', async () => {
    const here = new Set<keyof Inbox>();
    const there = new Set<keyof Inbox>();
    const gate = new Gate();
    await stored('evt_1');
    await started({ '*': gate.handler }, { inbox: breaking(here), processing: { timeoutMs: DAY } });
    await started({ '*': gate.handler }, { inbox: breaking(there), processing: { timeoutMs: DAY } });
    for (let time = 1; time <= 3; time += 1) {
      for (const calls of [here, there]) for (const call of ['settle', 'renew', 'claim'] as const) calls.add(call);
      await clock.advance(MINUTE);
      there.clear();
      await clock.advance(5_000);
      here.clear();
      await clock.advance(MINUTE);
    }
    await gate.open();
    expect([gate.begun, await outcomes()]).toEqual([1, ['processed']]);
  });

  it('when leases are renewed is asked again a second later', async () => {
    const gate = new Gate();
    const renewedAt: number[] = [];
    const renew: Inbox['renew'] = (...given) => {
      renewedAt.push(clock.now() - START);
      return renewedAt.length === 1 ? Promise.reject(failure) : inbox.renew(...given);
    };
    await stored('evt_1');
    await started({ '*': gate.handler }, { inbox: { ...inbox, renew } });
    await clock.advance(12_000);
    await gate.open();
    expect(renewedAt).toEqual([5_000, 6_000, 11_000]);
  });

  it('when leases are renewed does not stop what runs', async () => {
    const broken = new Set<keyof Inbox>(['renew']);
    const gate = new Gate();
    await stored('evt_1');
    await started({ '*': gate.handler }, { inbox: breaking(broken) });
    await clock.advance(9_000);
    broken.clear();
    await clock.advance(20_000);
    await gate.open();
    expect(await outcomes()).toEqual(['processed']);
  });

  it('when it is closed while a handler runs does not keep close() from resolving', async () => {
    const gate = new Gate();
    await stored('evt_1');
    const running = await started({ '*': gate.handler });
    await inbox.close();
    const closing = running.close();
    await clock.advance(11_000);
    await closing;
    expect(clock.waiting).toBeLessThanOrEqual(2);
  });
});

describe('events that another process has stored', () => {
  it('are found within a second', async () => {
    const file = scratchFile();
    await using here = sqliteInbox(file);
    await using elsewhere = sqliteInbox(file);
    const handled: string[] = [];
    const running = createProcessor({
      inbox: here,
      clock,
      logger: silent,
      handlers: { '*': ({ id }) => void handled.push(id) },
    });
    await running.start();
    await clock.advance(5_000);
    await store(elsewhere, ...several(25));
    await rest();
    expect(handled).toEqual([]);
    await clock.advance(1_000);
    await rest(60);
    expect(handled).toHaveLength(25);
    await running.close();
  });
});

describe('while another process has the write lock for longer than a lease', () => {
  it('a claim waits for it, and its leases count from when it is made: no run is taken for a crash', async () => {
    const file = scratchFile();
    await using locked = sqliteInbox(file);
    const handled = vi.fn(() => sleep(50));
    await store(locked, orderEvent('evt_1'));
    await using running = createProcessor({
      inbox: locked,
      logger: silent,
      handlers: { 'order.created': handled },
      processing: { leaseMs: 400 },
    });
    await running.start();
    await vi.waitUntil(async () => (await locked.get({ endpoint: 'default', id: 'evt_1' }))?.state === 'processed', {
      timeout: 20_000,
    });

    await using elsewhere = sqliteInbox(file);
    await store(elsewhere, orderEvent('evt_2'));
    await using holder = new Child(LOCK_HOLDER, [file, '2000']);
    expect(await holder.line()).toBe('locked');
    expect(await holder.line()).toBe('released');
    await vi.waitUntil(async () => (await locked.get({ endpoint: 'default', id: 'evt_2' }))?.state === 'processed', {
      timeout: 10_000,
    });
    const kept = await locked.attempts({ endpoint: 'default', id: 'evt_2' });
    expect(kept.map(({ outcome }) => outcome)).toEqual(['processed']);
    expect(handled).toHaveBeenCalledTimes(2);
  });
});

it('an idle processor asks the database once a second, and nothing more', async () => {
  const statements: { readonly at: number; readonly sql: string }[] = [];
  const database = new Database(scratchFile(), {
    verbose: (sql) => void statements.push({ at: performance.now(), sql: String(sql) }),
  });
  onTestFinished(() => void database.close());
  await using quiet = sqliteInbox({ database }, { thread: false });
  await using running = createProcessor({
    inbox: quiet,
    logger: silent,
    handlers: { 'order.created': () => {}, 'order.ready': () => {}, 'cart.abandoned': () => {} },
  });
  await running.start();
  await sleep(200);
  statements.length = 0;
  await sleep(5_000);
  expect(statements.length).toBeLessThanOrEqual(5);
  expect(statements.length).toBeGreaterThanOrEqual(4);
  expect(new Set(statements.map(({ sql }) => sql.trim().slice(0, 6)))).toEqual(new Set(['SELECT']));
});

describe('handlers without start()', () => {
  it('are warned of once', async () => {
    await using receiver = createReceiver({ secret: SECRET, inbox, logger: log.logger, handlers: { '*': () => {} } });
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await receiver.receive(orderDelivery(id));
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining('start()')],
    ]);
  });

  it.each([
    ['after start()', { '*': () => {} }, true],
    ['where there are none', {}, false],
  ])('are not warned of %s', async (_, handlers: Handlers, start) => {
    await using receiver = createReceiver({ secret: SECRET, inbox, logger: log.logger, handlers });
    if (start) await receiver.start();
    await receiver.receive(orderDelivery('evt_1'));
    await sleep(20);
    expect(log.lines).toEqual([]);
  });
});

describe('retention', () => {
  it('makes tombstones of what was processed 30 days ago, however many those are', async () => {
    await storeSeveral(250);
    await started({ '*': () => {} }, { processing: { concurrency: 250 } });
    await rest(20);
    expect((await inbox.list({ limit: 300 })).every(({ state }) => state === 'processed')).toBe(true);
    clock.block(30 * DAY - MINUTE);
    await clock.advance(MINUTE - 1_000);
    expect(await bodies()).toBe(250);
    await clock.advance(2 * MINUTE);
    await expect.poll(bodies).toBe(0);
  });

  it.each([
    ['after as many days as it says', 2, 3, 0],
    ['never, with Infinity', Infinity, 4_000, 1],
  ])('makes them %s', async (_, processedDays, days, left) => {
    await stored('evt_1');
    await started({ '*': () => {} }, { retention: { processedDays } });
    clock.block(days * DAY);
    await clock.advance(2 * MINUTE);
    expect(await bodies()).toBe(left);
  });

  async function bodies(): Promise<number> {
    return (await inbox.list({ limit: 300 })).filter(({ body }) => body !== null).length;
  }
});

it('a type that nobody has handled is put away after ten minutes, which is said, and comes back by a rerun', async () => {
  await store(inbox, orderEvent('ready', { type: 'order.ready' }));
  await started({ 'order.created': () => {} });
  await clock.advance(PRESENT_MS - 1_000);
  expect((await event('ready')).state).toBe('pending');
  await clock.advance(5 * MINUTE + 2_000);
  expect((await event('ready')).state).toBe('ignored');
  expect(log.lines).toMatchObject([{ level: 'warn', facts: { type: 'order.ready', count: 1 } }]);

  const handled: string[] = [];
  await started({ 'order.ready': ({ id }) => void handled.push(id) });
  const { type, created, entity } = orderEvent('ready', { type: 'order.ready' });
  expect(await inbox.rerun({ endpoint: 'default', id: 'ready' }, { type, created, entity }, clock.now())).toBe(true);
  await rest();
  expect(handled).toEqual(['ready']);
});
