import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import * as lambda from '../../adapters/aws-lambda.ts';
import * as forExpress from '../../adapters/express.ts';
import * as forFastify from '../../adapters/fastify.ts';
import * as forFetch from '../../adapters/fetch.ts';
import * as forHono from '../../adapters/hono.ts';
import * as forNode from '../../adapters/node.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import {
  buildEvent,
  deliverTo,
  testInbox,
  type DeliverToOptions,
  type DeliveryAnswer,
} from '../../src/testing/index.ts';
import { silent } from '../helpers/silent-logger.ts';

const secret = 'a secret that only the tests know';

type Deliver = (receiver: Receiver, event: object | Uint8Array, options: DeliverToOptions) => Promise<DeliveryAnswer>;

const lambdaShapes = ['apigateway-v1', 'apigateway-v2', 'function-url', 'alb'] as const;

function nodeServer(receiver: Receiver): Server {
  const handler = forNode.webhookHandler(receiver);
  return createServer((request, response) => void handler(request, response));
}

const TARGETS: readonly (readonly [name: string, deliver: Deliver])[] = [
  ['a receiver', deliverTo],
  ['a fetch handler', (receiver, ...rest) => deliverTo(forFetch.webhookHandler(receiver), ...rest)],
  [
    'a Hono app',
    (receiver, ...rest) => deliverTo(new Hono().post('/webhooks', forHono.webhookHandler(receiver)), ...rest),
  ],
  ['a handler of node:http', (receiver, ...rest) => deliverTo(forNode.webhookHandler(receiver), ...rest)],
  ['a server', (receiver, ...rest) => deliverTo(nodeServer(receiver), ...rest)],
  [
    'an Express app',
    (receiver, ...rest) => deliverTo(express().post('/webhooks', forExpress.webhookHandler(receiver)), ...rest),
  ],
  [
    'a Fastify instance',
    async (receiver, ...rest) => {
      const app = fastify();
      await app.register(forFastify.webhookHandler(receiver), { prefix: '/webhooks' });
      return deliverTo(app, ...rest);
    },
  ],
  [
    'a URL',
    async (receiver, ...rest) => {
      const server = nodeServer(receiver).listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        return await deliverTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`, ...rest);
      } finally {
        server.close();
      }
    },
  ],
  ...lambdaShapes.map((as): readonly [string, Deliver] => [
    `a Lambda function behind ${as}`,
    (receiver, event, options) => deliverTo(lambda.webhookHandler(receiver), event, { ...options, as }),
  ]),
];

describe.each(TARGETS)('deliverTo %s', (_, deliver) => {
  it('stores the exact bytes and brings the answer', async () => {
    const { inbox } = testInbox();
    await using receiver = createReceiver({ secret, inbox, logger: silent });
    const body = fixture('order.confirmed');
    const { id } = JSON.parse(body.toString()) as { id: string };

    const first = await deliver(receiver, body, { secret });
    expect(first).toMatchObject({ status: 200, body: { received: true, duplicate: false, id } });
    expect(first.headers.get('content-type')).toBe('application/json');
    const again = await deliver(receiver, body, { secret });
    expect(again).toMatchObject({ status: 200, body: { received: true, duplicate: true, id } });

    const stored = await inbox.get({ endpoint: 'default', id });
    expect(Buffer.from(stored?.body ?? [])).toEqual(body);
  });

  it('delivers an event that was built', async () => {
    const { inbox } = testInbox();
    await using receiver = createReceiver({ secret, inbox, logger: silent });
    const event = buildEvent('cart.abandoned', { data: { user_id: 'Zoë 🍰' } });
    expect((await deliver(receiver, event, { secret })).status).toBe(200);
    const [stored] = await inbox.list();
    expect(JSON.parse(Buffer.from(stored?.body ?? []).toString())).toEqual(event);
  });

  it('hands over a signature among the headers, however its name is written', async () => {
    await using receiver = createReceiver({ secret, inbox: testInbox().inbox, logger: silent });
    const headers = { 'x-sIGNATURE': 'f'.repeat(64) };
    expect((await deliver(receiver, fixture('order.ready'), { secret, headers })).status).toBe(401);
  });

  it('hands over the trace that its headers name', async () => {
    await using receiver = createReceiver({ secret, inbox: testInbox().inbox, logger: silent });
    const seen: unknown[] = [];
    const receive: Receiver['receive'] = (delivery) => {
      seen.push(delivery.header?.('traceparent'));
      return receiver.receive(delivery);
    };
    const headers = { TraceParent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    await deliver({ ...receiver, receive }, fixture('order.ready'), { secret, headers });
    expect(seen).toEqual([headers.TraceParent]);
  });

  it('hands over an encoding', async () => {
    await using receiver = createReceiver({ secret, inbox: testInbox().inbox, logger: silent });
    const headers = { 'CONTENT-encoding': 'gzip' };
    const encoded = Buffer.from(Buffer.from(fixture('order.ready')).toString('base64'));
    const answer = await deliver(receiver, encoded, { secret, headers });
    expect(answer.status).toBe(415);
  });

  it('delivers bytes that are no text', async () => {
    await using receiver = createReceiver({ secret, inbox: testInbox().inbox, logger: silent });
    const answer = await deliver(receiver, fixture('edge/rejected-invalid-utf8'), { secret });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_BODY' } } });
  });

  it.each([
    ['a forged signature', { signature: 'f'.repeat(64) }],
    ['no signature', { signature: null }],
    ['another secret', { secret: 'another' }],
  ])('is answered 401 with %s', async (_name, options) => {
    const { inbox } = testInbox();
    await using receiver = createReceiver({ secret, inbox, logger: silent });
    const answer = await deliver(receiver, buildEvent('order.ready'), { secret, ...options });
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'INVALID_SIGNATURE' } } });
    expect(await inbox.list()).toEqual([]);
  });
});

describe('deliverTo', () => {
  it('goes to the path it is told, with headers of the test', async () => {
    const app = new Hono().post('/hooks/:shop', (c) =>
      c.text(`${c.req.param('shop')} ${c.req.header('x-trace')}`, 201, { 'X-Seen': 'yes' }),
    );
    const answer = await deliverTo(app, '{}', { secret, path: '/hooks/7', headers: { 'X-Trace': 'abc' } });
    expect(answer).toMatchObject({ status: 201, body: '7 abc', text: '7 abc' });
    expect(answer.headers.get('x-seen')).toBe('yes');
    expect((await deliverTo(app, '{}', { secret, path: '/elsewhere' })).status).toBe(404);
  });

  it('takes a function with two parameters for a fetch handler if told so', async () => {
    const handler = (request: Request, context: unknown): Response => Response.json({ url: request.url, context });
    const { body } = await deliverTo(handler, '{}', { secret, as: 'fetch' });
    expect(body).toEqual({ url: 'http://localhost/webhooks' });
  });

  it('takes a function with one parameter for a handler of node:http if told so', async () => {
    const handler = (...exchange: [IncomingMessage, ServerResponse]): unknown => exchange[1].end('here');
    expect((await deliverTo(handler, '{}', { secret, as: 'node' })).text).toBe('here');
  });

  it('answers 404 when a middleware passes on', async () => {
    const middleware = forNode.webhookVerifier({ secret, logger: silent });
    expect((await deliverTo(middleware, buildEvent('order.ready'), { secret })).status).toBe(404);
  });

  it.each([
    ['a fetch handler', (_request: Request) => Promise.reject(new Error('out of order'))],
    [
      'a handler of node:http',
      async (_request: IncomingMessage, _response: ServerResponse) => Promise.reject(new Error('out of order')),
    ],
    [
      'a handler that throws at once',
      (_request: IncomingMessage, _response: ServerResponse) => {
        throw new Error('out of order');
      },
    ],
    [
      'a middleware',
      (_request: unknown, _response: unknown, next: (error: Error) => void) => next(new Error('out of order')),
    ],
  ])('rejects with what %s throws', async (_, target) => {
    await expect(deliverTo(target, '{}', { secret })).rejects.toThrow('out of order');
  });

  it('rejects with what a Lambda function throws, and when it returns no answer', async () => {
    const broken = async (): Promise<never> => Promise.reject(new Error('out of order'));
    await expect(deliverTo(broken, '{}', { secret, as: 'alb' })).rejects.toThrow('out of order');
    await expect(deliverTo(() => 'done', '{}', { secret, as: 'alb' })).rejects.toThrow('a response with a statusCode');
  });

  it.each([
    ['a fetch handler', (_request: Request) => new Promise<Response>(() => {})],
    ['a handler of node:http', (_request: IncomingMessage, _response: ServerResponse) => {}],
  ])('gives up on %s that does not answer, as the service does', async (_, target) => {
    const delivered = deliverTo(target, '{}', { secret, timeoutMs: 50 });
    await expect(delivered).rejects.toThrow('No answer within 50 ms; the service counts that as a failed delivery.');
  });

  it('says that a handler of Hono is delivered to through its app', async () => {
    await using receiver = createReceiver({ secret, inbox: testInbox().inbox, logger: silent });
    const delivered = deliverTo(forHono.webhookHandler(receiver), '{}', { secret });
    await expect(delivered).rejects.toThrow('This is a Hono handler. Pass the app that mounts it.');
  });

  it('does not follow a redirect', async () => {
    const handler = (_: IncomingMessage, response: ServerResponse): unknown =>
      response.writeHead(307, { Location: '/elsewhere' }).end();
    expect(await deliverTo(handler, '{}', { secret })).toMatchObject({ status: 307 });
  });
});
