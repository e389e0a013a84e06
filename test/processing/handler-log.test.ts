import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import type { HandlerContext } from '../../src/processing/handlers.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';
import { countedDatabase } from './counted-database.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };

/** What is kept of the first attempt of a handler. */
async function keptOf(handle: (ctx: HandlerContext) => unknown, more: Partial<ProcessorOptions> = {}) {
  await using inbox = memoryInbox();
  await store(inbox, orderEvent('evt_1'));
  const handlers = { '*': (_: unknown, ctx: HandlerContext) => handle(ctx) };
  const processor = createProcessor({ inbox, clock: new VirtualClock(), handlers, logger: false, ...more });
  await processor.start();
  await rest();
  await processor.close();
  const [attempt] = await inbox.attempts(KEY);
  return attempt;
}

const textsOf = async (handle: (ctx: HandlerContext) => unknown) =>
  (await keptOf(handle))?.log?.map(({ text }) => text) ?? [];

it('what a handler logs is kept with its attempt, and in the log as before', async () => {
  const { logger, lines } = recordedLog();
  const attempt = await keptOf(
    ({ log }) => {
      log.info('begun');
      log.warn({ carrier: 'DHL', days: 3, of: { order: 'ord_1' } }, 'late');
      log.error({ err: new TypeError('no\nstock') }, 'failed');
      throw new Error('fails');
    },
    { logger },
  );
  expect(attempt?.log).toEqual([
    { afterMs: expect.any(Number) as number, level: 'info', text: 'begun' },
    { afterMs: expect.any(Number) as number, level: 'warn', text: "late (carrier=DHL, days=3, of={ order: 'ord_1' })" },
    { afterMs: expect.any(Number) as number, level: 'error', text: String.raw`failed (err=TypeError: no\u{a}stock)` },
  ]);
  expect(lines.map(({ level, message }) => `${level} ${message}`).slice(0, 3)).toEqual([
    'info begun',
    'warn late',
    'error failed',
  ]);
});

it.each<[string, (ctx: HandlerContext) => unknown, Partial<ProcessorOptions>]>([
  ['of a handler that logs nothing', () => {}, {}],
  ['with logErrors: false', ({ log }) => log.info('begun'), { logErrors: false }],
])('nothing is kept %s', async (_, handle, options) => {
  expect(await keptOf(handle, options)).not.toHaveProperty('log');
});

it('the last fifty lines are kept, of 500 characters', async () => {
  const texts = await textsOf(({ log }) => {
    for (let n = 1; n <= 120; n += 1) log.info(`line ${n}`);
    log.info('x'.repeat(1_000_000));
  });
  expect([texts.length, texts[0], texts.at(-1)]).toEqual([50, 'line 72', `${'x'.repeat(500)}…`]);
});

it.each(['x', '山', '\u0000', '\u{e0001}', '"', '\ud800'])(
  'all lines of %j together fit 8 KiB as JSON',
  async (character) => {
    const attempt = await keptOf(({ log }) => {
      for (let n = 0; n < 40; n += 1) log.info(character.repeat(500));
    });
    const bytes = Buffer.byteLength(JSON.stringify(attempt?.log));
    expect(bytes).toBeLessThanOrEqual(8_192);
    expect(attempt?.log?.length).toBeGreaterThan(0);
  },
);

it('secrets are left out, and texts that steer a terminal are escaped', async () => {
  const texts = await textsOf(({ log }) => {
    log.info(`signed ${'a'.repeat(64)}`);
    log.info({ url: 'postgres://ada:s3cret@db/shop' }, 'connects\u001b[2J');
  });
  expect(texts).toEqual(['signed …', String.raw`connects\u{1b}[2J (url=postgres://…@db/shop)`]);
});

it('whatever JavaScript logs, the handler goes on', async () => {
  const circle: Record<string, unknown> = {};
  circle['circle'] = circle;
  const throwing = {
    [Symbol.for('nodejs.util.inspect.custom')]: () => {
      throw new Error('no');
    },
    get field() {
      throw new Error('no');
    },
  };
  const attempt = await keptOf(({ log }) => {
    Reflect.apply(log.info, log, []);
    Reflect.apply(log.info, log, [undefined, Symbol('x')]);
    Reflect.apply(log.info, log, [null, 7n]);
    log.info({ circle, throwing, fn() {}, big: 1n, map: new Map([[1, 2]]) }, 'odd');
    log.info({ many: Array.from({ length: 100_000 }, (_, n) => n) }, 'long');
  });
  expect(attempt?.outcome).toBe('processed');
  const texts = attempt?.log?.map(({ text }) => text);
  expect(texts?.slice(0, 3)).toEqual(['', 'Symbol(x)', '7']);
  expect(texts?.at(3)).toMatch(/^odd \(circle=.*Circular.*\)$/);
  expect(texts?.at(4)).toMatch(/^long \(many=\[ 0, 1, .* more items \]\)$/);
});

it('lines after the end of the attempt are not kept', async () => {
  let later = (): void => {};
  const attempt = await keptOf(({ log }) => {
    log.info('begun');
    later = () => log.info('later');
    setImmediate(later);
  });
  later();
  expect(attempt?.log?.map(({ text }) => text)).toEqual(['begun']);
});

it('the lines are written in the statement that writes the attempt', async () => {
  const counts: number[] = [];
  for (const lines of [0, 50]) {
    const { database, take } = countedDatabase();
    await using inbox = sqliteInbox({ database });
    await store(inbox, orderEvent('evt_1'));
    const handlers = {
      '*': (_: unknown, { log }: HandlerContext) => {
        for (let n = 0; n < lines; n += 1) log.info('line');
      },
    };
    const processor = createProcessor({ inbox, clock: new VirtualClock(), handlers, logger: false });
    await processor.start();
    await expect.poll(async () => (await inbox.get(KEY))?.state).toBe('processed');
    await processor.close();
    expect((await inbox.attempts(KEY))[0]?.log?.length ?? 0).toBe(lines);
    counts.push(take().reduce((sum, { statements }) => sum + statements, 0));
  }
  expect(counts[1]).toBe(counts[0]);
});
