import { fastify, type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/fastify.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused, INVALID_SIGNATURE } from './expected-answer.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { SECRET, signedEvent, type SignedDelivery } from '../helpers/signed-event.ts';
import { send, type Answer, type RequestParts } from './wire.ts';

const JSON_TYPE = ['Content-Type', 'application/json'] as const;

function receiverWith(options: Partial<ReceiverOptions> = {}): Receiver {
  const { logger } = recordedLog();
  return createReceiver({ secret: SECRET, inbox: memoryInbox(), logger, deadlineMs: 2_000, ...options });
}

interface ServedApp extends AsyncDisposable {
  readonly url: (path: string) => string;
}

async function listen(app: Pick<FastifyInstance, 'listen' | 'close'>): Promise<ServedApp> {
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url: (path) => origin + path,
    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}

async function ask(app: FastifyInstance, path: string, parts: RequestParts): Promise<Answer> {
  await using served = await listen(app);
  return await send(served.url(path), parts);
}

function appWith(receiver = receiverWith(), options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify({ forceCloseConnections: true, ...options });
  void app.register(webhookHandler(receiver), { prefix: '/webhooks' });
  return app;
}

function asJson({ body, headers }: SignedDelivery): RequestParts {
  return { body, headers: [...headers, JSON_TYPE] };
}

describe('other routes beside hookbox/fastify', () => {
  it('keep their parsers, those of the merchant too, whenever they were added', async () => {
    const app = appWith();
    app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_, text, done) => done(null, String(text).split(',')));
    app.post('/orders', async ({ body }) => ({ body }));
    await app.register(async (scope) => {
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_, bytes, done) => done(null, bytes.length));
      scope.post('/shop/orders', async ({ body }) => ({ body }));
    });
    await using served = await listen(app);
    const post = (path: string, type: string, text: string): Promise<Answer> =>
      send(served.url(path), { body: Buffer.from(text), headers: [['Content-Type', type]] });

    expect(await post('/orders', 'application/json', '{"id":7}')).toMatchObject({ body: '{"body":{"id":7}}' });
    expect(await post('/orders', 'text/csv', 'a,b')).toMatchObject({ body: '{"body":["a","b"]}' });
    expect(await post('/orders', 'text/plain', 'text')).toMatchObject({ body: '{"body":"text"}' });
    expect(await post('/orders', 'application/xml', '<a/>')).toMatchObject({ status: 415 });
    expect(await post('/orders', 'application/json', '{')).toMatchObject({ status: 400 });
    expect(await post('/shop/orders', 'application/xml', '<a/>')).toMatchObject({ body: '{"body":4}' });
    const event = signedEvent();
    expectAccepted(await send(served.url('/webhooks'), asJson(event)), event);
  });

  it('keep their limit, which is none of the deliveries', async () => {
    const app = appWith(receiverWith(), { bodyLimit: 100 });
    app.post('/orders', async () => 'taken');
    await using served = await listen(app);
    const event = signedEvent();

    expect(await send(served.url('/orders'), asJson(event))).toMatchObject({ status: 413 });
    expectAccepted(await send(served.url('/webhooks'), asJson(event)), event);
  });

  it('leave it its own where the whole app has parsers for everything', async () => {
    const app = fastify({ forceCloseConnections: true });
    app.addContentTypeParser('*', { parseAs: 'string' }, (_, text, done) => done(null, text));
    app.addContentTypeParser(/^application\/json/, { parseAs: 'buffer' }, (_, bytes, done) => done(null, bytes));
    await app.register(webhookHandler(receiverWith()), { prefix: '/webhooks' });
    const event = signedEvent();

    expectAccepted(await ask(app, '/webhooks', asJson(event)), event);
  });
});

describe('where hookbox/fastify is registered', () => {
  const registered: readonly (readonly [how: string, path: string, register: (app: FastifyInstance) => void])[] = [
    [
      'under a prefix',
      '/webhooks',
      (app) => void app.register(webhookHandler(receiverWith()), { prefix: '/webhooks' }),
    ],
    [
      'and a slash follows',
      '/webhooks/',
      (app) => void app.register(webhookHandler(receiverWith()), { prefix: '/webhooks' }),
    ],
    ['without a prefix', '/', (app) => void app.register(webhookHandler(receiverWith()))],
    [
      'under a parameter',
      '/shops/7/webhooks?a=b',
      (app) => void app.register(webhookHandler(receiverWith()), { prefix: '/shops/:shop/webhooks' }),
    ],
    [
      'in a scope inside of a scope',
      '/v1/shop/webhooks',
      (app) =>
        void app.register(
          async (scope) => scope.register(webhookHandler(receiverWith()), { prefix: '/shop/webhooks' }),
          { prefix: '/v1' },
        ),
    ],
  ];

  it.each(registered)('it works %s', async (_, path, register) => {
    const app = fastify({ forceCloseConnections: true });
    register(app);
    const event = signedEvent();

    expectAccepted(await ask(app, path, asJson(event)), event);
  });

  it('each of two receivers has its own secret and its own events', async () => {
    const inboxes = { one: memoryInbox(), two: memoryInbox() };
    const app = fastify({ forceCloseConnections: true });
    for (const [name, inbox] of Object.entries(inboxes)) {
      const receiver = receiverWith({ inbox, secret: name === 'one' ? SECRET : 'the secret of the other' });
      await app.register(webhookHandler(receiver), { prefix: `/${name}` });
    }
    await using served = await listen(app);
    const event = signedEvent();

    expectAccepted(await send(served.url('/one'), event), event);
    expectRefused(await send(served.url('/two'), event), INVALID_SIGNATURE);
    expect(await inboxes.one.list()).toHaveLength(1);
    expect(await inboxes.two.list()).toEqual([]);
  });

  it('the hooks around it run, and may add headers and answer themselves', async () => {
    const app = fastify({ forceCloseConnections: true });
    const ran: string[] = [];
    app.addHook('onRequest', async ({ headers }, reply) => {
      ran.push('onRequest');
      if (headers['x-blocked'] !== undefined) await reply.code(403).send('blocked');
    });
    app.addHook('preHandler', async () => void ran.push('preHandler'));
    app.addHook('onSend', async (_, reply, payload) => {
      ran.push('onSend');
      reply.header('X-Served-By', 'shop');
      return payload;
    });
    app.addHook('onResponse', async () => void ran.push('onResponse'));
    app.setErrorHandler(async () => ran.push('error'));
    app.setNotFoundHandler(async () => ran.push('not found'));
    await app.register(webhookHandler(receiverWith()), { prefix: '/webhooks' });
    await using served = await listen(app);

    const answer = await send(served.url('/webhooks'), { body: signedEvent().body });

    expectRefused(answer, INVALID_SIGNATURE);
    expect(answer.headers.get('x-served-by')).toBe('shop');
    await expect.poll(() => ran).toEqual(['onRequest', 'preHandler', 'onSend', 'onResponse']);
    const blocked = { ...signedEvent(), headers: [['X-Blocked', '1']] } as const;
    expect(await send(served.url('/webhooks'), blocked)).toMatchObject({ status: 403, body: 'blocked' });
  });
});

describe('the Content-Type of a delivery to hookbox/fastify', () => {
  it.each(['', 'json', 'application/', '/json', ';;;', 'application json'])(
    'does not matter when it is none: %j',
    async (type) => {
      const event = signedEvent();
      const headers = [...event.headers, ['Content-Type', type]] as const;

      expectAccepted(await ask(appWith(), '/webhooks', { ...event, headers }), event);
    },
  );
});
