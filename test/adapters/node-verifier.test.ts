import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier, type VerifiedRequest } from '../../adapters/node.ts';
import type { VerifierOptions } from '../../src/index.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { expectRefused, BODY_CONSUMED, HANDLER_FAILED, UNAVAILABLE } from './expected-answer.ts';
import { serveNode, type Listener } from './served-node.ts';
import { FAILING, testVerifier, VERIFYING } from './verifier-conformance.ts';
import { send } from './wire.ts';

type Handler = (request: VerifiedRequest, response: ServerResponse) => unknown;

const WAYS: readonly (readonly [how: string, listener: (handler: Handler, options?: VerifierOptions) => Listener])[] = [
  ['with a handler', (handler, options = VERIFYING) => webhookVerifier(options, handler)],
  [
    'as middleware',
    (handler, options = VERIFYING) => {
      const verify = webhookVerifier(options);
      return (request, response) => verify(request, response, () => handler(asVerified(request), response));
    },
  ],
  [
    'awaited',
    (handler, options = VERIFYING) => {
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

describe.each(WAYS)('%s', (_, listener) => {
  testVerifier('hookbox/node', async (options, next) => {
    const handler: Handler = async ({ webhookEvent, webhookBody }, response) =>
      response.writeHead(202).end(await next({ event: webhookEvent, body: webhookBody }));
    const served = await serveNode(listener(handler, options));
    return { ...served, send: (parts) => send(served.url, parts) };
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

  it('answers 500 when the body was read before, and nothing is called', async () => {
    const handler = vi.fn<Handler>((_, response) => response.end('reached'));
    const inner = listener(handler);
    await using served = await serveNode(async (request, response) => {
      await request.toArray();
      return inner(request, response);
    });

    expectRefused(await send(served.url, signedEvent()), BODY_CONSUMED);
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('webhookVerifier of hookbox/node', () => {
  it('calls its handler and not the next middleware, where it has both', async () => {
    const next = vi.fn();
    const verify = webhookVerifier(VERIFYING, ({ webhookEvent }, response) => response.end(webhookEvent.id));
    await using served = await serveNode((request: IncomingMessage, response: ServerResponse) =>
      verify(request, response, next),
    );
    const event = signedEvent();

    expect(await send(served.url, event)).toMatchObject({ status: 200, body: event.id });
    expect(next).not.toHaveBeenCalled();
  });
});

describe('what comes after webhookVerifier of hookbox/node', () => {
  it.each(FAILING)('is answered 500 and reported when it is a handler that %s', async (_, fail) => {
    const { logger, lines } = recordedLog();
    await using served = await serveNode(webhookVerifier({ ...VERIFYING, logger }, fail));

    expectRefused(await send(served.url, signedEvent()), HANDLER_FAILED);

    expect(served.thrown).toEqual([]);
    expect(lines).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on', error: 'Error' } }]);
  });

  it('is answered 503 when it is a handler that is not done by the deadline, and may still write', async () => {
    const verify = webhookVerifier({ ...VERIFYING, deadlineMs: 100 }, async (_, response) => {
      await delay(300);
      response.write('too late');
      response.end();
    });
    await using served = await serveNode(verify);

    expectRefused(await send(served.url, signedEvent()), UNAVAILABLE);

    await delay(400);
    expect(served.thrown).toEqual([]);
  });

  it.each(FAILING)('rejects to the caller when it is middleware that %s', async (_, fail) => {
    const verify = webhookVerifier(VERIFYING);
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
