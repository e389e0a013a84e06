import { expect, it } from 'vitest';
import { ConfigurationError, RetryLaterError } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };

async function started(handlers: Handlers, clock = new VirtualClock()) {
  const inbox = memoryInbox();
  const sent = orderEvent('evt_1');
  await store(inbox, sent);
  const processor = createProcessor({ inbox, clock, handlers, logger: false });
  await processor.start();
  await rest();
  return { clock, inbox, processor, sent };
}

it.each<[string, Error]>([
  ['of hookbox', new RetryLaterError({ afterMs: 90_000 })],
  [
    'of another copy of it',
    Object.assign(new Error('429'), { name: 'RetryLaterError', code: 'RETRY_LATER', afterMs: 90_000 }),
  ],
])('a RetryLaterError %s has the handler run again after so long, and not before', async (_, thrown) => {
  const runs: number[] = [];
  const clock = new VirtualClock();
  const handler: Handlers['*'] = (_, { attempt }) => {
    runs.push(clock.now() - START);
    if (attempt === 1) throw thrown;
  };
  const { inbox, processor } = await started({ '*': handler }, clock);
  await clock.advance(89_000);
  expect(runs).toEqual([0]);
  await clock.advance(2_000);
  expect(runs).toEqual([0, 90_000]);
  expect(await inbox.attempts(KEY)).toMatchObject([
    { outcome: 'failed', error: { name: 'RetryLaterError' } },
    { outcome: 'processed' },
  ]);
  await processor.close();
});

it.each([Number.NaN, -1, Infinity, 31 * 24 * 60 * 60_000, '60' as unknown as number])(
  'a RetryLaterError of %s is refused, and the attempt runs again after the usual wait',
  async (afterMs) => {
    expect(() => new RetryLaterError({ afterMs })).toThrow(ConfigurationError);
    const { clock, inbox, processor } = await started({
      '*': (_, { attempt }) => {
        if (attempt === 1) throw new RetryLaterError({ afterMs });
      },
    });
    await clock.advance(2_000);
    expect((await inbox.get(KEY))?.state).toBe('processed');
    await processor.close();
  },
);

it.each([{ countAttempt: 'false' }, { pauseType: null }, { pauseType: 1 }])(
  'a RetryLaterError with %j is refused',
  (wrong) => {
    const make = () => Reflect.construct(RetryLaterError, [{ afterMs: 1, ...wrong }]) as unknown;
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/must be true or false/);
  },
);

it('attempts that do not count never end an event, also of another copy of hookbox', async () => {
  const thrown = Object.assign(new Error('down'), { code: 'RETRY_LATER', afterMs: 1_000, countAttempt: false });
  const inbox = memoryInbox();
  await store(inbox, orderEvent('evt_1'));
  const clock = new VirtualClock();
  const retry = { attempts: 2, baseMs: 1, maxMs: 1 };
  const handler: Handlers['*'] = (_, { attempt }) => {
    if (attempt <= 30) throw thrown;
    if (attempt <= 31) throw new Error('one that counts');
  };
  const processor = createProcessor({ inbox, clock, handlers: { '*': handler }, logger: false, processing: { retry } });
  await processor.start();
  await clock.advance(60_000);
  const attempts = await inbox.attempts(KEY);
  expect(attempts.map(({ limit }) => limit)).toEqual(Array.from({ length: 31 }, (_, n) => n + 2).concat(32));
  expect(new Set(attempts.map(({ processor }) => processor?.replace(/-[0-9a-f]{8}$/, '')))).toEqual(
    new Set([String(process.pid)]),
  );
  expect((await inbox.get(KEY))?.state).toBe('processed');
  await processor.close();
});

it.each([[], [60_000], [null]])('a RetryLaterError that is made of %j says how it is made', (...given) => {
  const make = () => Reflect.construct(RetryLaterError, given) as unknown;
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(/^new RetryLaterError\(\{ afterMs \}\): .*, not undefined\./);
});

it('ctx.rawBody has the bytes that were delivered, and changes nothing of what is stored', async () => {
  const bodies: Uint8Array[] = [];
  const { inbox, processor, sent } = await started({
    '*': (_, ctx) => {
      expect(ctx.rawBody).toBe(ctx.rawBody);
      bodies.push(Uint8Array.from(ctx.rawBody));
      ctx.rawBody.fill(0);
    },
  });
  expect(bodies.map((body) => Buffer.from(body).toString())).toEqual([Buffer.from(sent.body).toString()]);
  const stored = await inbox.get(KEY);
  expect(Buffer.from(stored?.body ?? []).toString()).toBe(Buffer.from(sent.body).toString());
  await processor.close();
});
