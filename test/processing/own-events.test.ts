import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isKnown } from '../../src/events/known-event.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { store } from '../helpers/order-event.ts';
import { EARNED, own, ownEvent, schemaBy } from '../helpers/own-events.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest } from '../helpers/virtual-clock.ts';
import { KEY, points, shopOver } from './own-events-shop.ts';
import { testOwnEvents } from './own-events.conformance.ts';

testOwnEvents('own types and fields, in memory', () => memoryInbox());
testOwnEvents('own types and fields, on a file', () => sqliteInbox(scratchFile()));

describe('a schema of an own type', () => {
  const shop = () => shopOver(memoryInbox());

  it.each([
    ['zod', points],
    ['valibot', v.object({ points: v.number() })],
    [
      'one that answers later',
      schemaBy(async (value) => {
        await Promise.resolve();
        return { value };
      }),
    ],
  ])('a handler of an own type is given what fits the schema of %s', async (_, schema) => {
    const { inbox, given, keep, start, states } = shop();
    await store(inbox, ownEvent('evt_1', { points: 5 }));
    await start({ [EARNED]: schema }, { [EARNED]: keep });
    expect(given).toMatchObject([{ id: 'evt_1', type: EARNED, data: { points: 5 } }]);
    expect(await states()).toEqual(['processed', null, 1]);
  });

  it('it is given what the schema makes, and what is stored stays as it was sent', async () => {
    const { inbox, given, start } = shop();
    const sent = ownEvent('evt_1', { points: '5', other: 1 });
    await store(inbox, sent);
    await start({ [EARNED]: z.object({ points: z.string().transform(Number), tier: z.string().default('blue') }) });
    expect(given.map(({ data }) => data)).toEqual([{ points: 5, tier: 'blue' }]);
    expect(Buffer.from((await inbox.get(KEY))?.body ?? []).equals(sent.body)).toBe(true);
  });

  it("'*' is given checked events of own types too, which isKnown tells from any others", async () => {
    const { inbox, inTurn, start } = shop();
    await store(inbox, ownEvent('evt_1', { points: 5 }), ownEvent('evt_2', {}, 'loyalty.spent'));
    await start({ [EARNED]: points });
    expect(inTurn().map((event) => [event.type, isKnown(event)])).toEqual([
      [EARNED, true],
      ['loyalty.spent', false],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no table of tiers');
      },
      'no table of tiers',
    ],
    ['rejects', () => Promise.reject(new Error('no table of tiers')), 'no table of tiers'],
    ['throws nothing', () => Promise.reject(null), 'null'],
    ['gives no answer', () => 'yes', 'returned neither a value nor issues'],
  ])('a schema that %s is a failed attempt, which runs again', async (_, answer, said) => {
    const { inbox, clock, given, start, states } = shop();
    await store(inbox, ownEvent('evt_1', { points: 5 }));
    let asked = 0;
    await start({ [EARNED]: schemaBy((value) => ((asked += 1) === 1 ? answer() : { value })) });
    expect(given).toEqual([]);
    expect(await inbox.attempts(KEY)).toMatchObject([
      { outcome: 'failed', error: { message: expect.stringContaining(said) } },
    ]);
    await clock.advance(2_000);
    expect(given).toHaveLength(1);
    expect(await states()).toEqual(['processed', null, 2]);
  });

  it('a schema that hangs ends at the time-out, and its handler does not begin when it answers after that', async () => {
    const { inbox, clock, given, start } = shop();
    await store(inbox, ownEvent('evt_1', { points: 5 }));
    const answers: PromiseWithResolvers<unknown>[] = [];
    await start({
      [EARNED]: schemaBy(() => {
        const answer = Promise.withResolvers<unknown>();
        answers.push(answer);
        return answer.promise;
      }),
    });
    await clock.advance(30_000);
    answers[0]?.resolve({ value: { points: 5 } });
    await rest();
    const message = `the schema of ${EARNED} took longer than 30000 ms`;
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'failed', error: { name: 'TimeoutError', message } }]);
    expect(given).toEqual([]);
    await clock.advance(2_000);
    answers[1]?.resolve({ value: { points: 5 } });
    await rest();
    expect(given).toHaveLength(1);
  });

  it('closing while a schema is asked gives the event back, and the handler does not begin', async () => {
    const { inbox, clock, given, start, states } = shop();
    await store(inbox, ownEvent('evt_1', { points: 5 }));
    const answer = Promise.withResolvers<unknown>();
    const processor = await start({ [EARNED]: schemaBy(() => answer.promise) });
    const closing = processor.close();
    await clock.advance(10_500);
    answer.resolve({ value: { points: 5 } });
    await clock.advance(5_000);
    await closing;
    expect(given).toEqual([]);
    expect(await states()).toEqual(['pending', null, 1]);
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'interrupted' }]);
  });

  it('a schema of one of the eleven that makes no object is a failed attempt', async () => {
    const { inbox, start } = shop();
    await store(inbox, ownEvent('evt_1', { id: 'ord_1' }, 'order.ready'));
    await start({ 'order.ready': schemaBy(() => ({ value: 5 })) });
    expect(await inbox.attempts(KEY)).toMatchObject([
      {
        outcome: 'failed',
        error: { message: expect.stringMatching(/^The schema of order\.ready must return an object, because/) },
      },
    ]);
  });

  it('a receiver stores whatever the schema would say, and never asks it', async () => {
    const { inbox, states } = shop();
    let asked = 0;
    const counting = schemaBy((value) => ((asked += 1), { value }));
    await using receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger: false,
      ...own({ [EARNED]: counting }, {}),
    });
    const { body } = ownEvent('evt_1', { points: 'none' });
    expect(await receiver.receive({ body, signature: signBody(body, SECRET) })).toMatchObject({ kind: 'stored' });
    expect([asked, ...(await states())]).toEqual([0, 'pending', null, 0]);
  });
});

describe('what is given as events and handlers', () => {
  const creating = (events: unknown, handlers: object) => () =>
    createProcessor({ inbox: memoryInbox(), handlers: handlers, events: events as object });

  it('has a schema for each key of handlers that is not one of the eleven', () => {
    expect(creating({ [EARNED]: points }, { [EARNED]() {}, 'order.ready'() {}, '*'() {} })).not.toThrow();
    expect(creating({ [EARNED]: points }, { 'loyalty.erned'() {} })).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_EVENT_TYPE',
        message: expect.stringMatching(
          /^handlers has the key "loyalty\.erned", which is not an event type\. .*\. To add a type of your own, add its schema to the option "events": \{ "loyalty\.erned": schema \}\.$/,
        ),
      }),
    );
  });

  it.each([
    ['a list', [points]],
    ['nothing', null],
    ['a schema alone', points],
    ['a function', { [EARNED]: (data: unknown) => data }],
    ['a schema of JSON', { [EARNED]: { type: 'object' } }],
    ["one for '*'", { '*': points }],
    ['one without a name', { '': points }],
  ])('is refused when it is %s', (_, events) => {
    expect(creating(events, {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
