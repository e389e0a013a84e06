import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createProcessor, type Processor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { recordedLog, type RecordedLog } from '../helpers/recorded-log.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let clock: VirtualClock;
let log: RecordedLog;
beforeEach(() => {
  clock = new VirtualClock();
  log = recordedLog();
});

describe.each([
  ['memoryInbox', () => memoryInbox()],
  ['sqliteInbox', () => sqliteInbox(scratchFile())],
])('on %s', (_, open) => {
  let inbox: Inbox;
  beforeEach(() => {
    inbox = open();
    onTestFinished(() => inbox.close());
  });

  async function started(handlers: Handlers, options: Partial<ProcessorOptions> = {}): Promise<Processor> {
    const processor = createProcessor({ inbox, clock, logger: log.logger, ...options, handlers });
    onTestFinished(() => closed(processor));
    await processor.start();
    await rest();
    return processor;
  }

  const stateOf = async (id: string): Promise<string | undefined> => {
    return (await inbox.get({ endpoint: 'default', id }))?.state;
  };
  const ready: Handlers = { 'order.ready': () => {} };

  describe('a worker that is away', () => {
    it('for half an hour, or for six days, finds its events when it comes back', async () => {
      const handled: string[] = [];
      const created: Handlers = { 'order.created': ({ id }) => void handled.push(id) };
      await started(ready, { logger: silent });
      for (const away of [30 * MINUTE, 6 * DAY]) {
        const worker = await started(created, { logger: silent });
        await closed(worker);
        await store(inbox, orderEvent(`evt ${away}`, { receivedAt: clock.now() }));
        clock.block(away - 20 * MINUTE);
        await clock.advance(20 * MINUTE);
        expect(await stateOf(`evt ${away}`)).toBe('pending');
        await closed(await started(created, { logger: silent }));
        expect(await stateOf(`evt ${away}`)).toBe('processed');
      }
      expect(handled).toHaveLength(2);
    });

    it('is missed in the log, once an hour, with when it was last seen', async () => {
      await closed(await started({ 'order.created': () => {} }));
      const since = clock.now();
      await store(inbox, orderEvent('evt_1', { receivedAt: clock.now() }));
      await started(ready);
      await clock.advance(40 * MINUTE);
      expect(log.lines).toMatchObject([
        {
          level: 'warn',
          facts: { endpoint: 'default', type: 'order.created', waiting: 1 },
          message: expect.stringMatching(/^no processor has handled order\.created since 2026-01-01T00:0\d:/),
        },
      ]);
      expect(since).toBeLessThan(clock.now());
    });

    it('for more than seven days has its events ignored, which is said once a type', async () => {
      await closed(await started({ 'order.created': () => {} }, { logger: silent }));
      await started(ready);
      for (const n of [1, 2])
        await store(inbox, orderEvent(`evt_${n}`, { order: `ord_${n}`, receivedAt: clock.now() }));
      await store(inbox, orderEvent('cart', { type: 'cart.abandoned', receivedAt: clock.now() }));
      clock.block(6.9 * DAY);
      await clock.advance(20 * MINUTE);
      expect(await Promise.all(['evt_1', 'cart'].map(stateOf))).toEqual(['pending', 'ignored']);
      clock.block(0.2 * DAY);
      await clock.advance(20 * MINUTE);
      expect(await stateOf('evt_1')).toBe('ignored');
      await store(inbox, orderEvent('evt_3', { order: 'ord_3', receivedAt: clock.now() }));
      await clock.advance(20 * MINUTE);
      expect(await stateOf('evt_3')).toBe('ignored');
      const said = log.lines.filter(({ message }) => message.startsWith('events were ignored'));
      expect(said.map(({ level, facts }) => [level, facts['type'], facts['count']])).toEqual([
        ['warn', 'cart.abandoned', 1],
        ['warn', 'order.created', 2],
      ]);
    });
  });

  it('a processor without handlers ignores nothing, however long it runs', async () => {
    await store(inbox, orderEvent('evt_1'));
    const receiver = createReceiver({ secret: SECRET, inbox, clock, logger: silent });
    onTestFinished(() => closed(receiver));
    await receiver.start();
    await started({});
    await clock.advance(HOUR);
    clock.block(20 * DAY);
    await clock.advance(HOUR);
    expect(await stateOf('evt_1')).toBe('pending');
  });

  it('a clock that jumps forward makes nobody look gone who is there', async () => {
    await started(ready, { logger: silent });
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const busy: Handlers = { 'order.created': () => end };
    await started(busy, { logger: silent, processing: { concurrency: 1, timeoutMs: 2_000_000_000 } });
    await store(inbox, orderEvent('running'), orderEvent('waiting', { order: 'ord_2' }));
    await clock.advance(15 * MINUTE - 10_000);
    clock.block(30 * DAY);
    await clock.advance(11_000);
    expect(await stateOf('waiting')).toBe('pending');
    for (let minutes = 0; minutes < 20; minutes += 1) {
      await clock.advance(MINUTE);
      expect(await Promise.all(['running', 'waiting'].map(stateOf))).not.toContain('ignored');
    }
    resolve();
    await rest();
  });

  it('a clock that jumps forward makes nobody missed in the log who is there', async () => {
    await started(ready);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const busy: Handlers = { 'order.created': () => end };
    await started(busy, { logger: silent, processing: { concurrency: 1, timeoutMs: 2_000_000_000 } });
    await store(inbox, orderEvent('running'), orderEvent('waiting', { order: 'ord_2' }));
    await clock.advance(15 * MINUTE - 10_000);
    clock.block(HOUR);
    await clock.advance(20 * MINUTE);
    expect(log.lines.filter(({ message }) => message.startsWith('nobody handles'))).toEqual([]);
    resolve();
    await rest();
  });

  it('a clock that jumps forward does not let a newer event pass an older one of a worker that is there', async () => {
    const handled: string[] = [];
    const { promise: end, resolve } = Promise.withResolvers<void>();
    await started({ 'order.created': () => end }, { logger: silent, processing: { concurrency: 1, timeoutMs: DAY } });
    await started({ 'order.ready': ({ id }) => void handled.push(id) }, { logger: silent });
    await store(inbox, orderEvent('running', { order: 'other' }));
    await rest();
    clock.block(HOUR);
    await store(
      inbox,
      orderEvent('older', { createdAt: 1, order: 'ord_1', receivedAt: clock.now() }),
      orderEvent('newer', { createdAt: 2, order: 'ord_1', type: 'order.ready', receivedAt: clock.now() }),
    );
    await clock.advance(4 * MINUTE);
    expect(handled).toEqual([]);
    resolve();
    await clock.advance(10_000);
    expect(handled).toEqual(['newer']);
    expect(await stateOf('older')).toBe('processed');
  });

  it('what was ignored stays so when somebody comes who handles it, who says how much it is', async () => {
    await started(ready, { logger: silent });
    for (const n of [1, 2, 3]) await store(inbox, orderEvent(`evt_${n}`, { order: `ord_${n}` }));
    await store(inbox, orderEvent('cart', { type: 'cart.abandoned' }));
    await clock.advance(20 * MINUTE);
    await started({ 'order.created': () => {}, 'order.failed': () => {} });
    await clock.advance(20 * MINUTE);
    expect(await stateOf('evt_1')).toBe('ignored');
    const [line, ...others] = log.lines;
    expect(others).toEqual([]);
    expect(line).toMatchObject({ level: 'warn', facts: { endpoint: 'default', count: 3 } });
    expect(line?.facts['command']).toMatch(
      /^hookbox events rerun (--db \S+ )?--endpoint default --type order\.created --ignored-since 2025-12-25T00:20:\S+Z$/,
    );
  });
});

describe('handlers that hookbox would not see are refused at creation, with the fix:', () => {
  class Shop {
    'order.created'(): void {}
  }
  it.each([
    ['an instance of a class', new Shop(), /an instance of Shop.*event, context/s],
    ['a Map', new Map([['order.created', () => {}]]), /Object\.fromEntries/],
    ['an array', [() => {}], /plain object/],
    ['what inherits them', Object.create({ 'order.created': () => {} }) as object, /plain object/],
    ['a function', () => {}, /plain object/],
    ['null', null, /plain object/],
    [
      'a type that is undefined',
      { 'order.created': undefined },
      /The handler of order\.created must be a function or \{ handle, … \}, not undefined/,
    ],
    ['a type that is null', { 'order.created': null }, /The handler of order\.created must be .*, not null/],
    ['every type that is undefined', { '*': undefined }, /The handler of \* must be .*, not undefined/],
  ])('%s', (_, handlers, message) => {
    const given = { handlers } as unknown as { readonly handlers: Handlers };
    const inbox = memoryInbox();
    for (const create of [
      () => createProcessor({ inbox, ...given }),
      () => createReceiver({ secret: SECRET, inbox, ...given }),
    ]) {
      expect(create).toThrow(ConfigurationError);
      expect(create).toThrow(message);
    }
  });

  it('but an object without a prototype will do', async () => {
    const handlers = Object.assign(Object.create(null) as object, { 'order.created': () => {} });
    expect(() => createProcessor({ inbox: memoryInbox(), handlers })).not.toThrow();
  });
});

async function closed(running: { close(): Promise<void> }): Promise<void> {
  const closing = running.close();
  await rest();
  await clock.advance(20_000);
  await closing;
}
