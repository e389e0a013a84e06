import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { PermanentError } from '../../src/errors.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { rerunEvents } from '../../src/ops/index.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import { buildEvent, deliverTo, testInbox, type TestInbox, type TestInboxOptions } from '../../src/testing/index.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const secret = 'a secret that only the tests know';
const HOUR_MS = 60 * 60_000;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function shop(handlers: Handlers, options: TestInboxOptions = {}): Promise<TestInbox & { receiver: Receiver }> {
  const tested = testInbox(options);
  const { inbox, clock } = tested;
  const receiver = createReceiver({ secret, inbox, clock, handlers, logger: silent });
  ends.push(() => receiver.close());
  await receiver.start();
  return { ...tested, receiver };
}

const STORES = [
  ['in memory', () => undefined],
  [
    'in SQLite',
    () => {
      const inbox = sqliteInbox(scratchFile());
      ends.push(() => inbox.close());
      return inbox;
    },
  ],
] as const;

describe.each(STORES)('testInbox %s', (_, store) => {
  const options = (): TestInboxOptions => {
    const inbox = store();
    return { now: '2026-01-01T00:00:00Z', ...(inbox !== undefined && { inbox }) };
  };

  it('begins attempts at the rate of their type', async () => {
    const starts: number[] = [];
    const handle = () => void starts.push(clock.now() - first);
    const { receiver, clock, handledAll } = await shop(
      { 'order.created': { handle, rate: { count: 2, perMs: 2_500 } } },
      options(),
    );
    const first = clock.now();
    for (let n = 0; n < 5; n += 1) await deliverTo(receiver, buildEvent('order.created'), { secret });
    expect((await handledAll()).map(({ state }) => state)).toEqual(Array(5).fill('processed'));
    expect(starts).toEqual([0, 0, 2_500, 2_500, 5_000]);
  });

  it('runs an hour of retries until the handler succeeds', async () => {
    let runs = 0;
    const { receiver, clock, handledAll, inbox } = await shop(
      {
        'order.created': () => {
          runs += 1;
          if (clock.now() < Date.UTC(2026, 0, 1, 1)) throw new Error('the shop is closed');
        },
      },
      options(),
    );
    const startedAt = performance.now();
    await deliverTo(receiver, buildEvent('order.created', { id: 'evt_1' }), { secret });
    const [event, ...others] = await handledAll();
    expect(others).toEqual([]);
    expect(event).toMatchObject({ id: 'evt_1', state: 'processed', receivedAt: new Date(Date.UTC(2026, 0, 1)) });
    expect(clock.now()).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1, 1));
    const attempts = await inbox.attempts({ endpoint: 'default', id: 'evt_1' });
    expect(attempts).toHaveLength(runs);
    expect(attempts.at(-1)?.startedAt.getTime()).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1, 1));
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it('ends with the dead, too', async () => {
    const { receiver, handledAll } = await shop(
      {
        'order.failed': () => {
          throw new PermanentError('no such account');
        },
        'order.ready': () => {
          throw new Error('never works');
        },
        '*': () => {},
      },
      options(),
    );
    for (const type of ['order.failed', 'order.ready', 'cart.abandoned'] as const) {
      await deliverTo(receiver, buildEvent(type, { data: { id: type } }), { secret });
    }
    const events = await handledAll();
    expect(events.map(({ type, state, deadReason }) => [type, state, deadReason])).toEqual([
      ['order.failed', 'dead', 'failed'],
      ['order.ready', 'dead', 'failed'],
      ['cart.abandoned', 'processed', null],
    ]);
  });

  it('waits for handlers that take real time', async () => {
    const done: string[] = [];
    const { receiver, clock, inbox } = await shop(
      {
        '*': async ({ id }) => {
          await delay(30);
          done.push(id);
        },
      },
      options(),
    );
    await deliverTo(receiver, buildEvent('order.ready', { id: 'evt_1' }), { secret });
    await clock.advance(0);
    expect(done).toEqual(['evt_1']);
    expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({ state: 'processed' });
  });

  it('aborts a handler that hangs when its time is over on the clock', async () => {
    const aborted: number[] = [];
    const { receiver, clock, handledAll } = await shop(
      {
        '*': (_event, { attempt, signal }) => {
          if (attempt > 1) return undefined;
          return new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              aborted.push(clock.now());
              resolve('stopped');
            });
          });
        },
      },
      options(),
    );
    const startedAt = clock.now();
    await deliverTo(receiver, buildEvent('order.ready'), { secret });
    await clock.advance(29_999);
    expect(aborted).toEqual([]);
    await clock.advance(1);
    expect(aborted).toEqual([startedAt + 30_000]);
    expect(await handledAll()).toMatchObject([{ state: 'processed' }]);
  });

  it('puts away what nobody handles', async () => {
    const { receiver, handledAll } = await shop({ 'order.ready': () => {} }, options());
    await deliverTo(receiver, buildEvent('order.created'), { secret });
    expect(await handledAll()).toMatchObject([{ state: 'ignored' }]);
  });

  it('says what is left when the time is up', async () => {
    const { receiver, handledAll } = await shop(
      {
        '*': () => {
          throw new Error('not yet');
        },
      },
      options(),
    );
    await deliverTo(receiver, buildEvent('order.ready', { id: 'evt_1' }), { secret });
    await expect(handledAll({ withinMs: 100 })).rejects.toThrow(
      'Not handled: evt_1 (order.ready, pending). 100 ms passed',
    );
  });
});

describe('testInbox', () => {
  it('starts now unless told otherwise', () => {
    const before = Date.now();
    const { clock } = testInbox();
    expect(clock.now()).toBeGreaterThanOrEqual(before);
    expect(clock.now()).toBeLessThanOrEqual(Date.now());
    for (const now of ['2026-01-01T00:00:00Z', new Date(Date.UTC(2026, 0)), Date.UTC(2026, 0)]) {
      expect(testInbox({ now }).clock.now()).toBe(Date.UTC(2026, 0));
    }
    expect(() => testInbox({ now: 'tomorrow' })).toThrow(TypeError);
  });

  it('stands still between two calls', async () => {
    const { clock } = testInbox({ now: 0 });
    await delay(5);
    expect(clock.now()).toBe(0);
    await clock.advance(1_500);
    expect(clock.now()).toBe(1_500);
  });

  it('calls back at the right time, in order, once, unless cancelled', async () => {
    const { clock } = testInbox({ now: 0 });
    const calls: string[] = [];
    const note = (what: string) => () => void calls.push(`${what} at ${clock.now()}`);
    clock.after(20, note('second'));
    clock.after(10, () => {
      note('first')();
      clock.after(5, note('set meanwhile'));
    });
    clock.after(12, note('cancelled'))();
    clock.after(31, note('later'));
    await clock.advance(30);
    expect(calls).toEqual(['first at 10', 'set meanwhile at 15', 'second at 20']);
    await clock.advance(1);
    expect(calls.at(-1)).toBe('later at 31');
  });

  it('has nothing to do at first', async () => {
    expect(await testInbox().handledAll()).toEqual([]);
  });

  it('says what is missing when nothing waits for its clock', async () => {
    const { inbox, handledAll } = testInbox();
    await using receiver = createReceiver({ secret, inbox, logger: silent });
    await deliverTo(receiver, buildEvent('order.ready'), { secret });
    await expect(handledAll()).rejects.toThrow('pass clock and inbox of testInbox to createReceiver');
  });

  it('serves a processor apart from its receiver', async () => {
    const { inbox, clock, handledAll } = testInbox();
    const receiver = createReceiver({ secret, inbox, clock, logger: silent });
    const processor = createProcessor({ inbox, clock, handlers: { '*': () => {} }, logger: silent });
    await processor.start();
    await deliverTo(receiver, buildEvent('order.ready'), { secret });
    expect(await handledAll()).toMatchObject([{ state: 'processed' }]);
    await Promise.all([receiver.close(), processor.close()]);
  });

  it('commits what a handler writes to the database of its SQLite inbox', async () => {
    const inbox = sqliteInbox(scratchFile());
    ends.push(() => inbox.close());
    const { receiver, handledAll } = await shop(
      {
        '*': ({ id }, ctx) =>
          ctx.transaction((database) => {
            database.exec('CREATE TABLE IF NOT EXISTS seen (id TEXT)');
            database.prepare('INSERT INTO seen VALUES (?)').run(id);
          }),
      },
      { inbox },
    );
    await deliverTo(receiver, buildEvent('order.ready'), { secret });
    expect(await handledAll()).toMatchObject([{ state: 'processed' }]);
  });

  it('lets an operator rerun what is dead', async () => {
    let isOpen = false;
    const handlers: Handlers = {
      'order.created': () => {
        if (!isOpen) throw new PermanentError('the shop is closed');
      },
    };
    const kept = sqliteInbox(scratchFile());
    ends.push(() => kept.close());
    const { inbox, receiver, handledAll } = await shop(handlers, { inbox: kept });
    await deliverTo(receiver, buildEvent('order.created'), { secret });
    const [dead] = await handledAll();
    expect(dead).toMatchObject({ state: 'dead' });
    isOpen = true;
    const { counts } = await rerunEvents(inbox, [{ endpoint: 'default', id: dead?.id ?? '' }], { actor: 'ada' });
    expect(counts).toEqual({ done: 1 });
    expect(await handledAll()).toMatchObject([{ state: 'processed' }]);
  });

  it('lets a day pass quickly', async () => {
    const { clock } = await shop({ '*': () => {} });
    const startedAt = performance.now();
    await clock.advance(24 * HOUR_MS);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
