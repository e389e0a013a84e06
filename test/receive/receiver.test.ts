import { gzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { BodyReader, Delivery } from '../../src/receive/delivery.ts';
import { ConfigurationError, InboxUnavailableError } from '../../src/errors.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Outcome } from '../../src/receive/outcome.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { ANYTHING_THROWN } from '../helpers/anything-thrown.ts';
import { recordedLog } from '../helpers/recorded-log.ts';

const secret = 'the-secret-4711';
const utf8 = new TextEncoder();
const UUID = /^[0-9a-f-]{36}$/;

const { logger, lines, forget } = recordedLog();
beforeEach(forget);

function receiving(options: Partial<ReceiverOptions> = {}): Receiver & { readonly inbox: Inbox } {
  const inbox = options.inbox ?? memoryInbox();
  return { ...createReceiver({ secret, logger, ...options, inbox }), inbox };
}

function event(id: string, data: object = {}, type = 'order.ready'): Uint8Array {
  return utf8.encode(JSON.stringify({ id, type, created: '2026-03-14T08:22:30Z', data }));
}

function signed(body: Uint8Array): Delivery {
  return { body, signature: signBody(body, secret) };
}

function inboxWhose(accept: Inbox['accept']): Inbox {
  return { ...memoryInbox(), accept };
}

describe('a delivery', () => {
  it('is stored before it is answered 200', async () => {
    const receiver = receiving();
    const body = event('evt_1', { merchant_id: 'mer_1', id: 'ord_1', total: 30.05 });
    const before = Date.now();
    expect(await receiver.receive(signed(body))).toEqual({
      kind: 'stored',
      id: 'evt_1',
      status: 200,
      headers: {},
      body: { received: true, duplicate: false, id: 'evt_1' },
    });
    const stored = await receiver.inbox.get({ endpoint: 'default', id: 'evt_1' });
    expect(stored).toMatchObject({
      type: 'order.ready',
      created: { ms: Date.UTC(2026, 2, 14, 8, 22, 30), ns: 0 },
      entity: 'order:mer_1:ord_1',
      verified: true,
      state: 'pending',
      deadReason: null,
      redeliveries: { count: 0 },
      conflict: null,
    });
    expect(Buffer.from(stored?.body ?? [])).toEqual(Buffer.from(body));
    expect(stored?.receivedAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(stored?.receivedAt.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('that comes again is a duplicate, answered 200, and stored once', async () => {
    const receiver = receiving();
    await receiver.receive(signed(event('evt_1')));
    expect(await receiver.receive(signed(event('evt_1')))).toEqual({
      kind: 'duplicate',
      id: 'evt_1',
      status: 200,
      headers: {},
      body: { received: true, duplicate: true, id: 'evt_1' },
    });
    const [stored, ...others] = await receiver.inbox.list();
    expect(others).toEqual([]);
    expect(stored?.redeliveries.count).toBe(1);
  });

  it('with the same id and other bytes is a duplicate too: the first wins, and the other is kept beside it', async () => {
    const receiver = receiving();
    await receiver.receive(signed(event('evt_1', { total: 1 })));
    const other = event('evt_1', { total: 2 });
    expect(await receiver.receive(signed(other))).toMatchObject({ kind: 'duplicate', status: 200 });
    const stored = await receiver.inbox.get({ endpoint: 'default', id: 'evt_1' });
    expect(Buffer.from(stored?.body ?? []).toString()).toContain('"total":1');
    expect(Buffer.from(stored?.conflict?.body ?? [])).toEqual(Buffer.from(other));
  });

  it('of an unknown type is stored and answered 200', async () => {
    const receiver = receiving();
    const body = event('evt_1', { id: 'ord_1' }, 'order.refunded');
    expect(await receiver.receive(signed(body))).toMatchObject({ kind: 'stored', status: 200 });
    expect(await receiver.inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({
      type: 'order.refunded',
      entity: null,
      state: 'pending',
    });
  });

  it.each([
    [
      'a wrong type in data',
      '{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":"1"}}',
      'order.ready',
    ],
    ['no type', '{"id":"evt_1","created":"2026-03-14T08:22:30Z","data":{}}', null],
    ['nothing but an id', '{"id":"evt_1"}', null],
    [
      'a key twice',
      '{"id":"evt_1","type":"order.ready","type":"order.failed","created":"2026-03-14T08:22:30Z","data":{}}',
      'order.failed',
    ],
  ])('that is invalid, with %s, is stored as dead and answered 200', async (_, text, type) => {
    const receiver = receiving();
    const body = utf8.encode(text);
    expect(await receiver.receive(signed(body))).toMatchObject({
      kind: 'stored',
      status: 200,
      body: { duplicate: false },
    });
    const stored = await receiver.inbox.get({ endpoint: 'default', id: 'evt_1' });
    expect(stored).toMatchObject({ type, created: null, entity: null, state: 'dead', deadReason: 'invalid' });
    expect(Buffer.from(stored?.body ?? []).toString()).toBe(text);
  });
});

describe('a delivery that is not accepted', () => {
  const body = event('evt_1');
  const right = signBody(body, secret);
  const late: BodyReader = async () => ({ ended: 'too-slow' });
  const gone: BodyReader = async () => ({ ended: 'aborted' });
  const parsed: BodyReader = async () => ({ ended: 'consumed' });
  const retry = { 'Retry-After': '5' };
  const close = { Connection: 'close' };

  /** docs/answers.md */
  const table: readonly (readonly [string, Delivery, number, string, Record<string, string>])[] = [
    ['without a signature', { body, signature: undefined }, 401, 'INVALID_SIGNATURE', {}],
    ['with a malformed signature', { body, signature: right.toUpperCase() }, 401, 'INVALID_SIGNATURE', {}],
    ['with a wrong signature', { body, signature: signBody(body, 'x') }, 401, 'INVALID_SIGNATURE', {}],
    ['that is not UTF-8', signed(Uint8Array.of(0xff)), 400, 'INVALID_BODY', {}],
    ['that is not JSON', signed(utf8.encode('id=evt_1')), 400, 'INVALID_BODY', {}],
    ['that is not an object', signed(utf8.encode('"evt_1"')), 400, 'INVALID_BODY', {}],
    ['that has no usable id', signed(utf8.encode('{"id":7}')), 400, 'INVALID_BODY', {}],
    ['that broke off', { body: gone, signature: right }, 400, 'INVALID_BODY', close],
    ['over maxBodyBytes', signed(event(`evt_${'1'.repeat(1_000)}`)), 413, 'BODY_TOO_LARGE', close],
    [
      'with a content encoding',
      { ...signed(gzipSync(body)), contentEncoding: 'gzip' },
      415,
      'UNSUPPORTED_ENCODING',
      {},
    ],
    ['that is no POST', { ...signed(body), method: 'GET' }, 405, 'METHOD_NOT_ALLOWED', { Allow: 'POST' }],
    ['whose body came too slowly', { body: late, signature: right }, 503, 'UNAVAILABLE', { ...retry, ...close }],
    ['whose body was read before', { body: parsed, signature: right }, 500, 'BODY_CONSUMED', {}],
  ];

  it.each(table)('%s: nothing is stored, and the answer says so', async (_, delivery, status, code, headers) => {
    const receiver = receiving({ maxBodyBytes: 1_000 });
    const outcome = await receiver.receive(delivery);
    expect(outcome).toMatchObject({ status, code, kind: status < 500 ? 'rejected' : 'unavailable' });
    expect(outcome.headers).toEqual(headers);
    expect(outcome.body).toEqual({
      error: {
        code,
        message: expect.stringMatching(/^[A-Z].*\.$/),
        request_id: expect.stringMatching(UUID),
        ...(code === 'INVALID_BODY' && status === 400 && headers !== close && { details: [expect.anything()] }),
      },
    });
    expect(await receiver.inbox.list()).toEqual([]);
  });

  it.each([
    ['OVERLOADED', 'overloaded', retry],
    ['CLOSED', 'closing', { ...retry, ...close }],
    ['DEADLINE', 'deadline', retry],
    ['FAILED', 'inbox-failing', retry],
  ] as const)('because the inbox says %s is answered 503', async (code, reason, headers) => {
    const inbox = inboxWhose(() => Promise.reject(new InboxUnavailableError(code, 'no room')));
    const outcome = await receiving({ inbox }).receive(signed(body));
    expect(outcome).toMatchObject({ kind: 'unavailable', status: 503, code: 'UNAVAILABLE', reason, headers });
    expect(outcome.body).toEqual({
      error: { code: 'UNAVAILABLE', message: expect.any(String), request_id: expect.stringMatching(UUID) },
    });
  });

  it('because the inbox is closed is answered 503', async () => {
    const inbox = memoryInbox();
    await inbox.close();
    expect(await receiving({ inbox }).receive(signed(body))).toMatchObject({ status: 503, reason: 'closing' });
  });
});

describe('receive never rejects', () => {
  const body = event('evt_1');

  function fail(failure: unknown): never {
    // oxlint-disable-next-line typescript/only-throw-error -- merchants' code may throw anything
    throw failure;
  }

  it.each(ANYTHING_THROWN)(
    'when the inbox throws, rejects with or when the body reader throws %s',
    async (_, failure) => {
      const answer = { status: 503, reason: 'internal' };
      for (const accept of [() => fail(failure), () => sleep(1).then(() => fail(failure))])
        expect(await receiving({ inbox: inboxWhose(accept) }).receive(signed(body))).toMatchObject(answer);
      const delivery = { ...signed(body), body: () => fail(failure) };
      expect(await receiving().receive(delivery)).toMatchObject(answer);
    },
  );

  it.each([
    ['undefined', undefined],
    ['no known ending', { ended: 'otherwise' }],
    ['bytes that are none', { ended: 'complete' }],
  ])('when the body reader brings %s', async (_, read) => {
    const reader = (async () => read) as BodyReader;
    const outcome = await receiving().receive({ body: reader, signature: signBody(body, secret) });
    expect(outcome).toMatchObject({ kind: 'unavailable', status: 503, reason: 'internal' });
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'delivery'],
    ['nothing in it', {}],
  ])('when it is given a delivery that is %s', async (_, delivery) => {
    expect(await receiving().receive(delivery as Delivery)).toMatchObject({ status: 503, reason: 'internal' });
  });

  it.each([
    ['a text', new TextDecoder().decode(body)],
    ['a parsed object', { id: 'evt_1' }],
    ['an ArrayBuffer', body.buffer],
    ['null', null],
  ])('when the body is %s: it answers 503, and the log says that the raw bytes are needed', async (_, wrong) => {
    const outcome = await receiving().receive({
      body: wrong as unknown as Uint8Array,
      signature: signBody(body, secret),
    });
    expect(outcome).toMatchObject({ kind: 'unavailable', status: 503, reason: 'internal' });
    expect(lines).toEqual([
      { level: 'error', message: 'delivery not stored', facts: expect.objectContaining({ reason: 'internal' }) },
    ]);
    expect(lines[0]?.facts['cause']).toMatch(/raw body/);
  });

  it('when the inbox fails: the cause is logged under the request id of the answer, and is not in the answer', async () => {
    const inbox = inboxWhose(() => Promise.reject(new InboxUnavailableError('FAILED', 'disk full')));
    const outcome = await receiving({ inbox }).receive(signed(body));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error', facts: { reason: 'inbox-failing', cause: 'disk full' } });
    expect(outcome.body).toHaveProperty('error.request_id', lines[0]?.facts['requestId']);
    expect(JSON.stringify(outcome)).not.toContain('disk full');
  });

  it.each([
    ['FAILED', 'inbox-failing'],
    ['DEADLINE', 'deadline'],
  ] as const)('when the inbox stores again after %s, the log says so, once, and for how long', async (code, reason) => {
    const memory = memoryInbox();
    let isFailing = true;
    const inbox = inboxWhose((event, deadline) =>
      isFailing ? Promise.reject(new InboxUnavailableError(code, 'Postgres is away')) : memory.accept(event, deadline),
    );
    const receiver = receiving({ inbox, endpoint: 'shop-2' });
    const again = 'the inbox stores deliveries again';
    await receiver.receive(signed(body));
    await receiver.receive({ body, signature: 'forged' }); // it does not ask the inbox
    await receiver.receive(signed(body));
    expect(lines.filter(({ message }) => message === again)).toEqual([]);
    isFailing = false;
    await receiver.receive(signed(body));
    await receiver.receive(signed(body));
    const told = lines.filter(({ facts, message }) => message === again || facts['reason'] === reason);
    expect(told.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'delivery not stored'],
      ['warn', again],
    ]);
    expect(told[1]?.facts).toEqual({ endpoint: 'shop-2', failedForSeconds: expect.any(Number) });
  });

  it('when only some deliveries are stored: no more lines say so than say that it fails', async () => {
    const memory = memoryInbox();
    let asked = 0;
    const inbox = inboxWhose((event, deadline) => {
      asked += 1;
      return asked % 2 === 1
        ? Promise.reject(new InboxUnavailableError('FAILED', 'the event is locked'))
        : memory.accept(event, deadline);
    });
    const receiver = receiving({ inbox });
    for (let n = 0; n < 20; n += 1) await receiver.receive(signed(event(`evt_${n}`)));
    expect(lines.map(({ message }) => message)).toEqual(['delivery not stored', 'the inbox stores deliveries again']);
  });
});

describe('the deadline', () => {
  const body = event('evt_1');

  async function within(ms: number, answer: Promise<Outcome>): Promise<{ outcome: Outcome | 'none'; took: number }> {
    const start = performance.now();
    const outcome = await Promise.race([answer, sleep(ms, 'none' as const)]);
    return { outcome, took: performance.now() - start };
  }

  it('answers 503 for an inbox that hangs', async () => {
    const inbox = inboxWhose(() => new Promise(() => {}));
    const { outcome, took } = await within(2_000, receiving({ inbox, deadlineMs: 80 }).receive(signed(body)));
    expect(outcome).toMatchObject({ status: 503, reason: 'deadline', headers: { 'Retry-After': '5' } });
    expect(took).toBeGreaterThanOrEqual(75);
    expect(took).toBeLessThan(1_000);
  });

  it('is not disturbed by an inbox that fails after it', async () => {
    const inbox = inboxWhose(async () => {
      await sleep(60);
      throw new Error('too late to matter');
    });
    const outcome = await receiving({ inbox, deadlineMs: 20 }).receive(signed(body));
    expect(outcome).toMatchObject({ status: 503, reason: 'deadline' });
    await sleep(80); // an unhandled rejection would end the run
  });

  it('holds for a body reader that hangs, too', async () => {
    const reader: BodyReader = () => new Promise(() => {});
    const receiver = receiving({ deadlineMs: 80 });
    const { outcome } = await within(2_000, receiver.receive({ body: reader, signature: signBody(body, secret) }));
    expect(outcome).toMatchObject({ kind: 'unavailable', status: 503 });
  });

  it('is handed to the inbox on the clock of performance.now()', async () => {
    const deadlines: number[] = [];
    const memory = memoryInbox();
    const inbox = inboxWhose((event, deadline) => {
      deadlines.push(deadline);
      return memory.accept(event, deadline);
    });
    const before = performance.now();
    await receiving({ inbox, deadlineMs: 5_000 }).receive(signed(body));
    expect(deadlines).toHaveLength(1);
    expect(deadlines[0]).toBeGreaterThanOrEqual(before + 5_000);
    expect(deadlines[0]).toBeLessThanOrEqual(performance.now() + 5_000);
  });

  it('is told to the body reader, whose word it is that the body was too slow', async () => {
    const reader: BodyReader = async ({ late }) => {
      await late;
      return { ended: 'too-slow' };
    };
    const delivery = { body: reader, signature: signBody(body, secret) };
    const { outcome, took } = await within(2_000, receiving({ deadlineMs: 80 }).receive(delivery));
    expect(outcome).toMatchObject({ status: 503, reason: 'body-too-slow' });
    expect(took).toBeGreaterThanOrEqual(75);
  });

  it('leaves no timer behind once the delivery is answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await receiving().receive(signed(body));
      await receiving().receive({ body, signature: null });
      await receiving({ inbox: inboxWhose(() => Promise.reject(new Error('disk full'))) }).receive(signed(body));
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('counts the time that the body took', async () => {
    const inbox = inboxWhose(() => new Promise(() => {}));
    const reader: BodyReader = async () => {
      await sleep(200);
      return { ended: 'complete', bytes: body };
    };
    const delivery = { body: reader, signature: signBody(body, secret) };
    const { took } = await within(2_000, receiving({ inbox, deadlineMs: 300 }).receive(delivery));
    expect(took).toBeLessThan(450);
  });

  it('does not turn what is stored into a failure because the event loop was blocked past it', async () => {
    const memory = memoryInbox();
    const inbox = inboxWhose(async (event, deadline) => {
      const acceptance = await memory.accept(event, deadline);
      for (const end = performance.now() + 60; performance.now() < end;);
      return acceptance;
    });
    expect(await receiving({ inbox, deadlineMs: 30 }).receive(signed(body))).toMatchObject({ kind: 'stored' });
  });

  it('nor what another thread has said was stored while it was blocked', async () => {
    const memory = memoryInbox();
    const { port1, port2 } = new MessageChannel();
    const inbox = inboxWhose(async (event, deadline) => {
      const acceptance = await memory.accept(event, deadline);
      const heard = new Promise((resolve) => port2.once('message', resolve));
      // Messages arrive before the next timer anyway.
      await new Promise((resolve) => void setImmediate(resolve));
      port1.postMessage('stored');
      for (const end = performance.now() + 60; performance.now() < end;);
      await heard;
      return acceptance;
    });
    expect(await receiving({ inbox, deadlineMs: 30 }).receive(signed(body))).toMatchObject({ kind: 'stored' });
    port1.close();
  });
});

it.each([
  ['more than a day', 25, 1],
  ['less than a day', 23, 0],
])('an event that was created %s ahead is stored, and named in the log so often: %i h, %i', async (_, hours, times) => {
  const receiver = receiving();
  const created = new Date(Date.now() + hours * 3_600_000).toISOString();
  const body = utf8.encode(JSON.stringify({ id: 'evt_1', type: 'order.ready', created, data: { id: 'ord_1' } }));
  expect(await receiver.receive(signed(body))).toMatchObject({ kind: 'stored' });
  expect(await receiver.receive(signed(body))).toMatchObject({ kind: 'duplicate' });
  const told = lines.filter(({ message }) => message.startsWith('created is more than a day in the future'));
  expect(told.map(({ level, facts }) => [level, facts['id'], facts['created']])).toEqual(
    Array.from({ length: times }, () => ['warn', 'evt_1', created]),
  );
});

describe('the entity of an event', () => {
  it('is what the entity option says', async () => {
    const receiver = receiving({ entity: (event) => `all:${event.type}` });
    await receiver.receive(signed(event('evt_1', { id: 'ord_1' })));
    await receiver.receive(signed(event('evt_2', {}, 'order.refunded')));
    const stored = await receiver.inbox.list();
    expect(stored.map(({ entity }) => entity)).toEqual(['all:order.ready', 'all:order.refunded']);
  });

  it('is never asked of an invalid event', async () => {
    const receiver = receiving({
      entity: () => {
        throw new Error('asked');
      },
    });
    await receiver.receive(signed(utf8.encode('{"id":"evt_1"}')));
    expect(lines.map(({ message }) => message)).toEqual(['the event was stored as dead(invalid)']);
  });
});

describe('an endpoint', () => {
  it('has ids of its own: the same id at another endpoint is another event', async () => {
    const inbox = memoryInbox();
    const shop = receiving({ inbox, endpoint: 'shop' });
    const stock = receiving({ inbox, endpoint: 'stock' });
    expect(await shop.receive(signed(event('evt_1')))).toMatchObject({ kind: 'stored' });
    expect(await stock.receive(signed(event('evt_1')))).toMatchObject({ kind: 'stored' });
    expect(await shop.receive(signed(event('evt_1')))).toMatchObject({ kind: 'duplicate' });
    expect((await inbox.list()).map(({ endpoint }) => endpoint)).toEqual(['shop', 'stock']);
  });

  it('cannot be confused with another by what stands in an id', async () => {
    const inbox = memoryInbox();
    await receiving({ inbox, endpoint: 'a' }).receive(signed(event('b:c')));
    expect(await receiving({ inbox, endpoint: 'a:b' }).receive(signed(event('c')))).toMatchObject({ kind: 'stored' });
  });
});

describe('close', () => {
  const body = event('evt_1');

  function slowInbox(): { inbox: Inbox; finish: () => void } {
    const memory = memoryInbox();
    let finish = (): void => {};
    const waited = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const inbox = inboxWhose(async (event, deadline) => {
      await waited;
      return memory.accept(event, deadline);
    });
    return { inbox, finish };
  }

  it('answers new deliveries 503, lets those under way finish, and resolves only then', async () => {
    const { inbox, finish } = slowInbox();
    const receiver = receiving({ inbox });
    const underWay = receiver.receive(signed(body));
    const order: string[] = [];
    const closed = receiver.close().then(() => order.push('closed'));
    const answered = underWay.then((outcome) => order.push(outcome.kind));

    expect(await receiver.receive(signed(event('evt_2')))).toMatchObject({
      status: 503,
      reason: 'closing',
      headers: { 'Retry-After': '5', Connection: 'close' },
    });
    await sleep(10);
    expect(order).toEqual([]);

    finish();
    await Promise.all([closed, answered]);
    expect(order.toSorted()).toEqual(['closed', 'stored']);
  });

  it('waits for all of those under way, not only for the first', async () => {
    const first = slowInbox();
    const second = slowInbox();
    const inboxes = [first.inbox, second.inbox];
    const receiver = receiving({
      inbox: inboxWhose((event, deadline) => (inboxes.shift() ?? memoryInbox()).accept(event, deadline)),
    });
    const underWay = [receiver.receive(signed(body)), receiver.receive(signed(event('evt_2')))];
    let closed = false;
    const closing = receiver.close().then(() => (closed = true));
    first.finish();
    await underWay[0];
    await sleep(10);
    expect(closed).toBe(false);
    second.finish();
    await closing;
    expect(await Promise.all(underWay)).toMatchObject([{ kind: 'stored' }, { kind: 'stored' }]);
  });

  it('resolves at once when nothing is under way, and answers 503 from then on', async () => {
    const receiver = receiving();
    await receiver.receive(signed(body));
    await receiver.close();
    expect(await receiver.receive(signed(body))).toMatchObject({ status: 503, reason: 'closing' });
  });

  it('may be called any number of times', async () => {
    const receiver = receiving();
    await Promise.all([receiver.close(), receiver.close()]);
    await receiver.close();
  });

  it('resolves even after something failed that has no text', async () => {
    const inbox = inboxWhose(() => Promise.reject(Object.create(null)));
    const receiver = receiving({ inbox });
    await receiver.receive(signed(body)).catch(() => {});
    expect(await Promise.race([receiver.close(), sleep(500, 'still waiting')])).toBeUndefined();
  });

  it('leaves the inbox open: it belongs to the merchant', async () => {
    const inbox = memoryInbox();
    await receiving({ inbox }).close();
    expect(await receiving({ inbox }).receive(signed(body))).toMatchObject({ kind: 'stored' });
  });

  it('happens by itself at the end of a block with await using', async () => {
    const { inbox, finish } = slowInbox();
    let escaped: Receiver | undefined;
    let answer: Outcome | undefined;
    const block = async (): Promise<void> => {
      await using receiver = createReceiver({ secret, logger, inbox });
      escaped = receiver;
      void receiver.receive(signed(body)).then((outcome) => (answer = outcome));
      setTimeout(finish, 10);
    };
    await block();
    expect(answer).toMatchObject({ kind: 'stored' });
    expect(await escaped?.receive(signed(body))).toMatchObject({ reason: 'closing' });
  });
});

describe('options that cannot work are refused at creation', () => {
  it.each(['order.refunded', 'order.Created', 'orders.created', '', 'constructor', 'toString', '**'])(
    'the handler key %j: the message has the key and all types that there are',
    (type) => {
      const create = () => receiving({ handlers: { [type]: async () => {} } });
      expect(create).toThrow(ConfigurationError);
      expect(create).toThrow(expect.objectContaining({ code: 'UNKNOWN_EVENT_TYPE' }));
      expect(create).toThrow(JSON.stringify(type));
      for (const known of eventTypes) expect(create).toThrow(known);
    },
  );

  it.each(['handler', null, {}, 1])('the handler %j, which is no function', (handler) => {
    expect(() => receiving({ handlers: { 'order.ready': handler } as unknown as Handlers })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('order.ready') }),
    );
  });

  it('but a handler for each of the eleven types and for * is none of them', () => {
    const all = Object.fromEntries([...eventTypes, '*'].map((type) => [type, async () => {}]));
    expect(() => receiving({ handlers: all })).not.toThrow();
    expect(() => receiving({ handlers: {} })).not.toThrow();
  });

  it.each([{ deadlineMs: 0 }, { maxBodyBytes: -1 }, { endpoint: '' }, { unsafeUnsigned: true }])('%j', (option) => {
    expect(() => receiving(option)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(Object.keys(option)[0] ?? ''),
      }),
    );
  });
});

describe('an account without a signing secret', () => {
  it('has its events stored as verified: false', async () => {
    const inbox = memoryInbox();
    const receiver = createReceiver({ unsafeUnsigned: true, logger, inbox });
    expect(await receiver.receive({ body: event('evt_1'), signature: undefined })).toMatchObject({ kind: 'stored' });
    expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).toMatchObject({ verified: false, state: 'pending' });
  });

  it('has an unverified event replaced by a verified one once it has a secret', async () => {
    const inbox = memoryInbox();
    const forged = event('evt_1', { total: 0 });
    await createReceiver({ unsafeUnsigned: true, logger, inbox }).receive({ body: forged, signature: null });
    const genuine = event('evt_1', { total: 30 });
    expect(await receiving({ inbox }).receive(signed(genuine))).toMatchObject({ kind: 'duplicate' });
    const stored = await inbox.get({ endpoint: 'default', id: 'evt_1' });
    expect(stored?.verified).toBe(true);
    expect(Buffer.from(stored?.body ?? [])).toEqual(Buffer.from(genuine));
  });
});

describe('answers and logs', () => {
  const marker = 'MARKER-4711';
  const marked = `secret-${marker}`;

  it('never hold the secret, the signature or the body, whatever goes wrong', async () => {
    const bodies = [
      `{"id":"evt_1","type":"order.ready","created":"${marker}","data":{}}`,
      `{"id":"evt_2","type":"${marker}","created":1,"data":"${marker}"}`,
      `{"id":"evt_3","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":"${marker}"}}`,
      `{"id":"evt_4","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"object":"${marker}","status":"${marker}"}}`,
      `{"id":"evt_5","${marker}":1,"${marker}":2}`,
      `{"id":"${marker}\\ud800"}`,
      `{"id":["${marker}"]}`,
      `{"id":"${marker.repeat(40)}"}`,
      `["${marker}"]`,
      `"${marker}"`,
      `{"${marker}`,
      marker,
    ].map((text) => utf8.encode(text));
    const failing = inboxWhose(() => Promise.reject(new InboxUnavailableError('FAILED', 'disk full')));
    const said: string[] = [];
    let sent = 0;
    for (const body of bodies) {
      const right = signBody(body, marked);
      const signatures = [right, right.toUpperCase(), signBody(body, 'x'), `sha256=${right}`, marker, undefined];
      const deliveries = [
        ...signatures.map((signature) => ({ body, signature })),
        { body, signature: right, method: marker },
        { body, signature: right, contentEncoding: marker },
        { body: new TextDecoder().decode(body) as unknown as Uint8Array, signature: right },
      ];
      for (const delivery of deliveries) {
        for (const inbox of [memoryInbox(), failing]) {
          // A receiver each, because lines are throttled.
          const receiver = createReceiver({
            secret: marked,
            inbox,
            logger,
            entity: () => {
              throw new Error('no such shop');
            },
          });
          const outcome = await receiver.receive(delivery);
          sent += 1;
          said.push(JSON.stringify(outcome));
          for (const signature of [right, signBody(body, 'x')])
            expect(JSON.stringify(outcome)).not.toContain(signature);
        }
      }
      for (const signature of [right, signBody(body, 'x')]) expect(JSON.stringify(lines)).not.toContain(signature);
    }
    expect(sent).toBe(12 * 9 * 2);
    expect(lines.length).toBeGreaterThan(150);
    expect(said.join('\n')).not.toContain(marker);
    expect(JSON.stringify(lines).toLowerCase()).not.toContain(marker.toLowerCase());
  });

  it('are few under a flood: 10,000 forged deliveries are one line', async () => {
    const receiver = receiving();
    const forged = { body: event('evt_1'), signature: signBody('{}', 'x') };
    const statuses = new Set<number>();
    for (let sent = 0; sent < 10_000; sent += 1) statuses.add((await receiver.receive(forged)).status);
    expect([...statuses]).toEqual([401]);
    expect(lines.length).toBeGreaterThanOrEqual(1);
    // One in ten seconds.
    expect(lines.length).toBeLessThanOrEqual(3);
    expect(lines[0]?.facts).toMatchObject({ reason: 'signature-mismatch', suppressed: 0 });
  });
});
