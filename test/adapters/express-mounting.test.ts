import { PassThrough } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Express, RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/express.ts';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { AT_ONCE_MS, JSON_TYPE } from './after-others.ts';
import { expectAccepted, expectRefused, INVALID_SIGNATURE, METHOD_NOT_ALLOWED } from './expected-answer.ts';
import { EXPRESSES, serveBehind, serveExpress } from './express-app.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { SECRET, signed, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';
import { send } from './wire.ts';

function receiver(): Receiver {
  return createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: recordedLog().logger });
}

/** As compression does. */
const compressing: RequestHandler = (_, response, next) => {
  const [writeHead, write, end] = [
    response.writeHead.bind(response),
    response.write.bind(response),
    response.end.bind(response),
  ];
  const gzip = createGzip();
  gzip.on('data', (part: Buffer) => void write(part)).on('end', () => void end());
  Object.assign(response, {
    writeHead(status: number, headers: Readonly<Record<string, string | number>> = {}) {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      response.removeHeader('Content-Length');
      response.setHeader('Content-Encoding', 'gzip');
      return writeHead(status);
    },
    write: (part: Buffer) => gzip.write(part),
    end: (part?: Buffer) => gzip.end(part),
  });
  next();
};

describe.each(EXPRESSES)('hookbox/express on %s', (_, load) => {
  const express = load();

  const mounted: readonly (readonly [how: string, path: string, app: (handler: RequestHandler) => Express])[] = [
    ['with app.post', '/webhooks', (handler) => express().post('/webhooks', handler)],
    ['with app.all', '/webhooks', (handler) => express().all('/webhooks', handler)],
    ['with app.use', '/webhooks', (handler) => express().use('/webhooks', handler)],
    ['with app.use, below its path', '/webhooks/orders?shop=7', (handler) => express().use('/webhooks', handler)],
    ['with app.use, at the root', '/anything/at/all', (handler) => express().use(handler)],
    ['in a router', '/shop/webhooks', (handler) => express().use('/shop', express.Router().post('/webhooks', handler))],
    [
      'in a router under a parameter',
      '/shops/7/webhooks',
      (handler) => express().use('/shops/:shop', express.Router({ mergeParams: true }).all('/webhooks', handler)),
    ],
    [
      'in an app inside of an app',
      '/shop/webhooks',
      (handler) => express().use('/shop', express().post('/webhooks', handler)),
    ],
    [
      'before the body parsers of the other routes',
      '/webhooks',
      (handler) =>
        express()
          .post('/webhooks', handler)
          .use(express.json(), express.urlencoded({ extended: true })),
    ],
    [
      'behind a proxy that is trusted',
      '/webhooks',
      (handler) => express().set('trust proxy', true).post('/webhooks', handler),
    ],
    ['where ETags are strong', '/webhooks', (handler) => express().set('etag', 'strong').post('/webhooks', handler)],
  ];

  it.each(mounted)('works %s', async (_, path, app) => {
    await using served = await serveExpress(app(webhookHandler(receiver())));
    const url = new URL(path, served.url).href;
    const event = signedEvent();
    const forwarded = [['X-Forwarded-For', '203.0.113.7'], ['X-Forwarded-Proto', 'https'], JSON_TYPE] as const;

    const answer = await send(url, { ...event, headers: [...event.headers, ...forwarded] });
    const forged = await send(url, { body: event.body, headers: [...signedEvent().headers, ...forwarded] });

    expectAccepted(answer, event);
    expectRefused(forged, INVALID_SIGNATURE);
    expect(served.failed).toEqual([]);
  });

  it('leaves other methods to the app where it is mounted for POST only, and answers them 405 else', async () => {
    const app = express().post('/webhooks', webhookHandler(receiver())).use('/all', webhookHandler(receiver()));
    app.get('/webhooks', (_, response) => void response.send('a page of the app'));
    await using served = await serveExpress(app);
    const get = { method: 'GET', framing: 'none' } as const;

    expect(await send(served.url, get)).toMatchObject({ status: 200, body: 'a page of the app' });
    const answer = await send(new URL('/all', served.url).href, get);
    expectRefused(answer, METHOD_NOT_ALLOWED);
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('lets middleware add headers to its answers, and compress them', async () => {
    const app = express();
    app.use(compressing, (_, response, next) => {
      response.setHeader('X-Served-By', 'shop');
      next();
    });
    await using served = await serveExpress(app.post('/webhooks', webhookHandler(receiver())));
    const { id, body, headers } = signedEvent();

    const answers = await Promise.all(
      [Object.fromEntries(headers), {}].map((sent) => fetch(served.url, { method: 'POST', headers: sent, body })),
    );

    expect(answers.map(({ status }) => status)).toEqual([200, 401]);
    expect(answers.map((answer) => answer.headers.get('x-served-by'))).toEqual(['shop', 'shop']);
    expect(answers.map((answer) => answer.headers.get('content-encoding'))).toEqual(['gzip', 'gzip']);
    expect(await answers[0]?.json()).toEqual({ received: true, duplicate: false, id });
    expect(await answers[1]?.json()).toMatchObject({ error: { code: 'INVALID_SIGNATURE' } });
  });

  describe('behind express.json()', () => {
    const behind = () => serveBehind(express, express.json());

    it.each([
      ['is no JSON', '{"id":'],
      ['is a text', 'not JSON at all'],
    ])('has Express itself refuse a forged body that %s', async (_, text) => {
      await using app = await behind();

      const answer = await send(app.url, { ...signed(text), headers: [JSON_TYPE] });

      expect(answer).toMatchObject({ status: 599 });
      expect(app.failed).toMatchObject([{ status: 400 }]);
      expect(app.log).toEqual([]);
    });

    it('has Express itself refuse a body over the limit of its parser', async () => {
      await using app = await behind();
      const { body, headers } = signedEventOfSize(200_000);

      expect(await send(app.url, { body, headers: [...headers, JSON_TYPE] })).toMatchObject({ status: 599 });
      expect(app.failed).toMatchObject([{ status: 413 }]);
    });

    it('takes what the parser leaves alone: another type, or none', async () => {
      await using app = await behind();
      const [one, two] = [signedEvent(), signedEvent()];

      expectAccepted(await send(app.url, one), one);
      const asText = [...two.headers, ['Content-Type', 'text/plain'] as const];
      expectAccepted(await send(app.url, { ...two, headers: asText }), two);
    });

    it('never takes an empty body for a delivery', async () => {
      await using app = await behind();

      const answer = await send(app.url, { ...signed(''), headers: [...signedEvent().headers, JSON_TYPE] });

      expect([401, 500]).toContain(answer.status); // 401 if the parser did not read it
    });
  });

  it.each([500, 900_000])(
    'does not wait for the deadline behind a pipe that nobody empties (%i bytes)',
    async (bytes) => {
      await using app = await serveBehind(express, (request, _, next) => {
        request.pipe(new PassThrough());
        next();
      });
      const event = signedEventOfSize(bytes);
      const began = performance.now();

      const answer = await send(app.url, event);

      expect([200, 500]).toContain(answer.status);
      expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    },
  );
});
