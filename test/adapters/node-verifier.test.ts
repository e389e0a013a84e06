import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier, type VerifiedRequest } from '../../adapters/node.ts';
import { ConfigurationError, isKnown, type VerifierOptions } from '../../src/index.ts';
import { expectRefused } from './expected-answer.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveNode, type Listener } from './served-node.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { send } from './wire.ts';

type Handler = (request: VerifiedRequest, response: ServerResponse) => unknown;

const options: VerifierOptions = { secret: SECRET, maxBodyBytes: 1_000, logger: recordedLog().logger };

/** Every way to say what comes after the verifier. */
const WAYS: readonly (readonly [how: string, listener: (handler: Handler) => Listener])[] = [
  ['with a handler', (handler) => webhookVerifier(options, handler)],
  [
    'as middleware',
    (handler) => {
      const verify = webhookVerifier(options);
      return (request, response) => verify(request, response, () => handler(asVerified(request), response));
    },
  ],
  [
    'awaited',
    (handler) => {
      const verify = webhookVerifier(options);
      return async (request, response) => {
        await verify(request, response);
        if ('webhookEvent' in request) await handler(asVerified(request), response);
      };
    },
  ],
];

function asVerified(request: IncomingMessage): Parameters<Handler>[0] {
  return request as Parameters<Handler>[0];
}

describe.each(WAYS)('webhookVerifier of hookbox/node, %s', (_, listener) => {
  it('puts the typed event and the bytes that were verified on the request, and calls on once', async () => {
    const event = signedEvent({ note: 'é🥐' });
    const seen: unknown[] = [];
    const handler = vi.fn<Handler>(async ({ webhookEvent, webhookBody, url, method }, response) => {
      await delay(10);
      const total = isKnown(webhookEvent) && webhookEvent.type === 'order.created' ? webhookEvent.data.total : null;
      seen.push(total, Buffer.from(webhookBody), url, method);
      response.writeHead(202).end(webhookEvent.id);
    });
    await using served = await serveNode(listener(handler));

    expect(await send(served.url, event)).toMatchObject({ status: 202, body: event.id });

    expect(seen).toEqual([12.5, Buffer.from(event.body), '/webhooks', 'POST']);
    expect(handler).toHaveBeenCalledOnce();
  });

  it('takes the bytes that a framework has kept', async () => {
    const inner = listener(({ webhookEvent }, response) => response.end(webhookEvent.id));
    await using served = await serveNode(async (request, response) => {
      const rawBody = Buffer.concat((await request.toArray()) as Buffer[]);
      return inner(Object.assign(request, { rawBody }), response);
    });
    const event = signedEvent();

    expect(await send(served.url, event)).toMatchObject({ status: 200, body: event.id });
  });

  it('hands on each delivery, known or not, and what fits no schema with type null', async () => {
    const types: unknown[] = [];
    await using served = await serveNode(
      listener(({ webhookEvent }, response) => {
        types.push(webhookEvent.type);
        response.end();
      }),
    );
    const again = signedEvent();

    for (const event of [
      again,
      again,
      signedEvent({ type: 'order.teleported' }),
      signedEvent({ data: { total: 'x' } }),
    ]) {
      expect(await send(served.url, event)).toMatchObject({ status: 200 });
    }
    expect(types).toEqual(['order.created', 'order.created', 'order.teleported', null]);
  });

  it.each(REFUSED_DELIVERIES)('answers %s itself, and nothing is called', async (_, parts, expected) => {
    const handler = vi.fn<Handler>((_, response) => response.end('reached'));
    await using served = await serveNode(listener(handler));

    expectRefused(await send(served.url, parts()), expected);

    expect(handler).not.toHaveBeenCalled();
    expect(served.thrown).toEqual([]);
  });

  it('answers 500 when the body was read before, and nothing is called', async () => {
    const handler = vi.fn<Handler>((_, response) => response.end('reached'));
    const inner = listener(handler);
    await using served = await serveNode(async (request, response) => {
      await request.toArray();
      return inner(request, response);
    });

    expectRefused(await send(served.url, signedEvent()), { status: 500, code: 'BODY_CONSUMED' });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('webhookVerifier of hookbox/node', () => {
  it('calls its handler and not the next middleware, where it has both', async () => {
    const next = vi.fn();
    const verify = webhookVerifier(options, ({ webhookEvent }, response) => response.end(webhookEvent.id));
    await using served = await serveNode((request: IncomingMessage, response: ServerResponse) =>
      verify(request, response, next),
    );
    const event = signedEvent();

    expect(await send(served.url, event)).toMatchObject({ status: 200, body: event.id });
    expect(next).not.toHaveBeenCalled();
  });

  it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', (secret) => {
    expect(() => webhookVerifier({ secret })).toThrow(ConfigurationError);
  });
});

const FAILURES: readonly (readonly [how: string, fail: () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error('no queue');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no queue'))],
  ['rejects later', () => delay(20).then(() => Promise.reject(new Error('no queue')))],
];

describe('what comes after webhookVerifier of hookbox/node', () => {
  it.each(FAILURES)('is answered 500 and reported when it is a handler that %s', async (_, fail) => {
    const { logger, lines } = recordedLog();
    await using served = await serveNode(webhookVerifier({ ...options, logger }, fail));

    expectRefused(await send(served.url, signedEvent()), { status: 500, code: 'HANDLER_FAILED' });

    expect(served.thrown).toEqual([]);
    expect(lines).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on', error: 'Error' } }]);
  });

  it('is answered 503 when it is a handler that is not done by the deadline, and may still write', async () => {
    const verify = webhookVerifier({ ...options, deadlineMs: 100 }, async (_, response) => {
      await delay(300);
      response.write('too late');
      response.end();
    });
    await using served = await serveNode(verify);

    expectRefused(await send(served.url, signedEvent()), { status: 503, code: 'UNAVAILABLE', retryAfter: true });

    await delay(400);
    expect(served.thrown).toEqual([]);
  });

  it.each(FAILURES)('rejects to the caller when it is middleware that %s', async (_, fail) => {
    const verify = webhookVerifier(options);
    await using served = await serveNode((request, response) =>
      verify(request, response, () => {
        response.end('answered all the same');
        return fail();
      }),
    );

    await send(served.url, signedEvent());

    await expect.poll(() => served.thrown).toMatchObject([{ message: 'no queue' }]);
  });
});
