import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfigurationError, RetryLaterError } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const READY = { type: 'order.ready' };
const RATE = { count: 20, perMs: 100 };
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => orderEvent(`r${from + n}`, { ...READY, order: `ord_${from + n}` }));

/** When each attempt began. */
interface Begun {
  readonly starts: number[];
  readonly handle: () => void;
}

function begunAt(clock: VirtualClock): Begun {
  const starts: number[] = [];
  return { starts, handle: () => void starts.push(clock.now() - START) };
}

function expectKept(starts: readonly number[], { count, perMs }: typeof RATE): void {
  for (const start of starts) {
    expect(starts.filter((at) => at >= start && at < start + perMs).length).toBeLessThanOrEqual(count);
  }
}

async function started(
  handlers: Handlers,
  more: Partial<ProcessorOptions> & Pick<ProcessorOptions, 'inbox' | 'clock'>,
) {
  const processor = createProcessor({ handlers, logger: false, ...more });
  await processor.start();
  await rest();
  return processor;
}

describe('a handler with a rate', () => {
  it.each<[unknown, RegExp]>([
    [
      {},
      /handlers\['order.ready'\], rate: count must be a whole number of at least 1 and at most 1000000, not undefined/,
    ],
    [
      { count: 1 },
      /handlers\['order.ready'\], rate: perMs must be a whole number of at least 1 and at most 86400000, not undefined/,
    ],
    [{ count: 0, perMs: 1 }, /count must be a whole number of at least 1 and at most 1000000, not 0/],
    [{ count: Infinity, perMs: 1 }, /count must be a whole number/],
    [{ count: 1, perMs: 0.5 }, /perMs must be a whole number/],
    [{ count: 1, perMs: 86_400_001 }, /perMs must be a whole number of at least 1 and at most 86400000, not 86400001/],
    [{ count: 1, perSecond: 1 }, /unknown option `perSecond`/],
    ['10/s', /rate: options must be an object, not a string/],
    [null, /rate: options must be an object, not null/],
  ])('%j is refused', (rate, why) => {
    const handlers = { 'order.ready': { handle() {}, rate } } as Handlers;
    const create = () => createProcessor({ inbox: memoryInbox(), handlers });
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(why);
  });

  it('begins as many attempts as it may, in every span, and no claim is made without need', async () => {
    const clock = new VirtualClock();
    const inbox = memoryInbox();
    const claims = vi.spyOn(inbox, 'claim');
    await store(inbox, ...many(100));
    const { starts, handle } = begunAt(clock);
    await using _ = await started({ 'order.ready': { handle, rate: RATE } }, { inbox, clock });
    await clock.advance(399);
    expect(starts.length).toBe(80);
    expectKept(starts, RATE);
    await clock.advance(1);
    expect(starts.length).toBe(100);
    expect(claims.mock.calls.length).toBeLessThan(40);
    claims.mockClear();
    await clock.advance(10_000);
    expect(claims.mock.calls.length).toBeLessThan(5);
  });

  it('costs a claim of others nothing', async () => {
    const texts: string[] = [];
    const database = new Database(scratchFile(), { verbose: (text) => void texts.push(String(text)) });
    onTestFinished(() => void database.close());
    await using inbox = sqliteInbox({ database });
    await store(inbox, ...many(3));
    const request = { endpoints: '*', types: '*', ordered: true, leaseMs: 1_000, now: START } as const;
    texts.length = 0;
    expect(await inbox.claim(request, 10)).toHaveLength(3);
    expect(texts.filter((text) => text.includes('hookbox_rates'))).toEqual([]);
    await inbox.claim({ ...request, rates: { 'order.ready': RATE } }, 10);
    expect(texts.filter((text) => text.includes('hookbox_rates'))).toHaveLength(1);
  });

  it('keeps it with other processes, of which one is away for hours', async () => {
    const clock = new VirtualClock();
    const inbox = memoryInbox();
    const { starts, handle } = begunAt(clock);
    const handlers = { 'order.ready': { handle, rate: RATE } };
    const first = await started(handlers, { inbox, clock });
    await using _ = await started(handlers, { inbox, clock });
    await store(inbox, ...many(100));
    await clock.advance(150);
    await first.close();
    await clock.advance(3 * 3_600_000);
    const again = await started(handlers, { inbox, clock });
    await store(inbox, ...many(100, 100));
    await clock.advance(1_000);
    await again.close();
    expect(starts.length).toBe(200);
    expectKept(starts, RATE);
  });

  it('keeps it for events that come in, none of which is stored as running', async () => {
    const clock = new VirtualClock();
    const inbox = memoryInbox();
    const { starts, handle } = begunAt(clock);
    const handlers: Handlers = { 'order.ready': { handle, rate: { count: 2, perMs: 1_000 } }, '*': () => {} };
    await using receiver = createReceiver({ secret: SECRET, inbox, handlers, clock, logger: false });
    await receiver.start();
    await rest();
    for (const { body } of many(5)) await receiver.receive({ body, signature: signBody(body, SECRET) });
    await rest();
    expect(starts).toEqual([0, 0]);
    await clock.advance(2_000);
    expect(starts).toEqual([0, 0, 1_000, 1_000, 2_000]);
  });

  it('keeps it for attempts that ask for a later one', async () => {
    const clock = new VirtualClock();
    const inbox = memoryInbox();
    const { starts, handle } = begunAt(clock);
    const later = () => {
      handle();
      throw new RetryLaterError({ afterMs: 1 });
    };
    await store(inbox, ...many(5));
    const rate = { count: 3, perMs: 100 };
    await using _ = await started({ 'order.ready': { handle: later, rate } }, { inbox, clock });
    await clock.advance(20_000);
    expect(starts.length).toBeGreaterThan(20);
    expectKept(starts, rate);
  });

  it('answers an inline delivery above it with 409, and runs its handler when it comes again', async () => {
    const clock = new VirtualClock();
    const { starts, handle } = begunAt(clock);
    const handlers: Handlers = { 'order.ready': { handle, rate: { count: 1, perMs: 1_000 } } };
    await using receiver = createReceiver({
      secret: SECRET,
      inbox: memoryInbox(),
      handlers,
      clock,
      processing: { mode: 'inline' },
      logger: false,
    });
    const deliver = async (n: number) => {
      const { body } = many(1, n)[0] ?? { body: new Uint8Array() };
      const { status, headers } = await receiver.receive({ body, signature: signBody(body, SECRET) });
      return [status, 'Retry-After' in headers];
    };
    expect(await deliver(1)).toEqual([200, false]);
    expect(await deliver(2)).toEqual([409, true]);
    await clock.advance(1_000);
    expect(await deliver(2)).toEqual([200, false]);
    expect(starts).toEqual([0, 1_000]);
  });
});
