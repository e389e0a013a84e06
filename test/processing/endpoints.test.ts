import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

describe.each([
  ['memoryInbox', () => memoryInbox()],
  ['sqliteInbox', () => sqliteInbox(scratchFile())],
])('two receivers on one %s', (_, open) => {
  let inbox: Inbox;
  let handled: string[];
  beforeEach(() => {
    inbox = open();
    handled = [];
    onTestFinished(() => inbox.close());
  });

  async function receiverOf(endpoint: string, options: Partial<ReceiverOptions> = {}) {
    const receiver = createReceiver({
      secret: SECRET,
      inbox,
      clock,
      logger: silent,
      endpoint,
      handlers: { '*': ({ id }, { delivery }) => void handled.push(`${id} of ${delivery.endpoint} by ${endpoint}`) },
      ...options,
    });
    onTestFinished(() => closed(receiver));
    await receiver.start();
    return receiver;
  }

  it('run their own events, each with its own handlers', async () => {
    const a = await receiverOf('shop-a');
    const b = await receiverOf('shop-b');
    await a.receive(orderDelivery('evt_1'));
    await b.receive(orderDelivery('evt_1'));
    await b.receive(orderDelivery('evt_2'));
    await clock.advance(3_000);
    expect(handled.toSorted()).toEqual([
      'evt_1 of shop-a by shop-a',
      'evt_1 of shop-b by shop-b',
      'evt_2 of shop-b by shop-b',
    ]);
  });

  it('keep what they have processed for as long as each of them says', async () => {
    const a = await receiverOf('shop-a', { retention: { processedDays: Infinity } });
    const b = await receiverOf('shop-b', { retention: { processedDays: 2 } });
    await a.receive(orderDelivery('evt_1'));
    await b.receive(orderDelivery('evt_1'));
    await clock.advance(3_000);
    clock.block(3 * DAY);
    await clock.advance(2 * MINUTE);
    await expect.poll(async () => (await inbox.get({ endpoint: 'shop-b', id: 'evt_1' }))?.body).toBeNull();
    expect((await inbox.get({ endpoint: 'shop-a', id: 'evt_1' }))?.body).not.toBeNull();
  });

  it('put away only what comes in at their own endpoint', async () => {
    await receiverOf('shop-a', { handlers: { 'order.ready': () => {} } });
    await store(
      inbox,
      { ...orderEvent('here'), endpoint: 'shop-a' },
      { ...orderEvent('there', { order: 'other' }), endpoint: 'shop-b' },
    );
    await clock.advance(30 * MINUTE);
    expect((await inbox.get({ endpoint: 'shop-a', id: 'here' }))?.state).toBe('ignored');
    expect((await inbox.get({ endpoint: 'shop-b', id: 'there' }))?.state).toBe('pending');
  });

  it.each([
    [undefined, ['default']],
    ['shop-a', ['shop-a']],
    [
      ['shop-a', 'shop-b', 'shop-a'],
      ['shop-a', 'shop-b'],
    ],
    ['*', ['default', 'shop-a', 'shop-b']],
  ])('beside a processor for %j leave the rest to others', async (endpoint, expected) => {
    for (const at of ['default', 'shop-a', 'shop-b']) {
      await store(inbox, { ...orderEvent(`evt ${at}`, { order: at }), endpoint: at });
    }
    const processor = processorFor({ inbox, ...(endpoint !== undefined && { endpoint }) }, handled);
    await processor.start();
    await clock.advance(2_000);
    expect(handled.toSorted()).toEqual(expected.map((at) => `evt ${at}`));
  });
});

describe('an endpoint that is none', () => {
  it.each([
    ['an empty string', ''],
    ['a text of 256 characters', 'x'.repeat(256)],
    ['a string with a lone surrogate', 'shop-\ud83d'],
    ['an empty list', []],
    ['a list with an empty text', ['shop-a', '']],
    ["a list with '*'", ['shop-a', '*']],
    ['a number', 7],
    ['null', null],
  ])('is refused by a processor: %s', (_, endpoint) => {
    const options = { endpoint } as unknown as Pick<ProcessorOptions, 'endpoint'>;
    expect(() => createProcessor({ inbox: memoryInbox(), handlers: {}, ...options })).toThrow(ConfigurationError);
    expect(() => createProcessor({ inbox: memoryInbox(), handlers: {}, ...options })).toThrow(/endpoint/);
  });

  it.each(['', '*', 7])('is refused by a receiver: %j', (endpoint) => {
    const options = { endpoint } as unknown as Pick<ReceiverOptions, 'endpoint'>;
    const create = () => createReceiver({ secret: SECRET, inbox: memoryInbox(), ...options });
    expect(create).toThrow(ConfigurationError);
  });
});

describe('who is reminded that nobody handles what is stored hears of which endpoint:', () => {
  it('a receiver with handlers that was not started', async () => {
    const log = recordedLog();
    const inbox = memoryInbox();
    const options = { secret: SECRET, inbox, endpoint: 'shop-a', logger: log.logger };
    await using receiver = createReceiver({ ...options, handlers: { '*': () => {} } });
    await receiver.receive(orderDelivery('evt_1'));
    expect(log.lines).toMatchObject([
      { level: 'warn', facts: { endpoint: 'shop-a' }, message: expect.stringContaining('createProcessor({ endpoint') },
    ]);
  });

  it('a processor beside an endpoint that no processor was ever made for', async () => {
    const log = recordedLog();
    const inbox = memoryInbox();
    await store(inbox, { ...orderEvent('evt_1'), endpoint: 'shop-a' });
    const processor = processorFor({ inbox, logger: log.logger }, []);
    await processor.start();
    await clock.advance(9 * MINUTE);
    expect(log.lines).toEqual([]);
    await clock.advance(21 * MINUTE);
    expect(log.lines).toMatchObject([
      { level: 'warn', facts: { endpoint: 'shop-a' }, message: expect.stringContaining('no processor handles') },
    ]);
  });
});

function processorFor(options: Partial<ProcessorOptions> & Pick<ProcessorOptions, 'inbox'>, handled: string[]) {
  const handlers = { '*': ({ id }: { readonly id: string }) => void handled.push(id) };
  const processor = createProcessor({ clock, logger: silent, handlers, ...options });
  onTestFinished(() => closed(processor));
  return processor;
}

async function closed(running: { close(): Promise<void> }): Promise<void> {
  const closing = running.close();
  await rest();
  await clock.advance(20_000);
  await closing;
}
