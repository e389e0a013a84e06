import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../../src/errors.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { buildEvent } from '../../src/testing/build-event.ts';
import { testInbox } from '../../src/testing/test-inbox.ts';
import { EARNED, own } from '../helpers/own-events.ts';
import { FormUser } from './dashboard-forms.ts';
import { Service } from './service.ts';

describe('an event that is sent by hand', () => {
  it('of a type of the merchant is checked where it is made, signed, delivered, and handled with what its schema makes', async () => {
    const secret = 'the signing secret of a test';
    const schemas = { [EARNED]: z.object({ points: z.number().transform((points) => points * 2) }) };
    const earned: unknown[] = [];
    const { inbox, handledAll } = testInbox();
    const receiver = createReceiver({
      secret,
      inbox,
      logger: false,
      processing: { mode: 'inline' },
      ...own(schemas, { [EARNED]: (event) => void earned.push(event.data) }),
    });
    await using sandbox = createSandbox({ webhooks: [{ to: receiver, secret }] });
    const build = (data: object): { readonly type: string; readonly data: object } =>
      Reflect.apply(buildEvent, undefined, [EARNED, { data }, { events: schemas }]);

    expect(() => sandbox.events.send(build({ points: 'many' }))).toThrow(`does not fit the schema of ${EARNED}`);
    const id = sandbox.events.send(build({ points: 5 }));
    await sandbox.advance(0);
    expect(earned).toEqual([{ points: 10 }]);
    expect(await handledAll()).toMatchObject([{ id, type: EARNED, state: 'processed', verified: true }]);
    expect(sandbox.deliveries.list()).toMatchObject([{ event: { id, type: EARNED, about: null }, state: 'delivered' }]);
    await receiver.close();
  });

  it('is the same again in a sandbox with the same seed, has the time of its clock, and is tried on the schedule', async () => {
    const bytes: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      await using service = new Service({
        webhooks: [{ to: async () => new Response(null, { status: 500 }), as: 'fetch' }],
      });
      const { sandbox } = service;
      await sandbox.advance('1 h');
      sandbox.events.send({ type: EARNED, data: { id: 7, points: 5 } });
      await sandbox.advance('2 d');
      const [dead] = sandbox.deliveries.list({ state: 'dead' });
      expect(dead).toMatchObject({ tries: 7, event: { about: '7' } });
      bytes.push(Buffer.from(sandbox.deliveries.find(dead?.id ?? 0)?.body ?? []).toString());
    }
    const [first = '', second] = bytes;
    expect(second).toBe(first);
    expect(JSON.parse(first)).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: EARNED,
      created: '2026-01-01T01:00:00.000Z',
      data: { id: 7, points: 5 },
    });
  });

  it('goes to nobody who has chosen other types, and changes nothing else', async () => {
    await using sandbox = createSandbox();
    sandbox.webhooks.add({ url: 'http://localhost:9/', secret: null, events: ['order.created'] });
    sandbox.events.send({ type: EARNED, data: {} });
    expect(sandbox.deliveries.list()).toEqual([]);
    sandbox.events.send({ type: 'order.created', data: { object: 'order', id: 'ord_1', gift_note: 'hello' } });
    expect(sandbox.deliveries.list()).toMatchObject([{ event: { type: 'order.created', about: 'ord_1' } }]);
    expect(sandbox.orders.list()).toEqual([]);
    // No order has this id, so the page has no link.
    const { html } = await new FormUser(sandbox).open('/deliveries/1');
    expect(html).toContain('ord_1');
    expect(html).not.toContain('/orders/ord_1');
  });

  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  it.each([
    ['no type', { data: {} }],
    ['an empty type', { type: '', data: {} }],
    ['a type on two lines', { type: 'a\nb', data: {} }],
    ['a long type', { type: 'x'.repeat(256), data: {} }],
    ['no data', { type: EARNED }],
    ['a list', { type: EARNED, data: [1] }],
    ['what is no JSON', { type: EARNED, data: { n: 1n } }],
    ['what holds itself', { type: EARNED, data: cyclic }],
  ])('is refused with a sentence: %s', async (_, event) => {
    await using sandbox = createSandbox();
    const send = (): unknown => Reflect.apply(sandbox.events.send, undefined, [event]);
    expect(send).toThrow(ConfigurationError);
    expect(send).toThrow(/^(type|data) must be /);
  });
});
