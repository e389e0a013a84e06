/** What hookbox/fastify makes of plugins that read the body before it, and of requests that come on other ways. */
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/fastify.ts';
import { createReceiver, type Inbox, type Receiver, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused, type ExpectedRefusal } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { connectHttp2, warningsDuring, type Http2Client } from './served-node.ts';
import {
  encodedDelivery,
  SECRET,
  signed,
  signedEvent,
  signedEventOfSize,
  type SignedDelivery,
  WELL_FORMED,
} from '../helpers/signed-event.ts';
import { connect, requestHead, type Answer } from './wire.ts';

/** Well before the deadline, which is 2 s. */
const AT_ONCE_MS = 1_000;
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

interface Made {
  readonly receiver: Receiver;
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
}

function made(options: Partial<ReceiverOptions> = {}): Made {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const receiver = createReceiver({ secret: SECRET, inbox, logger, deadlineMs: 2_000, ...options });
  return { receiver, inbox, log: lines };
}

interface Served extends Made, AsyncDisposable {
  readonly url: string;
}

async function serveBehind(hooks: (app: FastifyInstance) => void): Promise<Served> {
  const all = made();
  const app = fastify({ forceCloseConnections: true });
  hooks(app);
  await app.register(webhookHandler(all.receiver), { prefix: '/webhooks' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { ...all, url: `${origin}/webhooks`, [Symbol.asyncDispose]: async () => app.close() };
}

function keep(request: FastifyRequest, rawBody: unknown): void {
  Object.assign(request, { rawBody });
}

/** A hook that waits for the whole body, keeps something that was made of it, and passes the bytes on. */
function reading(kept: (bytes: Buffer) => object): (app: FastifyInstance) => void {
  return (app) => {
    app.addHook('preParsing', async (request, _, payload) => {
      const bytes = Buffer.concat((await (payload as Readable).toArray()) as Buffer[]);
      Object.assign(request, kept(bytes));
      return Readable.from([bytes]);
    });
  };
}

/** As raw-body plugins do, it reads along and does not wait. */
function readingAlong(as: (bytes: Buffer) => unknown): (app: FastifyInstance) => void {
  return (app) => {
    app.addHook('preParsing', (request, _, payload, done) => {
      const parts: Buffer[] = [];
      payload.on('data', (part: Buffer) => parts.push(part));
      payload.on('end', () => keep(request, as(Buffer.concat(parts))));
      done(null, payload);
    });
  };
}

type Hooks = readonly [what: string, hooks: (app: FastifyInstance) => void];

const both =
  (...all: readonly ((app: FastifyInstance) => void)[]) =>
  (app: FastifyInstance): void => {
    for (const hooks of all) hooks(app);
  };

const HARMLESS: readonly Hooks[] = [
  ['keep the bytes', reading((bytes) => ({ rawBody: bytes }))],
  ['keep a copy of the bytes', reading((bytes) => ({ rawBody: Uint8Array.from(bytes) }))],
  ['read along', readingAlong((bytes) => bytes)],
  ['read along, for a text', readingAlong((bytes) => bytes.toString())],
  [
    'read along, and then wait',
    both(
      readingAlong((bytes) => bytes),
      (app) => app.addHook('preHandler', async () => delay(100)),
    ),
  ],
  ['take their time', (app) => app.addHook('onRequest', async () => delay(30))],
  ['take their time after the body has arrived', (app) => app.addHook('preValidation', async () => delay(80))],
  ['pause the request', (app) => app.addHook('onRequest', async ({ raw }) => void raw.pause())],
];

/** Each leaves nothing that could be verified. */
const CONSUMING: readonly Hooks[] = [
  ['keep nothing', reading(() => ({}))],
  ['keep a text', reading((bytes) => ({ rawBody: bytes.toString() }))],
  ['keep half of the bytes', reading((bytes) => ({ rawBody: bytes.subarray(0, bytes.byteLength / 2) }))],
  ['keep the bytes somewhere else', reading((bytes) => ({ raw_body: bytes }))],
  ['drain the request', (app) => app.addHook('onRequest', async ({ raw }) => void (await once(raw.resume(), 'end')))],
  ['make text of the request', (app) => app.addHook('onRequest', async ({ raw }) => void raw.setEncoding('utf8'))],
  [
    'read along for a text, and then wait',
    both(
      readingAlong((bytes) => bytes.toString()),
      (app) => app.addHook('preHandler', async () => delay(100)),
    ),
  ],
];

/** In two pieces. */
async function deliver(url: string, { headers, body }: SignedDelivery): Promise<Answer> {
  await using connection = await connect(url);
  await connection.write(requestHead(url, { headers: [...headers, JSON_TYPE], body }));
  await connection.write(body.subarray(0, 100));
  await delay(10);
  await connection.write(body.subarray(100));
  return await connection.answer();
}

describe.each([500, 900_000])('hookbox/fastify, with hooks before it and a body of %i bytes', (bytes) => {
  it.each(HARMLESS)('takes the delivery and refuses a forged one when they %s', async (_, hooks) => {
    await using served = await serveBehind(hooks);
    const [event, other] = [signedEventOfSize(bytes), signedEventOfSize(bytes)];

    const [answer, forged] = await Promise.all([
      deliver(served.url, event),
      deliver(served.url, { ...other, headers: event.headers }),
    ]);

    expectAccepted(answer, { id: event.id, duplicate: false });
    expectRefused(forged, { status: 401, code: 'INVALID_SIGNATURE' });
  });

  it.each(CONSUMING)('answers 500 at once, and the log names the fix, when they %s', async (_, hooks) => {
    await using served = await serveBehind(hooks);
    const event = signedEventOfSize(bytes);
    const began = performance.now();

    const answers = await Promise.all([
      deliver(served.url, event),
      deliver(served.url, { ...event, headers: [WELL_FORMED] }),
      deliver(served.url, { ...event, headers: signedEvent().headers }),
    ]);

    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    for (const answer of answers) expectRefused(answer, { status: 500, code: 'BODY_CONSUMED' });
    const message = expect.stringContaining('eep the raw body as request.rawBody') as unknown;
    expect(served.log[0]).toMatchObject({ level: 'error', facts: { reason: 'body-consumed' }, message });
    expect(await served.inbox.list()).toEqual([]);
  });

  it.each<Hooks>([
    [
      'once it has its promise',
      (app) => app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough())),
    ],
    [
      'at once',
      (app) =>
        app.addHook('preParsing', (_request, _reply, payload, done) => done(null, payload.pipe(new PassThrough()))),
    ],
  ])('never waits for the deadline behind a hook that passes another stream on %s', async (_, hooks) => {
    await using served = await serveBehind(hooks);
    const event = signedEventOfSize(bytes);
    const began = performance.now();

    const { status } = await deliver(served.url, event);

    expect([200, 500]).toContain(status);
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
  });
});

const REFUSED: readonly (readonly [
  what: string,
  parts: () => SignedDelivery & { method?: string },
  ExpectedRefusal,
])[] = [
  [
    'a forged one',
    () => ({ ...signedEvent(), headers: signedEvent().headers }),
    { status: 401, code: 'INVALID_SIGNATURE' },
  ],
  ['a PUT', () => ({ ...signedEvent(), method: 'PUT' }), { status: 405, code: 'METHOD_NOT_ALLOWED' }],
  ['an encoded one', () => encodedDelivery(), { status: 415, code: 'UNSUPPORTED_ENCODING' }],
  ['one over the limit', () => signedEventOfSize(1_001), { status: 413, code: 'BODY_TOO_LARGE' }],
];

describe('hookbox/fastify over HTTP/2', () => {
  async function serveHttp2(): Promise<Http2Client> {
    const app = fastify({ http2: true });
    await app.register(webhookHandler(made({ maxBodyBytes: 1_000, deadlineMs: 500 }).receiver), {
      prefix: '/webhooks',
    });
    const client = await connectHttp2(`${await app.listen({ host: '127.0.0.1', port: 0 })}/webhooks`);
    return {
      send: client.send,
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        await app.close();
      },
    };
  }

  // The first one: Node gives this warning once.
  it('says nothing of the connection, which is not its own, and no warning is given', async () => {
    await using client = await serveHttp2();

    const warnings = await warningsDuring(async () => {
      expectRefused(await client.send(signedEventOfSize(1_001)), { status: 413, code: 'BODY_TOO_LARGE' });
    });

    expect(warnings).toEqual([]);
  });

  it('stores a delivery and knows its duplicate', async () => {
    await using client = await serveHttp2();
    const event = signedEvent();

    expectAccepted(await client.send(event), { id: event.id, duplicate: false });
    expectAccepted(await client.send(event), { id: event.id, duplicate: true });
  });

  it.each(REFUSED)('refuses %s, and takes the next one', async (_, parts, expected) => {
    await using client = await serveHttp2();
    const event = signedEvent();

    expectRefused(await client.send(parts()), expected);
    expectAccepted(await client.send(event), { id: event.id, duplicate: false });
  });

  it.each([
    ['over the limit', 413, { headers: [WELL_FORMED] }],
    ['without a signature', 401, {}],
    ['sent with PUT', 405, { method: 'PUT' }],
    ['that stops', 503, { headers: [WELL_FORMED] }],
  ] as const)('answers a body that never ends, %s, with %i', async (what, status, parts) => {
    await using client = await serveHttp2();
    const body = Buffer.alloc(what === 'that stops' ? 10 : 2_000);

    expect(await client.send({ body, unended: true, ...parts })).toMatchObject({ status });
  });
});

describe('hookbox/fastify through app.inject()', () => {
  async function inject({ headers, body, method = 'POST' }: SignedDelivery & { method?: string }): Promise<Answer> {
    const app = fastify();
    await app.register(webhookHandler(made({ maxBodyBytes: 1_000 }).receiver), { prefix: '/webhooks' });
    const sent = { method: method as 'POST', url: '/webhooks', headers: Object.fromEntries(headers) };
    const answer = await app.inject({ ...sent, payload: Buffer.from(body) });
    const all = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return { status: answer.statusCode, headers: new Map(all), body: answer.body };
  }

  it('takes a delivery', async () => {
    const event = signedEvent({ note: 'é🥐' });

    expectAccepted(await inject(event), { id: event.id, duplicate: false });
    const asJson = signedEvent();
    expectAccepted(await inject({ ...asJson, headers: [...asJson.headers, JSON_TYPE] }), {
      id: asJson.id,
      duplicate: false,
    });
  });

  it.each(REFUSED)('refuses %s', async (_, parts, expected) => {
    expectRefused(await inject(parts()), { ...expected, closes: expected.status === 413 });
  });

  it('leaves nothing behind that would end the process later', async () => {
    const thrown: unknown[] = [];
    const note = (failure: unknown): void => void thrown.push(failure);
    process.on('uncaughtException', note);
    await inject(signedEvent());
    await inject({ ...signedEvent(), headers: [] });
    await inject({ ...signedEvent(), method: 'PUT' });

    await delay(2_200); // longer than the rest of a body may take
    process.off('uncaughtException', note);

    expect(thrown).toEqual([]);
  });

  it('takes a request without a body for an empty one', async () => {
    expect(await inject(signed(''))).toMatchObject({ status: 400 });
    expect(await inject({ ...signed(''), headers: [] })).toMatchObject({ status: 401 });
  });
});
