import { fastify, type FastifyInstance, type RouteHandlerMethod } from 'fastify';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier } from '../../adapters/fastify.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { expectRefused, INVALID_SIGNATURE } from './expected-answer.ts';
import { connectHttp2 } from './served-node.ts';
import { FAILING, testVerifier, VERIFYING } from './verifier-conformance.ts';
import { send, type RequestParts } from './wire.ts';

interface Served extends AsyncDisposable {
  readonly url: (path: string) => string;
}

async function serve(
  routes: (scope: FastifyInstance) => void,
  beside: (app: FastifyInstance) => void = () => {},
  options = VERIFYING,
): Promise<Served> {
  const app = fastify({ forceCloseConnections: true });
  beside(app);
  await app.register(async (scope) => {
    await scope.register(webhookVerifier(options));
    routes(scope);
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url: (path) => origin + path, [Symbol.asyncDispose]: async () => app.close() };
}

testVerifier('hookbox/fastify', async (options, next) => {
  const served = await serve(
    (scope) => {
      scope.all('/webhooks', async ({ webhookEvent, webhookBody }, reply) => {
        if (webhookEvent === undefined || webhookBody === undefined) throw new Error('no event');
        return reply.code(202).send(await next({ event: webhookEvent, body: webhookBody }));
      });
    },
    undefined,
    options,
  );
  return { ...served, send: (parts) => send(served.url('/webhooks'), parts) };
});

function handler(): ReturnType<typeof vi.fn<RouteHandlerMethod>> {
  return vi.fn<RouteHandlerMethod>(async () => 'reached');
}

const REFUSED = [
  ['a forged one', () => ({ body: signedEvent().body, headers: signedEvent().headers })],
  [
    'a forged one that says it is JSON',
    () => ({ body: signedEvent().body, headers: [...signedEvent().headers, ['Content-Type', 'application/json']] }),
  ],
  ['an empty one', () => ({ framing: 'none' })],
] as const;

describe('webhookVerifier of hookbox/fastify', () => {
  it('keeps the events of several routes and of requests at the same time apart', async () => {
    await using served = await serve((scope) => {
      for (const path of ['/orders', '/carts']) {
        scope.post(path, async ({ webhookEvent, url }) => {
          await delay(20);
          return { url, id: webhookEvent?.id };
        });
      }
      void scope.register(async (inner) => {
        inner.post('/inner', async ({ webhookEvent, url }) => ({ url, id: webhookEvent?.id }));
      });
    });
    const sent = ['/orders', '/carts', '/inner', '/orders', '/carts'].map((path) => ({ path, event: signedEvent() }));

    const answers = await Promise.all(sent.map(({ path, event }) => send(served.url(path), event)));

    const bodies = answers.map(({ body }) => JSON.parse(body) as unknown);
    expect(bodies).toEqual(sent.map(({ path, event }) => ({ url: path, id: event.id })));
  });

  it('leaves the routes outside of its scope alone', async () => {
    await using served = await serve(
      (scope) => void scope.post('/webhooks', async () => 'verified'),
      (app) => {
        app.post('/orders', async ({ body, webhookEvent }) => ({ body, event: webhookEvent ?? null }));
        app.get('/orders', async () => 'a page');
      },
    );
    const headers = [['Content-Type', 'application/json']] as const;

    const answer = await send(served.url('/orders'), { body: Buffer.from('{"id":7}'), headers });

    expect(answer).toMatchObject({ status: 200, body: '{"body":{"id":7},"event":null}' });
    expect(await send(served.url('/orders'), { method: 'GET', framing: 'none' })).toMatchObject({ body: 'a page' });
    expect(await send(served.url('/nowhere'), signedEvent())).toMatchObject({ status: 404 });
  });

  it.each(REFUSED)('answers %s itself, and no handler of the scope is reached', async (_, parts) => {
    const reached = handler();
    await using served = await serve((scope) => {
      scope.all('/webhooks', reached);
      void scope.register(async (inner) => void inner.all('/inner', reached));
    });

    for (const path of ['/webhooks', '/inner']) {
      const answer = await send(served.url(path), parts() as RequestParts);
      expectRefused(answer, INVALID_SIGNATURE);
    }

    expect(reached).not.toHaveBeenCalled();
  });

  it('guards routes that were added to the scope before it, and those of a page', async () => {
    const reached = handler();
    const app = fastify({ forceCloseConnections: true });
    await app.register(async (scope) => {
      scope.post('/webhooks', reached);
      scope.get('/page', reached);
      await scope.register(webhookVerifier(VERIFYING));
    });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });

    try {
      const forged = { body: signedEvent().body, headers: signedEvent().headers };
      expect(await send(`${origin}/webhooks`, forged)).toMatchObject({ status: 401 });
      expect(await send(`${origin}/page`, { method: 'GET', framing: 'none' })).toMatchObject({ status: 405 });
      expect(reached).not.toHaveBeenCalled();
      expect(await send(`${origin}/webhooks`, signedEvent())).toMatchObject({ status: 200, body: 'reached' });
    } finally {
      await app.close();
    }
  });

  it('may be registered in several scopes, each with a secret of its own', async () => {
    const app = fastify({ forceCloseConnections: true });
    for (const [name, secret] of [
      ['one', SECRET],
      ['two', 'the secret of the other'],
    ] as const) {
      await app.register(async (scope) => {
        await scope.register(webhookVerifier({ ...VERIFYING, secret }));
        scope.post(`/${name}`, async () => name);
      });
    }
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });

    try {
      expect(await send(`${origin}/one`, signedEvent())).toMatchObject({ status: 200, body: 'one' });
      expect(await send(`${origin}/two`, signedEvent())).toMatchObject({ status: 401 });
    } finally {
      await app.close();
    }
  });

  it.each(FAILING)("leaves it to the app's own error handler when the handler %s", async (_, fail) => {
    const failed: unknown[] = [];
    await using served = await serve(
      (scope) => void scope.post('/webhooks', fail),
      (app) =>
        void app.setErrorHandler(async (failure, _request, reply) => {
          failed.push(failure);
          return reply.code(599).send('the error handler of the app');
        }),
    );

    expect(await send(served.url('/webhooks'), signedEvent())).toMatchObject({ status: 599 });
    expect(failed).toMatchObject([{ message: 'no queue' }]);
  });

  it('works over HTTP/2', async () => {
    const app = fastify({ http2: true });
    await app.register(async (scope) => {
      await scope.register(webhookVerifier(VERIFYING));
      scope.post('/webhooks', async ({ webhookEvent }) => webhookEvent?.id);
    });
    await using client = await connectHttp2(`${await app.listen({ host: '127.0.0.1', port: 0 })}/webhooks`);
    const event = signedEvent();

    expect(await client.send(event)).toMatchObject({ status: 200, body: event.id });
    expect(await client.send({ ...event, headers: [] })).toMatchObject({ status: 401 });
    await client[Symbol.asyncDispose]();
    await app.close();
  });
});
