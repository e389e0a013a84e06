import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConfigurationError, PermanentError, RetryLaterError } from '../../src/errors.ts';
import type { Logger } from '../../src/host/logger.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import type { HandlerContext, Handlers } from '../../src/processing/handlers.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

const EVENT = { endpoint: 'default', id: 'evt_1', type: 'order.created', attempt: 1 };
const SHOW = 'npx hookbox events show evt_1';

async function ran(handlers: Handlers, options: Partial<ProcessorOptions> = {}, inbox: Inbox = memoryInbox()) {
  const clock = new VirtualClock();
  await store(inbox, orderEvent('evt_1'));
  const processor = createProcessor({ inbox, clock, ...options, handlers });
  await processor.start();
  await rest();
  await processor.close();
  await inbox.close();
}

async function lineOf(thrown: unknown, options: Partial<ProcessorOptions> = {}, inbox?: Inbox): Promise<LogLine> {
  const { logger, lines } = recordedLog();
  await ran({ '*': () => Promise.reject(thrown) }, { logger, ...options }, inbox);
  // Not its length, so that a failure shows what the other lines say.
  expect(lines).toEqual([expect.anything()]);
  return lines[0] as LogLine;
}

describe('the log of a handler that fails', () => {
  it('says what failed, when, how long it took, why, when it runs again and where to see more', async () => {
    const { level, facts, message } = await lineOf(new TypeError('out of stock'));
    expect(level).toBe('warn');
    expect(message).toContain('will be retried');
    expect(facts).toMatchObject({ ...EVENT, durationMs: expect.any(Number), error: 'TypeError', command: SHOW });
    expect(facts['dueAt']).toMatch(/^2026-01-01T00:00:0\d/);
    expect(facts['err']).toMatchObject({
      name: 'TypeError',
      message: 'out of stock',
      stack: expect.stringMatching(/^TypeError: out of stock\n +at .*attempt-log\.test\.ts/),
    });
  });

  it('is an error once the event is dead', async () => {
    const { level, facts, message } = await lineOf(new PermanentError('no such order'));
    expect([level, message]).toEqual(['error', expect.stringContaining('dead')]);
    expect(facts).toMatchObject({ ...EVENT, reason: 'failed', command: SHOW, err: { message: 'no such order' } });
  });

  it('has no stack of a wait that its handler has asked for, and says so', async () => {
    const { level, facts, message } = await lineOf(
      new RetryLaterError({ afterMs: 60_000, message: 'the till is shut' }),
    );
    expect([level, message]).toEqual(['warn', expect.stringContaining('requested a later retry')]);
    expect(facts).toMatchObject({ ...EVENT, dueAt: '2026-01-01T00:01:00.000Z', err: { message: 'the till is shut' } });
    expect(facts['err']).not.toHaveProperty('stack');
    const retry = { attempts: 1 };
    const last = await lineOf(new RetryLaterError({ afterMs: 60_000 }), { processing: { retry } });
    expect([last.level, last.facts['err']]).toEqual([
      'error',
      expect.objectContaining({ stack: expect.any(String) as string }),
    ]);
  });

  it('names the file of the inbox in the command, so that it runs as it stands', async () => {
    const file = scratchFile();
    const { facts } = await lineOf(new Error('no'), {}, sqliteInbox(file));
    expect(facts['command']).toBe(`npx hookbox events show --db ${file} evt_1`);
  });

  it('names the schema of the inbox in the command, unless it is the one that is meant anyway', async () => {
    const named = async (schema: string) =>
      (await lineOf(new Error('no'), {}, { ...memoryInbox(), schema })).facts['command'];
    expect(await named('shop')).toBe('npx hookbox events show --schema shop evt_1');
    expect(await named('hookbox')).toBe(SHOW);
  });

  it('keeps to names with logErrors: false', async () => {
    const failure = Object.assign(new RangeError('ada@example.com has no address'), { code: '23505' });
    const { facts } = await lineOf(failure, { logErrors: false });
    expect(facts).toMatchObject({ ...EVENT, error: 'RangeError', code: '23505', command: SHOW });
    expect(JSON.stringify(facts)).not.toMatch(/ada@example\.com|attempt-log\.test/);
  });

  it('has the code of a database, also behind what wraps it, and nothing of the row', async () => {
    const row = { detail: 'Key (email)=(ada@example.com) already exists.', parameters: ['ada@example.com'] };
    const ofPostgres = Object.assign(new Error('duplicate key value'), { code: '23505', ...row });
    for (const thrown of [ofPostgres, new Error('Failed query', { cause: ofPostgres })]) {
      const { facts } = await lineOf(thrown);
      expect(facts['code']).toBe('23505');
      expect(JSON.stringify(facts)).not.toContain('ada@example.com');
    }
    const { facts } = await lineOf(Object.assign(new Error('no'), { code: 'ada@example.com' }));
    expect(facts).not.toHaveProperty('code');
  });

  it('has no signature and no password, whatever is thrown', async () => {
    const signature = 'ab'.repeat(32);
    const { facts } = await lineOf(new Error(`postgres://shop:hunter2@db/shop refuses ${signature}`));
    expect(JSON.stringify(facts)).not.toMatch(/hunter2|abab/);
    expect(facts['err']).toMatchObject({ message: expect.stringContaining('@db/shop refuses') });
  });

  it.each([
    ['short', 'out of stock'],
    ['a body', 'x'.repeat(100_000)],
    ['many lines', 'line\n'.repeat(3_000)],
    ['quotes, which take twice the room', '"'.repeat(3_000)],
    ['letters of four bytes', '😀'.repeat(3_000)],
    ['orders to a terminal', `\u001b[2J\u009b31m\u202e${'\0'.repeat(2_000)}`],
  ])('takes 4 KiB at most and steers no terminal: %s', async (_, text) => {
    const { facts } = await lineOf(new Error(text));
    const { message, stack } = facts['err'] as { readonly message: string; readonly stack: string };
    expect(Buffer.byteLength(JSON.stringify(facts['err']))).toBeLessThanOrEqual(4_096);
    expect(message).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
    expect(stack).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
    expect(message.length).toBeGreaterThan(10);
  });

  it('still says where, when the message is long', async () => {
    const { facts } = await lineOf(new Error('x'.repeat(1_900)));
    expect(facts['err']).toMatchObject({ stack: expect.stringMatching(/\n +at .*attempt-log\.test\.ts/) });
  });

  it.each([
    ['null', null],
    ['a text', 'no'],
    ['an object without a prototype', Object.create(null)],
    [
      'an error that refuses to be read',
      Object.defineProperty(new Error('no'), 'code', {
        get() {
          throw new Error('not for you');
        },
      }),
    ],
    ['a proxy that was revoked', revoked()],
  ])('is written whatever is thrown: %s', async (_, thrown) => {
    expect((await lineOf(thrown)).facts).toMatchObject({ ...EVENT, err: { message: expect.any(String) } });
  });

  it('says in inline mode that the service decides when', async () => {
    const { logger, lines } = recordedLog();
    const inbox = memoryInbox();
    await using receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger,
      processing: { mode: 'inline' },
      handlers: { '*': () => Promise.reject(new PermanentError('not yet')) },
    });
    expect(await receiver.receive(orderDelivery('evt_1'))).toMatchObject({ status: 500 });
    expect(lines[0]).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('the next delivery of the event runs the handler again'),
      facts: { ...EVENT, command: SHOW, err: { message: 'not yet' } },
    });
    expect(lines[0]?.facts).not.toHaveProperty('dueAt');
  });
});

describe('the log of a handler that succeeds', () => {
  it.each<[string, Handlers]>([
    ['by returning', { '*': () => {} }],
    ['by its transaction', { '*': (_, ctx) => ctx.transaction((db) => void db.exec('SELECT 1')) }],
  ])('says so at info: %s', async (_, handlers) => {
    const { logger, lines, successes } = recordedLog();
    await ran(handlers, { logger }, sqliteInbox(scratchFile()));
    expect(lines).toEqual([]);
    expect(successes).toEqual([
      { level: 'info', message: 'event processed', facts: { ...EVENT, durationMs: expect.any(Number) } },
    ]);
  });

  it('does not call processed what its function has committed by itself', async () => {
    const { logger, lines, successes } = recordedLog();
    await ran(
      { '*': (_, ctx) => ctx.transaction((db) => void db.exec('COMMIT')) },
      { logger },
      sqliteInbox(scratchFile()),
    );
    expect([lines.map(({ level }) => level), successes]).toEqual([['error'], []]);
  });

  it('says so too where only the inbox knows it, as its connection was lost or its file was full', async () => {
    const inbox = memoryInbox();
    const settle: Inbox['settle'] = async () => 'committed alone';
    const { level, facts, message } = await lineOf(new Error('disk I/O error'), {}, { ...inbox, settle });
    expect([level, message]).toEqual(['error', expect.stringContaining('ran COMMIT itself')]);
    expect(facts).toMatchObject(EVENT);
  });

  it('says what it threw after its transaction was committed', async () => {
    const { logger, lines } = recordedLog();
    const late = async (_: unknown, ctx: HandlerContext): Promise<void> => {
      await ctx.transaction((db) => void db.exec('SELECT 1'));
      throw new Error('no mail');
    };
    await ran({ '*': late }, { logger }, sqliteInbox(scratchFile()));
    expect(lines[0]).toMatchObject({ level: 'error', facts: { ...EVENT, err: { message: 'no mail' } } });
  });
});

describe('ctx.log', () => {
  it('takes a text, or facts and a text', async () => {
    const { logger, lines } = recordedLog();
    const handler: Handlers['*'] = (_, { log }) => {
      log.info('sent');
      log.warn({ carrier: 'post' }, 'late');
      log.error('lost');
    };
    await ran({ '*': handler }, { logger });
    expect(lines.slice(0, 3)).toEqual([
      { level: 'info', facts: EVENT, message: 'sent' },
      { level: 'warn', facts: { ...EVENT, carrier: 'post' }, message: 'late' },
      { level: 'error', facts: EVENT, message: 'lost' },
    ]);
  });
});

describe('the option logger', () => {
  const consoled: string[] = [];
  afterEach(() => {
    vi.restoreAllMocks();
    consoled.length = 0;
  });

  function listenToConsole(): void {
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      vi.spyOn(console, method).mockImplementation((...said: unknown[]) => void consoled.push(said.join(' ')));
    }
  }

  const failing: Handlers = {
    '*': (_, ctx) => {
      ctx.log.error('about to fail');
      throw new TypeError('out of\nhookbox: all is well');
    },
  };

  it('writes errors to the console unless set, with the places on lines of their own that nobody can forge', async () => {
    listenToConsole();
    await ran(failing);
    const [, text = ''] = consoled;
    const [first, ...places] = text.split('\n');
    expect(first).toMatch(/^hookbox: handler failed .*err=TypeError: out of\\u\{a\}hookbox: all is well/);
    expect(places.length).toBeGreaterThan(0);
    for (const place of places) expect(place).toMatch(/^ {4}at \S/);
  });

  it('is silence with false: of handlers, deliveries and the inbox', async () => {
    listenToConsole();
    await ran(failing, { logger: false });
    await using receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: false });
    await receiver.receive({ body: new Uint8Array(3), signature: null });
    expect(consoled).toEqual([]);
  });

  it.each([null, true, 'pino', {}, { info() {}, warn() {} }])('refuses %j with a sentence', (given) => {
    const logger = given as unknown as Logger;
    for (const create of [
      () => createProcessor({ inbox: memoryInbox(), handlers: {}, logger }),
      () => createReceiver({ secret: SECRET, inbox: memoryInbox(), logger }),
      () => sqliteInbox(scratchFile(), { logger }),
    ]) {
      expect(create).toThrow(ConfigurationError);
      expect(create).toThrow(/logger must have the methods info, warn, error/);
    }
  });

  it('may be pino, which shows an error as it shows its own', async () => {
    const written: string[] = [];
    await ran(failing, { logger: pino({}, { write: (text: string) => void written.push(text) }) });
    const last = JSON.parse(written.at(-1) ?? '') as { readonly err: object };
    expect(last.err).toMatchObject({
      type: 'TypeError',
      message: String.raw`out of\u{a}hookbox: all is well`,
      stack: expect.stringMatching(/\n +at /),
    });
  });
});

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
