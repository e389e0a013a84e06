import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier } from '../../adapters/fetch.ts';
import { ConfigurationError, isKnown } from '../../src/index.ts';
import { expectRefused, type ExpectedRefusal } from './expected-answer.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import {
  encodedDelivery,
  SECRET,
  signed,
  signedEvent,
  signedEventOfSize,
  type SignedDelivery,
} from '../helpers/signed-event.ts';

const options = { secret: SECRET, maxBodyBytes: 1_000, logger: recordedLog().logger };

function requestOf(
  { headers, body }: SignedDelivery,
  { method = 'POST', more = {} }: { method?: string; more?: Readonly<Record<string, string>> } = {},
): Request {
  const all = { ...Object.fromEntries(headers), ...more };
  const carried = method === 'GET' ? null : Buffer.from(body);
  return new Request('https://shop.example/webhooks', { method, headers: all, body: carried });
}

describe('webhookVerifier of hookbox/fetch', () => {
  it('hands the typed event, the bytes, the request and all that came beside it to the handler, and its answer back', async () => {
    const event = signedEvent({ note: 'é🥐' });
    const given: unknown[] = [];
    const answer = new Response('made by the merchant', { status: 202, headers: { 'X-Shop': '7' } });
    const POST = webhookVerifier(options, async (delivery, env: { SHOP: string }, context: { region: string }) => {
      const total = isKnown(delivery.event) && delivery.event.type === 'order.created' ? delivery.event.data.total : 0;
      given.push(total, Buffer.from(delivery.body), delivery.request, env, context);
      return answer;
    });
    const [request, env, context] = [requestOf(event), { SHOP: '7' }, { region: 'fra1' }];

    expect(await POST(request, env, context)).toBe(answer);

    expect(given).toEqual([12.5, Buffer.from(event.body), request, env, context]);
    expect(given[2]).toBe(request);
    expect(given[3]).toBe(env);
    expect(given[4]).toBe(context);
  });

  it('takes a handler that answers without a promise', async () => {
    const POST = webhookVerifier(options, ({ event }) => new Response(event.id));
    const event = signedEvent();

    expect(await (await POST(requestOf(event))).text()).toBe(event.id);
  });

  it('hands on each delivery, known or not, and what fits no schema with type null', async () => {
    const types: unknown[] = [];
    const POST = webhookVerifier(options, ({ event }) => {
      types.push(event.type);
      return new Response();
    });
    const again = signedEvent();

    for (const event of [
      again,
      again,
      signedEvent({ type: 'order.teleported' }),
      signedEvent({ data: { total: 'x' } }),
    ]) {
      expect(await POST(requestOf(event))).toMatchObject({ status: 200 });
    }
    expect(types).toEqual(['order.created', 'order.created', 'order.teleported', null]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no queue');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no queue'))],
  ])('answers 500 and says so in the log when the handler %s', async (_, handler) => {
    const { logger, lines } = recordedLog();

    const answer = await webhookVerifier({ ...options, logger }, handler)(requestOf(signedEvent()));

    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: 'HANDLER_FAILED' } });
    expect(lines).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on', error: 'Error' } }]);
  });

  it('answers 503 at the deadline when the handler hangs, and has the host wait for it', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>();
    const POST = webhookVerifier(
      { ...options, deadlineMs: 100 },
      (_delivery, _context: { waitUntil: typeof waitUntil }) => promise,
    );

    const answer = await POST(requestOf(signedEvent()), { waitUntil });

    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(waitUntil).toHaveBeenCalledOnce();
    resolve(new Response());
    await waitUntil.mock.calls[0]?.[0];
  });

  const refused: readonly (readonly [what: string, request: () => Request, expected: ExpectedRefusal])[] = [
    [
      'a forged request',
      () => requestOf({ ...signedEvent(), headers: signedEvent().headers }),
      { status: 401, code: 'INVALID_SIGNATURE' },
    ],
    ['an unsigned one', () => requestOf({ ...signedEvent(), headers: [] }), { status: 401, code: 'INVALID_SIGNATURE' }],
    [
      'one without an event',
      () => requestOf(signed('[]')),
      { status: 400, code: 'INVALID_BODY', details: [{ field: '', message: expect.any(String) as unknown }] },
    ],
    [
      'one over the limit',
      () => requestOf(signedEventOfSize(1_001)),
      { status: 413, code: 'BODY_TOO_LARGE', closes: true },
    ],
    ['an encoded one', () => requestOf(encodedDelivery()), { status: 415, code: 'UNSUPPORTED_ENCODING' }],
    ['a GET', () => requestOf(signedEvent(), { method: 'GET' }), { status: 405, code: 'METHOD_NOT_ALLOWED' }],
    ['a PUT', () => requestOf(signedEvent(), { method: 'PUT' }), { status: 405, code: 'METHOD_NOT_ALLOWED' }],
  ];

  it.each(refused)('answers %s itself, and the handler is not called', async (_, request, expected) => {
    const handler = vi.fn(() => new Response());

    const response = await webhookVerifier(options, handler)(request());

    const { status, headers } = response;
    expectRefused({ status, headers: new Map(headers), body: await response.text() }, expected);
    expect(handler).not.toHaveBeenCalled();
  });

  it('answers 500 to a request whose body was read before, and the handler is not called', async () => {
    const handler = vi.fn(() => new Response());
    const request = requestOf(signedEvent());
    await request.text();

    expect(await webhookVerifier(options, handler)(request)).toMatchObject({ status: 500 });
    expect(handler).not.toHaveBeenCalled();
  });

  it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', (secret) => {
    expect(() => webhookVerifier({ secret }, () => new Response())).toThrow(ConfigurationError);
  });
});
