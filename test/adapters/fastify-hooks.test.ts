import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/fastify.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { SECRET, signed, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';
import { silent } from '../helpers/silent-logger.ts';
import {
  AT_ONCE_MS,
  DEADLINE_MS,
  JSON_TYPE,
  sendInPieces,
  testAfterOthers,
  type OtherCode,
  type ServedAfter,
} from './after-others.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { testHttp2 } from './http2-conformance.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { connectHttp2 } from './served-node.ts';
import type { Answer, RequestParts } from './wire.ts';

type Hooks = (app: FastifyInstance) => void;

async function serveBehind(hooks: Hooks): Promise<ServedAfter> {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const receiver = createReceiver({ secret: SECRET, inbox, logger, deadlineMs: DEADLINE_MS });
  const app = fastify({ forceCloseConnections: true });
  hooks(app);
  await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { inbox, log: lines, url: `${origin}/webhooks`, [Symbol.asyncDispose]: async () => app.close() };
}

function keep(request: FastifyRequest, rawBody: unknown): void {
  Object.assign(request, { rawBody });
}

function reading(kept: (bytes: Buffer) => object): Hooks {
  return (app) => {
    app.addHook('preParsing', async (request, _, payload) => {
      const bytes = Buffer.concat((await (payload as Readable).toArray()) as Buffer[]);
      Object.assign(request, kept(bytes));
      return Readable.from([bytes]);
    });
  };
}

/** As raw-body plugins do. */
function readingAlong(as: (bytes: Buffer) => unknown): Hooks {
  return (app) => {
    app.addHook('preParsing', (request, _, payload, done) => {
      const parts: Buffer[] = [];
      payload.on('data', (part: Buffer) => parts.push(part));
      payload.on('end', () => keep(request, as(Buffer.concat(parts))));
      done(null, payload);
    });
  };
}

const both =
  (...all: readonly Hooks[]): Hooks =>
  (app) => {
    for (const hooks of all) hooks(app);
  };

const HARMLESS: OtherCode<Hooks> = [
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

const CONSUMING: OtherCode<Hooks> = [
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

describe.each([500, 900_000])('hookbox/fastify, with hooks before it and a body of %i bytes', (bytes) => {
  const fix = /eep the raw body as request\.rawBody/;
  testAfterOthers(serveBehind, { harmless: HARMLESS, consuming: CONSUMING, fix }, { bytes });

  it.each<readonly [string, Hooks]>([
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

    const { status } = await sendInPieces(served.url, event);

    expect([200, 500]).toContain(status);
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
  });
});

testHttp2('hookbox/fastify', async (receiver) => {
  const app = fastify({ http2: true });
  await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
  const client = await connectHttp2(`${await app.listen({ host: '127.0.0.1', port: 0 })}/webhooks`);
  return {
    send: client.send,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await app.close();
    },
  };
});

describe('hookbox/fastify through app.inject()', () => {
  async function inject({ headers = [], body = new Uint8Array(), method = 'POST' }: RequestParts): Promise<Answer> {
    const app = fastify();
    const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, maxBodyBytes: 1_000 });
    await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
    const sent = { method: method as 'POST', url: '/webhooks', headers: Object.fromEntries(headers) };
    const answer = await app.inject({ ...sent, payload: Buffer.from(body) });
    const all = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return { status: answer.statusCode, headers: new Map(all), body: answer.body };
  }

  it('takes a delivery', async () => {
    const event = signedEvent({ note: 'é🥐' });

    expectAccepted(await inject(event), event);
    const asJson = signedEvent();
    expectAccepted(await inject({ ...asJson, headers: [...asJson.headers, JSON_TYPE] }), asJson);
  });

  it.each(REFUSED_DELIVERIES)('refuses %s', async (_, parts, expected) => {
    expectRefused(await inject(parts()), expected);
  });

  it('leaves nothing behind that would end the process later', async () => {
    const thrown: unknown[] = [];
    const note = (failure: unknown): void => void thrown.push(failure);
    process.on('uncaughtException', note);
    await inject(signedEvent());
    await inject({ ...signedEvent(), headers: [] });
    await inject({ ...signedEvent(), method: 'PUT' });

    await delay(2_200); // longer than the linger time
    process.off('uncaughtException', note);

    expect(thrown).toEqual([]);
  });

  it('takes a request without a body for an empty one', async () => {
    expect(await inject(signed(''))).toMatchObject({ status: 400 });
    expect(await inject({ ...signed(''), headers: [] })).toMatchObject({ status: 401 });
  });
});
