// @module-tag dear
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/hono.ts';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { testHttpAdapter } from './conformance.ts';
import { LOST_ANSWERS } from './http-adapter-case.ts';
import type { ReceiverSetup } from './receiver-setup.ts';
import { expectAccepted, expectRefused, INVALID_SIGNATURE } from './expected-answer.ts';
import { testHttp2 } from './http2-conformance.ts';
import { silent } from '../helpers/silent-logger.ts';
import { serveApp } from './served-app.ts';
import { connectHttp2 } from './served-node.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { send } from './wire.ts';

function mounted(receiver: Pick<Receiver, 'receive'>, { bodyReadBefore }: Pick<ReceiverSetup, 'bodyReadBefore'>): Hono {
  const app = new Hono();
  if (bodyReadBefore === true) {
    app.use(async (c, next) => {
      await c.req.raw.arrayBuffer();
      return next();
    });
  }
  return app.all('/webhooks', webhookHandler(receiver));
}

testHttpAdapter('hookbox/hono, served by @hono/node-server', (receiver, setup) => serveApp(mounted(receiver, setup)));

testHttpAdapter(
  'hookbox/hono, on the web stream of a request',
  (receiver, setup) => {
    const app = mounted(receiver, setup);
    // Without the bindings of @hono/node-server.
    return serveApp({ fetch: (request) => app.fetch(request) });
  },
  LOST_ANSWERS,
);

function receiver(): Receiver {
  return createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent });
}

describe('where hookbox/hono is mounted', () => {
  const mounted: readonly (readonly [how: string, path: string, app: (inner: Hono) => Hono])[] = [
    ['in a sub-app under a prefix', '/shop/webhooks', (inner) => new Hono().route('/shop', inner)],
    ['in an app that is mounted in another', '/shop/webhooks', (inner) => new Hono().mount('/shop', inner.fetch)],
    ['in a sub-app under a parameter', '/shops/7/webhooks', (inner) => new Hono().route('/shops/:shop', inner)],
    ['below a base path', '/v1/webhooks', (inner) => new Hono().basePath('/v1').route('/', inner)],
  ];

  it.each(mounted)('works %s', async (_, path, appWith) => {
    await using served = await serveApp(appWith(new Hono().post('/webhooks', webhookHandler(receiver()))));
    const event = signedEvent();

    const answer = await send(new URL(path, served.url).href, event);

    expectAccepted(answer, event);
  });

  it('leaves other methods to the app where it is mounted for POST only', async () => {
    const app = new Hono().post('/webhooks', webhookHandler(receiver()));
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
    await using served = await serveApp(app.post('/webhooks', webhookHandler(receiver())));

    const answer = await send(served.url);

    expectRefused(answer, INVALID_SIGNATURE);
    expect(answer.headers.get('x-served-by')).toBe('shop');
  });
});

testHttp2('hookbox/hono', async (receiver) => {
  const { fetch } = new Hono().all('/webhooks', webhookHandler(receiver));
  const server = serve({ fetch, createServer: createHttp2Server, hostname: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = await connectHttp2(`http://127.0.0.1:${port}/webhooks`);
  return {
    send: client.send,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.close();
    },
  };
});
