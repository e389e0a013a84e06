import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server, type ClientHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/hono.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { testHttpAdapter } from './conformance.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveApp, type ServedApp } from './served-app.ts';
import { SECRET, signedEvent, WELL_FORMED } from '../helpers/signed-event.ts';
import { chunk, connect, requestHead, send, type Answer, type RequestParts } from './wire.ts';

testHttpAdapter('hookbox/hono, served by @hono/node-server', (receiver, { bodyReadBefore }) => {
  const app = new Hono();
  if (bodyReadBefore === true) {
    app.use(async (c, next) => {
      await c.req.raw.arrayBuffer();
      return next();
    });
  }
  return serveApp(app.all('/webhooks', webhookHandler(receiver)));
});

function receiverWith(options: Partial<ReceiverOptions> = {}): Receiver {
  const { logger } = recordedLog();
  return createReceiver({ secret: SECRET, inbox: memoryInbox(), logger, ...options });
}

describe('where hookbox/hono is mounted', () => {
  const mounted: readonly (readonly [how: string, path: string, app: (inner: Hono) => Hono])[] = [
    ['in a sub-app under a prefix', '/shop/webhooks', (inner) => new Hono().route('/shop', inner)],
    ['in an app that is mounted in another', '/shop/webhooks', (inner) => new Hono().mount('/shop', inner.fetch)],
    ['in a sub-app under a parameter', '/shops/7/webhooks', (inner) => new Hono().route('/shops/:shop', inner)],
  ];

  it.each(mounted)('works %s', async (_, path, appWith) => {
    await using served = await serveApp(appWith(new Hono().post('/webhooks', webhookHandler(receiverWith()))));
    const event = signedEvent();

    const answer = await send(new URL(path, served.url).href, event);

    expectAccepted(answer, { id: event.id, duplicate: false });
  });

  it('works below a base path', async () => {
    await using served = await serveApp(new Hono().basePath('/v1').post('/webhooks', webhookHandler(receiverWith())));
    const event = signedEvent();

    expectAccepted(await send(new URL('/v1/webhooks', served.url).href, event), { id: event.id, duplicate: false });
  });

  it('leaves other methods to the app where it is mounted for POST only', async () => {
    const app = new Hono().post('/webhooks', webhookHandler(receiverWith()));
    await using served = await serveApp(app.get('/webhooks', (c) => c.text('a page of the app')));

    const answer = await send(served.url, { method: 'GET', framing: 'none' });

    expect(answer).toMatchObject({ status: 200, body: 'a page of the app' });
  });

  it('lets middleware around it add headers to its answers', async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await next();
      c.header('X-Served-By', 'shop');
    });
    await using served = await serveApp(app.post('/webhooks', webhookHandler(receiverWith())));

    const answer = await send(served.url);

    expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
    expect(answer.headers.get('x-served-by')).toBe('shop');
  });
});

describe('the sockets of a node server behind hookbox/hono', () => {
  /** The adapter's linger time, what the server adds to it, and room for a slow machine. */
  const LET_GO_MS = 6_000;

  async function openSockets({ server }: ServedApp): Promise<number> {
    return new Promise((resolve, reject) => {
      server.getConnections((failure, count) => (failure ? reject(failure) : resolve(count)));
    });
  }

  /** Requests whose body never ends, each with the status of its answer. */
  const endless: readonly (readonly [what: string, status: number, parts: RequestParts])[] = [
    ['over the limit', 413, { headers: [WELL_FORMED] }],
    ['over the limit by their Content-Length', 413, { headers: [WELL_FORMED, ['Content-Length', '100000']] }],
    ['not arriving in time', 503, { headers: [WELL_FORMED] }],
    ['without a signature', 401, {}],
    ['sent with PUT', 405, { method: 'PUT' }],
  ];

  // At once: each waits for a whole linger time.
  it.concurrent.for(endless)(
    'are all let go after 100 bodies %s, answered %i, from clients that never hang up',
    { timeout: 15_000 },
    async ([what, status, parts], { expect }) => {
      const receiver = receiverWith({ maxBodyBytes: 1_000, deadlineMs: 500 });
      await using served = await serveApp(new Hono().all('/webhooks', webhookHandler(receiver)));
      const connections = await Promise.all(Array.from({ length: 100 }, () => connect(served.url)));
      const sized = parts.headers?.some(([name]) => name === 'Content-Length') === true;
      const part = Buffer.alloc(what === 'not arriving in time' ? 10 : 2_000);

      const answers = await Promise.all(
        connections.map(async (connection) => {
          await connection.write(requestHead(served.url, { framing: sized ? 'none' : 'chunked', ...parts }));
          await connection.write(sized ? part : chunk(part));
          return connection.answer();
        }),
      );

      expect(answers.map((answer) => answer.status)).toEqual(connections.map(() => status));
      await expect.poll(() => openSockets(served), { timeout: LET_GO_MS }).toBe(0);
      for (const connection of connections) await connection[Symbol.asyncDispose]();
    },
  );
});

describe('hookbox/hono over HTTP/2', () => {
  const headers = { 'x-signature': WELL_FORMED[1] };

  interface Http2Client extends AsyncDisposable {
    post(parts: { headers?: Readonly<Record<string, string>>; body: Uint8Array; unended?: boolean }): Promise<Answer>;
  }

  async function serveHttp2(receiver: Receiver): Promise<Http2Client> {
    const app = new Hono().all('/webhooks', webhookHandler(receiver));
    const server = serve({ fetch: app.fetch, createServer: createHttp2Server, hostname: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    return {
      post: ({ headers = {}, body, unended = false }) => post(session, { headers, body, unended }),
      async [Symbol.asyncDispose]() {
        session.destroy();
        server.close();
      },
    };
  }

  async function post(
    session: ClientHttp2Session,
    { headers, body, unended }: { headers: Readonly<Record<string, string>>; body: Uint8Array; unended: boolean },
  ): Promise<Answer> {
    const stream = session.request({ ...headers, ':method': 'POST', ':path': '/webhooks' });
    stream.on('error', () => {}); // a stream that is closed while it is written to still has its answer
    if (unended) stream.write(body);
    else stream.end(body);
    const answered = new Map<string, string>();
    let text = '';
    stream.on('response', (received) => {
      for (const [name, value] of Object.entries(received)) answered.set(name, String(value));
    });
    stream.on('data', (part) => {
      text += String(part);
    });
    await Promise.race([once(stream, 'end'), once(stream, 'close')]);
    return { status: Number(answered.get(':status')), headers: answered, body: text };
  }

  it('stores a delivery and knows its duplicate', async () => {
    await using client = await serveHttp2(receiverWith());
    const { id, body, headers } = signedEvent();
    const delivery = { body, headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])) };

    expectAccepted(await client.post(delivery), { id, duplicate: false });
    expectAccepted(await client.post(delivery), { id, duplicate: true });
  });

  it('answers 413 to a body over the limit that never ends, and serves the next request of the session', async () => {
    await using client = await serveHttp2(receiverWith({ maxBodyBytes: 1_000 }));

    const answer = await client.post({ headers, body: new Uint8Array(2_000), unended: true });

    expect(answer).toMatchObject({ status: 413, body: expect.stringContaining('BODY_TOO_LARGE') as unknown });
    expect(await client.post({ body: signedEvent().body })).toMatchObject({ status: 401 });
  });

  it('answers 503 at the deadline to a body that stops', async () => {
    await using client = await serveHttp2(receiverWith({ deadlineMs: 500 }));
    const began = performance.now();

    const answer = await client.post({ headers, body: signedEvent().body, unended: true });

    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('UNAVAILABLE') as unknown });
    expect(performance.now() - began).toBeGreaterThan(450);
  });
});
