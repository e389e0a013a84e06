/** hookbox/hono where there is no Node server: the body is the web stream of the request. */
import { Hono, type MiddlewareHandler } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/hono.ts';
import { createReceiver, type Inbox, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { endless, sourceOf } from './byte-source.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { SECRET, signed, signedEvent, signedEventOfSize, type SignedDelivery } from '../helpers/signed-event.ts';
import type { Answer } from './wire.ts';

const MIB = 1024 * 1024;

interface App {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  fetch(request: Request, env?: object): Promise<Answer>;
}

function appWith(options: Partial<ReceiverOptions> = {}, before?: MiddlewareHandler): App {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const app = new Hono();
  if (before !== undefined) app.use(before);
  app.all('/webhooks', webhookHandler(createReceiver({ secret: SECRET, inbox, logger, ...options })));
  return {
    inbox,
    log: lines,
    async fetch(request, env) {
      const response = await app.fetch(request, env);
      return { status: response.status, headers: new Map(response.headers), body: await response.text() };
    },
  };
}

function requestOf(
  { headers }: Pick<SignedDelivery, 'headers'>,
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  more: Readonly<Record<string, string>> = {},
): Request {
  const all = new Headers(headers.map(([...pair]) => pair));
  for (const [name, value] of Object.entries(more)) all.append(name, value);
  const carried = body instanceof Uint8Array ? Buffer.from(body) : body;
  return new Request('http://shop.test/webhooks', { method: 'POST', headers: all, body: carried, duplex: 'half' });
}

describe('hookbox/hono without a Node server', () => {
  it('answers a new event 200 and the same one again as a duplicate', async () => {
    const app = appWith();
    const event = signedEvent();

    expectAccepted(await app.fetch(requestOf(event, event.body)), { id: event.id, duplicate: false });
    expectAccepted(await app.fetch(requestOf(event, event.body)), { id: event.id, duplicate: true });

    const [stored, ...others] = await app.inbox.list();
    expect(others).toEqual([]);
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  it('reads a stream that is split inside a character and has empty parts', async () => {
    const app = appWith();
    const event = signedEvent({ note: '🥐' });
    const split = Buffer.from(event.body).indexOf('🥐') + 1;
    const parts = [event.body.subarray(0, split), new Uint8Array(), event.body.subarray(split)];

    const answer = await app.fetch(requestOf(event, sourceOf(parts).stream));

    expectAccepted(answer, { id: event.id, duplicate: false });
    const [stored] = await app.inbox.list();
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  it('reads a stream of single bytes', async () => {
    const app = appWith();
    const event = signedEvent();
    const bytes = Array.from(event.body, (byte) => Uint8Array.of(byte));

    expectAccepted(await app.fetch(requestOf(event, sourceOf(bytes).stream)), { id: event.id, duplicate: false });
  });

  it.each(['as bytes', 'as a stream'])('takes a body of exactly 1 MiB, and not one byte more (%s)', async (how) => {
    const app = appWith();
    const [fits, over] = [signedEventOfSize(MIB), signedEventOfSize(MIB + 1)];
    const carried = (body: Uint8Array): Uint8Array | ReadableStream<Uint8Array> =>
      how === 'as bytes' ? body : sourceOf([body.subarray(0, MIB), body.subarray(MIB)]).stream;

    const refused = await app.fetch(requestOf(over, carried(over.body)));

    expectRefused(refused, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
    expectAccepted(await app.fetch(requestOf(fits, carried(fits.body))), { id: fits.id, duplicate: false });
  });

  it('cancels a stream without an end once some of the rest was read, for the client to see the answer', async () => {
    const app = appWith({ maxBodyBytes: 10_000 });
    const source = sourceOf(endless(new Uint8Array(1_000)));

    const answer = await app.fetch(requestOf(signed(''), source.stream));

    expectRefused(answer, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
    await expect.poll(source.cancelled).toBe(true);
    expect(source.pulled()).toBeGreaterThan(10);
    expect(source.pulled()).toBeLessThan(4_250); // 4 MiB
  });

  it('keeps nothing of a body whose Content-Length is over the limit', async () => {
    const app = appWith({ maxBodyBytes: 10_000 });
    const source = sourceOf(endless(new Uint8Array(1_000)));

    const answer = await app.fetch(requestOf(signed(''), source.stream, { 'Content-Length': '10001' }));

    expectRefused(answer, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
    expect(source.pulled()).toBeLessThan(4_250);
  });

  it('counts for itself where the Content-Length is too small', async () => {
    const app = appWith({ maxBodyBytes: 10_000 });
    const source = sourceOf(endless(new Uint8Array(1_000)));

    const answer = await app.fetch(requestOf(signed(''), source.stream, { 'Content-Length': '5' }));

    expectRefused(answer, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
  });

  it.each([
    ['gives nothing', []],
    ['gives a part of the body', [signedEvent().body.subarray(0, 50)]],
  ])('answers 503 at the deadline when the stream %s, and cancels it', async (_, parts) => {
    const app = appWith({ deadlineMs: 300 });
    const source = sourceOf(parts, 'hang');
    const began = performance.now();

    const answer = await app.fetch(requestOf(signed(''), source.stream));

    expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
    const waited = performance.now() - began;
    expect(waited).toBeGreaterThan(270);
    expect(waited).toBeLessThan(3_000);
    await expect.poll(source.cancelled).toBe(true);
    expect(await app.inbox.list()).toEqual([]);
  });

  it('answers at the deadline even when cancelling the stream hangs', async () => {
    const app = appWith({ deadlineMs: 300 });
    const hang = (): Promise<void> => new Promise(() => {});
    const stream = new ReadableStream<Uint8Array>({ pull: hang, cancel: hang });

    const answer = await app.fetch(requestOf(signed(''), stream));

    expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
  });

  it('stores nothing and raises no alarm when the stream fails in the middle', async () => {
    const app = appWith();
    const event = signedEvent();
    const source = sourceOf([event.body.subarray(0, 50)], new Error('the client went away'));

    const answer = await app.fetch(requestOf(event, source.stream));

    expectRefused(answer, { status: 400, code: 'INVALID_BODY', closes: true });
    expect(app.log).toEqual([]);
    expect(await app.inbox.list()).toEqual([]);
  });

  it('stores nothing when the stream fails after the last byte: the body was not complete', async () => {
    const app = appWith();
    const event = signedEvent();

    const answer = await app.fetch(requestOf(event, sourceOf([event.body], new Error('reset')).stream));

    expectRefused(answer, { status: 400, code: 'INVALID_BODY', closes: true });
    expect(await app.inbox.list()).toEqual([]);
  });

  it('answers a request without a body 400 under the right signature, and 401 without one', async () => {
    const app = appWith();
    const details = [{ field: '', message: expect.any(String) as unknown }];

    expectRefused(await app.fetch(requestOf(signed(''), null)), { status: 400, code: 'INVALID_BODY', details });
    expectRefused(await app.fetch(requestOf({ headers: [] }, null)), { status: 401, code: 'INVALID_SIGNATURE' });
  });

  it('answers 400, never 401, to bytes that are not UTF-8 under the right signature', async () => {
    const app = appWith();
    const delivery = signed(Buffer.from('{"id":"evt_1\xff"}', 'latin1'));

    expect(await app.fetch(requestOf(delivery, delivery.body))).toMatchObject({ status: 400 });
  });

  it('answers 401 to the right signature given twice', async () => {
    const app = appWith();
    const { body, headers } = signedEvent();

    const answer = await app.fetch(requestOf({ headers: [...headers, ...headers] }, body));

    expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE'])('answers %s 405 with Allow: POST', async (method) => {
    const answer = await appWith().fetch(new Request('http://shop.test/webhooks', { method }));

    expect(answer).toMatchObject({ status: 405 });
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('takes a binding that happens to be called incoming for nothing else', async () => {
    const event = signedEvent();

    const answer = await appWith().fetch(requestOf(event, event.body), { incoming: { get: () => null } });

    expectAccepted(answer, { id: event.id, duplicate: false });
  });

  it('stores one event of 64 that arrive at once under the same id', async () => {
    const app = appWith();
    const event = signedEvent();

    const answers = await Promise.all(
      Array.from({ length: 64 }, () => app.fetch(requestOf(event, sourceOf([event.body]).stream))),
    );

    expect(answers.filter(({ body }) => body.includes('"duplicate":false'))).toHaveLength(1);
    expect(answers.filter(({ body }) => body.includes('"duplicate":true'))).toHaveLength(63);
    expect(await app.inbox.list()).toHaveLength(1);
  });
});

describe('hookbox/hono without a Node server, after other middleware', () => {
  it.each(['text', 'json', 'arrayBuffer', 'blob'] as const)('takes what was read with c.req.%s()', async (as) => {
    const app = appWith({}, async (c, next) => {
      await c.req[as]();
      return next();
    });
    const event = signedEvent({ note: 'é' });

    expectAccepted(await app.fetch(requestOf(event, event.body)), { id: event.id, duplicate: false });

    const [stored] = await app.inbox.list();
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
  });

  const consuming: readonly (readonly [what: string, before: MiddlewareHandler])[] = [
    [
      'read c.req.raw.text()',
      async (c, next) => {
        await c.req.raw.text();
        return next();
      },
    ],
    [
      'read c.req.formData()',
      async (c, next) => {
        await c.req.formData().catch(() => 'no form');
        return next();
      },
    ],
    [
      'holds a lock on c.req.raw.body',
      async (c, next) => {
        c.req.raw.body?.getReader();
        return next();
      },
    ],
  ];

  it.each(consuming)('answers 500 after middleware that %s, and the log names the fix', async (_, before) => {
    const app = appWith({}, before);
    const event = signedEvent();

    expectRefused(await app.fetch(requestOf(event, event.body)), { status: 500, code: 'BODY_CONSUMED' });

    expect(app.log).toMatchObject([{ level: 'error', facts: { reason: 'body-consumed', status: 500 } }]);
    expect(JSON.stringify(app.log)).toMatch(/before body parsers/i);
  });
});
