import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { skipReason } from '../../src/processing/attempt-log.ts';
import type { RetryOptions } from '../../src/inbox/rules/attempt.ts';
import { type Handler, type Handlers, limitsByType } from '../../src/processing/handlers.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { orderEvent, store, type OrderEventParts } from '../helpers/order-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

type Given = readonly [id: string, parts?: OrderEventParts];

async function started(handlers: Handlers, events: readonly Given[], more: Partial<ProcessorOptions> = {}) {
  const clock = new VirtualClock();
  const inbox = memoryInbox();
  await store(inbox, ...events.map(([id, parts]) => orderEvent(id, parts)));
  const processor = createProcessor({ inbox, clock, handlers, logger: false, ...more });
  await processor.start();
  await rest();
  const outcomes = async (id: string) =>
    (await inbox.attempts({ endpoint: 'default', id })).map(({ outcome, error }) => error?.name ?? outcome);
  return { clock, inbox, processor, outcomes };
}

const fails = () => {
  throw new Error('fails');
};

describe('a handler with options', () => {
  it.each<[string, unknown, RegExp]>([
    ['no function', {}, /handlers\['order.ready'\]: handle must be a function, not undefined/],
    [
      'an option that there is not',
      { handle: fails, concurency: 2 },
      /unknown option `concurency`\. Did you mean concurrency\?/,
    ],
    ['no time', { handle: fails, timeoutMs: 0 }, /handlers\['order.ready'\]: timeoutMs must be a number above 0/],
    ['half a handler at once', { handle: fails, concurrency: 0.5 }, /concurrency must be a whole number/],
    ['an option of retry that there is not', { handle: fails, retry: { times: 2 } }, /unknown option `times`/],
    ['no attempts', { handle: fails, retry: { attempts: 0 } }, /retry: attempts must be a whole number of at least 1/],
    ['latest that is no word', { handle: fails, latest: 'yes' }, /latest: options must be an object, not a string/],
    ['latest with an option that there is not', { handle: fails, latest: { quiet: 1 } }, /Did you mean quietMs\?/],
    ['latest without quietMs', { handle: fails, latest: { maxMs: 9 } }, /latest: quietMs must be .* not undefined/],
    [
      'a longest wait that is shorter than the quiet',
      { handle: fails, latest: { quietMs: 20, maxMs: 10 } },
      /latest: maxMs must be at least quietMs, 20, not 10/,
    ],
    ['blocks that is no word', { handle: fails, blocks: 'no' }, /blocks must be true or false, not a string/],
  ])('is refused with %s', (_, handler, why) => {
    const handlers = { 'order.ready': handler } as Handlers;
    const create = () => createProcessor({ inbox: memoryInbox(), handlers });
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(why);
  });

  it('keeps the usual schedule for an option of retry that is undefined', () => {
    const nothing = { attempts: undefined, baseMs: undefined, maxMs: undefined } as unknown as RetryOptions;
    const all = { leaseMs: 15_000, timeoutMs: 1_000, retry: { ...nothing, attempts: 3 } };
    const limits = limitsByType({ 'order.ready': { handle: fails, retry: nothing } }, all);
    const usual = { attempts: 3, baseMs: expect.any(Number), maxMs: expect.any(Number) };
    expect([limits.of('order.ready').retry, limits.of('order.created').retry]).toEqual([usual, usual]);
  });

  it('is run as one without, with its own budget, backoff and time', async () => {
    const { clock, processor, outcomes } = await started(
      {
        'order.created': { handle: fails, retry: { attempts: 2, maxMs: 10 } },
        'order.ready': {
          handle: ({ id }, { signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(new Error(id)));
            }),
          timeoutMs: 50,
          retry: { attempts: 1 },
        },
        '*': { handle: () => {}, timeoutMs: 5 },
      },
      [['created'], ['ready', { type: 'order.ready' }], ['else', { type: 'order.completed' }]],
      { processing: { timeoutMs: 60_000, retry: { attempts: 3 } } },
    );
    await clock.advance(2_000);
    expect(await outcomes('created')).toEqual(['Error', 'Error']);
    expect(await outcomes('ready')).toEqual(['TimeoutError']);
    expect(await outcomes('else')).toEqual(['processed']);
    await processor.close();
  });

  it('runs no more at once than it says, and keeps no other type from running', async () => {
    let slow = 0;
    let most = 0;
    const done: string[] = [];
    const open: (() => void)[] = [];
    const { processor } = await started(
      {
        'order.ready': {
          concurrency: 2,
          async handle() {
            most = Math.max(most, (slow += 1));
            await new Promise<void>((resolve) => open.push(resolve));
            slow -= 1;
          },
        },
        '*': ({ id }) => void done.push(id),
      },
      [
        ...Array.from({ length: 6 }, (_, n) => [`slow_${n}`, { type: 'order.ready' }] as const),
        ...Array.from({ length: 5 }, (_, n) => [`quick_${n}`] as const),
      ],
      { processing: { concurrency: 3 } },
    );
    expect([slow, done.length]).toEqual([2, 5]);
    while (open.length > 0) {
      open.shift()?.();
      await rest();
    }
    expect([slow, most]).toEqual([0, 2]);
    await processor.close();
  });

  it('with blocks: false does not hold back its order; its event is told that it is superseded', async () => {
    const runs: (readonly [string, number, boolean])[] = [];
    const { clock, processor } = await started(
      {
        'order.created': {
          blocks: false,
          handle(event, { attempt, superseded }) {
            runs.push([event.id, attempt, superseded]);
            if (attempt === 1) throw new Error('later');
          },
        },
        'order.ready': ({ id }, { attempt, superseded }) => void runs.push([id, attempt, superseded]),
      },
      [
        ['old', { order: 'o' }],
        ['new', { order: 'o', type: 'order.ready', createdAt: 1 }],
      ],
    );
    await clock.advance(2_000);
    expect(runs).toEqual([
      ['old', 1, false],
      ['new', 1, false],
      ['old', 2, true],
    ]);
    await processor.close();
  });
});

describe('ctx.skip', () => {
  it.each<[string, Handler<unknown>, object]>([
    [
      'and a return end as processed, with the reason',
      (_, ctx) => ctx.skip('not\nours'),
      { outcome: 'processed', skipped: 'not\\u{a}ours' },
    ],
    ['takes the last of two reasons', (_, ctx) => [ctx.skip('one'), ctx.skip('two')], { skipped: 'two' }],
    ['cuts what is long', (_, ctx) => ctx.skip('x'.repeat(9_999)), { skipped: `${'x'.repeat(500)}…` }],
    ['says so where no reason was given', (_, ctx) => ctx.skip('  '), { skipped: 'no reason given' }],
  ])('%s', async (_, handler, expected) => {
    const { inbox, processor } = await started({ '*': handler }, [['evt_1']]);
    expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([expected]);
    expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
    await processor.close();
  });

  it('takes whatever JavaScript gives it', () => {
    expect([undefined, 7, Symbol('no')].map(skipReason)).toEqual(['undefined', '7', 'Symbol(no)']);
  });

  it('is forgotten where the handler fails after it', async () => {
    const { inbox, processor } = await started({ '*': (_, ctx) => [ctx.skip('not ours'), fails()] }, [['evt_1']]);
    const [attempt] = await inbox.attempts({ endpoint: 'default', id: 'evt_1' });
    expect(attempt).toMatchObject({ outcome: 'failed', error: { message: 'fails' } });
    expect(attempt).not.toHaveProperty('skipped');
    await processor.close();
  });

  it.each([
    ['before the transaction', 'first', 'first'],
    ['inside of it', 'inside', 'inside'],
    ['after it, which skips nothing any more', 'after', undefined],
  ])('goes along with ctx.transaction when it is called %s', async (_, when, expected) => {
    await using inbox = sqliteInbox(scratchFile());
    await store(inbox, orderEvent('evt_1'));
    const processor = createProcessor({
      inbox,
      clock: new VirtualClock(),
      logger: false,
      handlers: {
        async '*'(_, ctx) {
          if (when === 'first') ctx.skip('first');
          await ctx.transaction(() => {
            if (when === 'inside') ctx.skip('inside');
          });
          if (when === 'after') ctx.skip('after');
        },
      },
    });
    await processor.start();
    await expect.poll(async () => (await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
    await processor.close();
    const [attempt] = await inbox.attempts({ endpoint: 'default', id: 'evt_1' });
    expect(attempt?.skipped).toBe(expected);
  });

  it.each([
    [true, { reason: 'not ours' }],
    [false, {}],
  ])('is told in the log, its reason if logErrors is not %s', async (logErrors, expected) => {
    const { logger, lines } = recordedLog();
    const { processor } = await started({ '*': (_, ctx) => ctx.skip('not ours') }, [['evt_1']], { logger, logErrors });
    const line = lines.find(({ message }) => message === 'event skipped by its handler');
    expect(line).toMatchObject({ level: 'info', facts: { id: 'evt_1', attempt: 1, ...expected } });
    expect('reason' in (line?.facts ?? {})).toBe(logErrors);
    await processor.close();
  });
});
