import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier } from '../../adapters/fetch.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { FAILING, testVerifier, VERIFYING } from './verifier-conformance.ts';
import type { RequestParts } from './wire.ts';

function requestOf({ method = 'POST', headers = [], body }: RequestParts): Request {
  const carried = method === 'GET' || body === undefined ? null : Buffer.from(body);
  return new Request('https://shop.example/webhooks', { method, headers: Object.fromEntries(headers), body: carried });
}

testVerifier('hookbox/fetch', async (options, next) => {
  const POST = webhookVerifier(options, async (delivery) => new Response(await next(delivery), { status: 202 }));
  return {
    async send(parts) {
      const response = await POST(requestOf(parts));
      return { status: response.status, headers: new Map(response.headers), body: await response.text() };
    },
    [Symbol.asyncDispose]: async () => {},
  };
});

describe('webhookVerifier of hookbox/fetch', () => {
  it('passes the request and all other arguments to the handler, and returns its answer', async () => {
    const given: unknown[] = [];
    const answer = new Response();
    const POST = webhookVerifier(VERIFYING, (delivery, env: object, context: object) => {
      given.push(delivery.request, env, context);
      return answer;
    });
    const beside = [{ SHOP: '7' }, { region: 'fra1' }] as const;
    const request = requestOf(signedEvent());

    expect(await POST(request, ...beside)).toBe(answer);

    for (const [at, expected] of [request, ...beside].entries()) expect(given[at]).toBe(expected);
  });

  it.each(FAILING)('answers 500 and says so in the log when the handler %s', async (_, handler) => {
    const { logger, lines } = recordedLog();

    const answer = await webhookVerifier({ ...VERIFYING, logger }, handler)(requestOf(signedEvent()));

    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'HANDLER_FAILED' } });
    expect(lines).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on', error: 'Error' } }]);
  });

  it('answers 503 at the deadline when the handler hangs, and has the host wait for it', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>();
    const POST = webhookVerifier(
      { ...VERIFYING, deadlineMs: 100 },
      (_delivery, _context: { waitUntil: typeof waitUntil }) => promise,
    );

    const answer = await POST(requestOf(signedEvent()), { waitUntil });

    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(waitUntil).toHaveBeenCalledOnce();
    resolve(new Response());
    await waitUntil.mock.calls[0]?.[0];
  });

  it('answers 500 to a request whose body was read before, and the handler is not called', async () => {
    const handler = vi.fn(() => new Response());
    const request = requestOf(signedEvent());
    await request.text();

    expect(await webhookVerifier(VERIFYING, handler)(request)).toMatchObject({ status: 500 });
    expect(handler).not.toHaveBeenCalled();
  });
});
