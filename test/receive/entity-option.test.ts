import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { entityOf, type EntityOf } from '../../src/events/entity.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { rerunEvents, rerun } from '../../src/ops/act-on-events.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { invalidThen } from '../ops/events-in-states.ts';
import { orderEvent, store } from '../helpers/order-event.ts';

const secret = 'the-secret-4711';
const key = { endpoint: 'default', id: 'evt' };

/** With the words in the log. */
const USELESS: readonly (readonly [what: string, rule: () => unknown, why: string])[] = [
  ['returns undefined', () => undefined, 'returned undefined'],
  ['returns a number', () => 42, 'returned a number'],
  ['returns false', () => false, 'returned a boolean'],
  ['returns an object', () => ({ order: 'ord_1' }), 'returned an object'],
  ['returns a String object', () => Object('ord_1') as unknown, 'returned an object'],
  ['returns a symbol', () => Symbol('ord_1'), 'returned a symbol'],
  ['returns a function', () => () => 'ord_1', 'returned a function'],
  ['returns an empty text', () => '', 'returned an empty string'],
  ['returns a lone surrogate', () => 'ord_\ud800', 'a lone surrogate'],
  ['returns a text that is too long', () => 'x'.repeat(1_001), 'more than 1000 characters'],
  ['is async', async () => 'ord_1', 'returned a promise'],
  ['is async and rejects', () => Promise.reject(new Error('no such shop')), 'returned a promise'],
  [
    'returns a thenable that throws',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what a promise library may bring
      then() {
        throw new Error('no such shop');
      },
    }),
    'returned a promise',
  ],
  [
    'throws',
    () => {
      throw new TypeError('ord_1 is no shop');
    },
    'TypeError',
  ],
  [
    'throws what has no text',
    () => {
      // oxlint-disable-next-line typescript/only-throw-error -- merchants' code may throw anything
      throw Object.create(null);
    },
    'a thrown object',
  ],
];

function watchForRejections(): void {
  const rejections: unknown[] = [];
  const note = (rejection: unknown): void => void rejections.push(rejection);
  process.on('unhandledRejection', note);
  onTestFinished(async () => {
    await new Promise(setImmediate);
    process.off('unhandledRejection', note);
    expect(rejections).toEqual([]);
  });
}

function receiving(inbox: Inbox, rule: () => unknown) {
  const { logger, lines } = recordedLog();
  const receiver = createReceiver({ secret, inbox, logger, entity: rule as EntityOf });
  const deliver = (id: string) => {
    const { body } = orderEvent(id);
    return receiver.receive({ body, signature: signBody(body, secret) });
  };
  return { deliver, lines };
}

const INBOXES: readonly (readonly [name: string, open: () => Inbox])[] = [
  ['memoryInbox', () => memoryInbox()],
  ['sqliteInbox', () => sqliteInbox({ database: merchantDatabase() })],
];

beforeEach(watchForRejections);

describe.each(INBOXES)('over %s, an entity option', (_, open) => {
  function opened(): Inbox {
    const inbox = open();
    onTestFinished(() => inbox.close());
    return inbox;
  }

  it.each(USELESS)('that %s leaves the event alone, stores it, and says so', async (__, rule, why) => {
    const inbox = opened();
    const { deliver, lines } = receiving(inbox, rule);

    expect(await deliver('evt')).toMatchObject({ kind: 'stored', status: 200 });

    expect(await inbox.get(key)).toMatchObject({ entity: null, state: 'pending' });
    expect(lines).toMatchObject([
      { level: 'error', facts: { id: 'evt', error: expect.stringContaining(why) as string } },
    ]);
    expect(lines[0]?.message).toContain('entity');
    expect(JSON.stringify(lines)).not.toContain('ord_1');
  });

  it.each([
    ['null', null],
    ['the longest name', 'x'.repeat(1_000)],
    ['a name with an emoji', 'ord_🥐'],
  ])('may say %s, and nothing is logged', async (__, name) => {
    const inbox = opened();
    const { deliver, lines } = receiving(inbox, () => name);
    await deliver('evt');
    expect(await inbox.get(key)).toMatchObject({ entity: name });
    expect(lines).toEqual([]);
  });

  it.each(USELESS)('that %s leaves an invalid event alone when it is rerun', async (__, rule) => {
    const inbox = opened();
    await store(inbox, invalidThen(orderEvent('evt')));

    expect(await rerun(inbox, key, { entity: rule as EntityOf })).toBe('rerun');

    expect(await inbox.get(key)).toMatchObject({ entity: null, state: 'pending' });
  });
});

describe('an entity option', () => {
  it('that names nothing for every event makes few lines', async () => {
    const { deliver, lines } = receiving(memoryInbox(), () => undefined);
    for (let n = 0; n < 1_000; n += 1) await deliver(`evt_${n}`);
    expect(lines.length).toBeLessThanOrEqual(3);
  });

  it.each(USELESS)('that %s leaves an invalid event alone when operators rerun it', async (_, rule) => {
    const inbox = sqliteInbox({ database: merchantDatabase() });
    onTestFinished(() => inbox.close());
    await store(inbox, invalidThen(orderEvent('evt')));

    expect((await rerunEvents(inbox, [key], { actor: 'ada' }, { entity: rule as EntityOf })).counts).toEqual({
      done: 1,
    });

    expect(await inbox.get(key)).toMatchObject({ entity: null, state: 'pending' });
  });
});

describe('the rule of hookbox', () => {
  it.each([
    ['a lone surrogate', String.raw`ord_\ud800`],
    ['ten thousand characters', 'x'.repeat(10_000)],
  ])(
    'leaves an event alone whose order has %s for an id: SQLite would take it for another, or index it whole',
    async (_, id) => {
      const inbox = sqliteInbox({ database: merchantDatabase() });
      onTestFinished(() => inbox.close());
      const { logger, lines } = recordedLog();
      const receiver = createReceiver({ secret, inbox, logger, entity: entityOf });
      const body = Buffer.from(orderEvent('evt', { order: 'ord_1' }).body.toString().replace('ord_1', id));

      expect(await receiver.receive({ body, signature: signBody(body, secret) })).toMatchObject({ kind: 'stored' });

      expect(await inbox.get(key)).toMatchObject({ entity: null, state: 'pending', body });
      expect(lines).toMatchObject([{ level: 'error', facts: { id: 'evt' } }]);
    },
  );
});
