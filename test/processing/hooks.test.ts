import { describe, expect, it } from 'vitest';
import { ConfigurationError, PermanentError } from '../../src/errors.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { type DeadFacts, type FailedFacts, HookCalls } from '../../src/processing/attempt-hooks.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

type Options = Partial<ProcessorOptions> & Pick<ProcessorOptions, 'handlers'>;

async function started(options: Options, clock = new VirtualClock()) {
  const inbox = options.inbox ?? memoryInbox();
  await store(inbox, orderEvent('evt_1'));
  const processor = createProcessor({ clock, logger: false, ...options, inbox });
  await processor.start();
  await rest();
  return { clock, inbox, processor };
}

function told() {
  const calls: ({ readonly hook: string } & (FailedFacts | DeadFacts))[] = [];
  return {
    calls,
    onFailed: (facts: FailedFacts) => void calls.push({ hook: 'onFailed', ...facts }),
    onDead: (facts: DeadFacts) => void calls.push({ hook: 'onDead', ...facts }),
  };
}

const failure = new TypeError('no order \u001b[31m of Ada');
const fails = { '*': () => Promise.reject(failure) };

describe('onFailed and onDead', () => {
  it('are told of each failed attempt, and of the last one, once that is written', async () => {
    const { calls, onFailed, onDead } = told();
    const states: unknown[] = [];
    const inbox = memoryInbox();
    const { clock, processor } = await started({
      inbox,
      handlers: fails,
      processing: { retry: { attempts: 2, maxMs: 1 } },
      onFailed,
      async onDead(facts) {
        onDead(facts);
        states.push((await inbox.get(facts))?.state);
      },
    });
    await clock.advance(1_000);
    const about = { endpoint: 'default', id: 'evt_1', type: 'order.created', durationMs: expect.any(Number) };
    const error = { name: 'TypeError', message: 'no order \\u{1b}[31m of Ada' };
    expect(calls).toEqual([
      { hook: 'onFailed', ...about, attempt: 1, error, thrown: failure, dueAt: expect.any(Date) },
      { hook: 'onDead', ...about, attempt: 2, error, thrown: failure, reason: 'failed' },
    ]);
    expect(Reflect.get(calls[0] ?? {}, 'thrown')).toBe(failure);
    expect(states).toEqual(['dead']);
    await processor.close();
  });

  it('are told no message where logErrors is false', async () => {
    const { calls, onDead } = told();
    const handlers = { '*': () => Promise.reject(new PermanentError('Ada')) };
    const { processor } = await started({ handlers, onDead, logErrors: false });
    expect(calls.map(({ error }) => error)).toEqual([{ name: 'PermanentError' }]);
    expect(calls[0]).not.toHaveProperty('thrown');
    await processor.close();
  });

  it('are told of a handler that ignores its timeout and is given back by close()', async () => {
    const { calls, onDead } = told();
    const { logger, lines } = recordedLog();
    const { clock, inbox, processor } = await started({
      handlers: { '*': () => new Promise(() => {}) },
      processing: { timeoutMs: 1_000, retry: { attempts: 1 } },
      logger,
      onDead,
    });
    await clock.advance(1_000);
    const closing = processor.close();
    await clock.advance(11_000);
    await closing;
    expect(await inbox.get(orderEvent('evt_1'))).toMatchObject({ state: 'dead' });
    expect(calls).toMatchObject([{ hook: 'onDead', id: 'evt_1', error: { name: 'TimeoutError' }, reason: 'failed' }]);
    expect(lines.map(({ message }) => message)).toContain(
      'event is dead; to see why, run the command in this log entry',
    );
  });

  it('are told of the crash of another process by whoever finds it', async () => {
    const { calls, onFailed, onDead } = told();
    const inbox = memoryInbox();
    await inbox.accept(orderEvent('evt_2'), later());
    await inbox.claim({ endpoints: '*', types: '*', now: START, leaseMs: 10, ordered: true }, 1);
    const clock = new VirtualClock();
    clock.block(5_000);
    const { processor } = await started({ inbox, handlers: {}, onFailed, onDead }, clock);
    expect(calls).toEqual([
      {
        hook: 'onFailed',
        endpoint: 'default',
        id: 'evt_2',
        type: 'order.created',
        attempt: 1,
        error: null,
        durationMs: null,
        dueAt: expect.any(Date),
      },
    ]);
    await processor.close();
  });

  it.each<[string, () => unknown]>([
    [
      'throw',
      () => {
        throw new Error('pager');
      },
    ],
    ['reject', () => Promise.reject(new Error('pager'))],
    ['hang', () => new Promise(() => {})],
  ])('change nothing when they %s', async (_, hook) => {
    const { logger, lines } = recordedLog();
    const { clock, inbox, processor } = await started({
      logger,
      handlers: { '*': (_event, { attempt }) => (attempt === 1 ? Promise.reject(new Error('once')) : undefined) },
      onFailed: hook,
    });
    await clock.advance(2_000);
    expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
    expect(JSON.stringify(lines)).not.toContain('pager');
    await processor.close();
  });

  it('that are no functions are refused', () => {
    for (const name of ['onFailed', 'onDead']) {
      const create = () => createProcessor({ inbox: memoryInbox(), handlers: {}, [name]: 'mail' });
      expect(create).toThrow(ConfigurationError);
      expect(create).toThrow(`${name} must be a function, not a string`);
    }
  });
});

describe('calls of hooks', () => {
  it('are bounded while they are under way, and what is left out is said once', async () => {
    const { logger, lines } = recordedLog();
    const calls = new HookCalls(logger);
    const open: (() => void)[] = [];
    for (let n = 0; n < 150; n += 1) {
      calls.call('onFailed', () => new Promise<void>((resolve) => open.push(resolve)), { endpoint: 'default' });
    }
    await rest();
    expect(open).toHaveLength(100);
    expect(lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('skipped') }]);
    for (const end of open) end();
    await calls.close();
    expect(calls.pending()).toBeNull();
    calls.call('onFailed', () => open.push(() => {}), { endpoint: 'default' });
    await calls.close();
    expect(open).toHaveLength(101);
  });
});
