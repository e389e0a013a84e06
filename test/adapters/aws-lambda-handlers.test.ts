import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { webhookVerifier, type FunctionContext, type HttpEvent, type HttpResult } from '../../adapters/aws-lambda.ts';
import { ConfigurationError, isKnown, type VerifiedDelivery, type VerifierOptions } from '../../src/index.ts';
import {
  expectAccepted,
  expectDuplicate,
  expectError,
  BODY_CONSUMED,
  HANDLER_FAILED,
  TIMEOUT,
  UNAVAILABLE,
  type ExpectedError,
} from './expected-answer.ts';
import {
  functionUrl,
  httpApiPayload2,
  loadBalancer,
  loadBalancerMultiValue,
  OTHER_EVENTS,
  restApi,
  type GatewayRequest,
} from './lambda-events.ts';
import { answerOf, asBase64, asText, deployed, Remaining } from './lambda-function.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { FAILING } from './verifier-conformance.ts';
import { SECRET, signedEvent, WELL_FORMED } from '../helpers/signed-event.ts';

/** Far from the deadline, which is 9 s. */
const AT_ONCE_MS = 2_000;

describe('the handlers of a function', () => {
  it('run before the answer, without start() and without a mode', async () => {
    const { call, ran, log, inbox } = deployed();
    const event = signedEvent();

    await call(functionUrl(asText(event)));

    expect(ran).toEqual([event.id]);
    expect(await inbox.list()).toMatchObject([{ state: 'processed' }]);
    expect(log).toEqual([]);
  });

  it("do not run with mode 'background'", async () => {
    const { call, ran, inbox } = deployed({ processing: { mode: 'background' } });
    const event = signedEvent();

    expectAccepted(answerOf(await call(functionUrl(asText(event)))), event);

    await delay(30);
    expect(ran).toEqual([]);
    expect(await inbox.list()).toMatchObject([{ state: 'pending' }]);
  });

  it('are run again for a delivery that is redelivered after a 500', async () => {
    let attempts = 0;
    const fails = async (): Promise<void> => {
      attempts += 1;
      if (attempts === 1) throw new Error('not yet');
    };
    const { call } = deployed({ handlers: { '*': fails } });
    const event = signedEvent();

    expectError(answerOf(await call(restApi(asText(event)))), HANDLER_FAILED);
    expectDuplicate(answerOf(await call(restApi(asText(event)))), event);
    expect(attempts).toBe(2);
  });

  it('have no longer than Lambda gives them: 503 before the time is up', async () => {
    const { call } = deployed({ handlers: { '*': () => delay(1_500) } });
    const began = performance.now();

    const answer = answerOf(await call(loadBalancer(asText(signedEvent())), new Remaining(900)));

    const took = performance.now() - began;
    expectError(answer, TIMEOUT);
    expect(took).toBeGreaterThan(200);
    expect(took).toBeLessThan(900);
  });

  it.each([499, 100, 0, -5])('are not begun with %i ms left: 503 at once', async (ms) => {
    const { call, ran } = deployed();
    const began = performance.now();

    const answer = answerOf(await call(restApi(asText(signedEvent())), new Remaining(ms)));

    expectError(answer, UNAVAILABLE);
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    expect(ran).toEqual([]);
  });

  it('have no longer than deadlineMs where Lambda gives more', async () => {
    const { call } = deployed({ deadlineMs: 200, handlers: { '*': () => delay(1_000) } });
    const began = performance.now();

    expect(await call(restApi(asText(signedEvent())), new Remaining(900_000))).toMatchObject({ statusCode: 503 });
    expect(performance.now() - began).toBeLessThan(900);
  });
});

const REFUSED: readonly (readonly [what: string, request: GatewayRequest, expected: ExpectedError])[] = [
  ...REFUSED_DELIVERIES.map(([what, parts, refusal]) => {
    const { method = 'POST', headers = [], body } = parts();
    return [what, { method, ...asText({ headers, body: body ?? new Uint8Array() }) }, refusal] as const;
  }),
  ['bad base64', { ...asText(signedEvent()), isBase64Encoded: true }, { status: 400, code: 'INVALID_BODY' }],
  ['one that middleware has parsed', { headers: [WELL_FORMED], body: { id: 'evt_1' } }, BODY_CONSUMED],
];

describe('webhookVerifier', () => {
  interface Verifying {
    readonly log: readonly LogLine[];
    readonly call: (event: object | null, context?: FunctionContext) => Promise<HttpResult>;
  }

  function verifying(
    passOn: (delivery: VerifiedDelivery, context: FunctionContext) => unknown,
    options: Partial<VerifierOptions> = {},
  ): Verifying {
    const { logger, lines } = recordedLog();
    const handler = webhookVerifier({ secret: SECRET, logger, ...options }, passOn);
    return { log: lines, call: async (event, context = {}) => handler(event as HttpEvent, context) };
  }

  it('answers 200 when the raw bytes and the typed event were passed on, and no sooner', async () => {
    const event = signedEvent({ note: 'é🥐' });
    const context = { getRemainingTimeInMillis: () => 3_000, functionName: 'orders' };
    const seen: { total?: number | null | undefined; body?: Uint8Array; context?: unknown; done?: true } = {};
    const { call } = verifying(async (delivery, given) => {
      if (isKnown(delivery.event) && delivery.event.type === 'order.created') seen.total = delivery.event.data.total;
      Object.assign(seen, { body: delivery.body, context: given });
      await delay(30);
      seen.done = true;
    });

    const result = await call(httpApiPayload2(asBase64(event)), context);

    expect(seen).toMatchObject({ total: 12.5, done: true });
    expect(Buffer.from(seen.body ?? []).equals(event.body)).toBe(true);
    expect(seen.context).toBe(context);
    expect(result).toEqual({
      statusCode: 200,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ received: true, id: event.id }),
      isBase64Encoded: false,
    });
  });

  it('passes on what was redelivered, and what fits no schema', async () => {
    const types: unknown[] = [];
    const { call } = verifying(({ event }) => types.push(event.type));
    const [event, invalid] = [signedEvent(), signedEvent({ data: { total: 'twelve' } })];

    for (const sent of [event, event, invalid]) {
      expect(await call(loadBalancerMultiValue(asText(sent)))).toMatchObject({ statusCode: 200 });
    }
    expect(types).toEqual(['order.created', 'order.created', null]);
  });

  it.each(FAILING)(
    'answers 500 when the handler %s, and the log tells why without the payload or the secret',
    async (_, passOn) => {
      const { call, log } = verifying(passOn);
      const event = signedEvent({ note: 'the customer is Ada' });

      expectError(answerOf(await call(restApi(asText(event)))), HANDLER_FAILED);

      expect(log).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on', error: 'Error' } }]);
      for (const secret of [SECRET, 'Ada', 'no queue', event.headers[0]?.[1] ?? ''])
        expect(JSON.stringify(log)).not.toContain(secret);
    },
  );

  it.each([
    ['never ends', () => new Promise<never>(() => {})],
    ['rejects later', () => delay(500).then(() => Promise.reject(new Error('too late to tell')))],
  ])('answers 503 before the time is up when passing on %s', async (_, passOn) => {
    const { call, log } = verifying(passOn);
    const began = performance.now();

    const answer = answerOf(await call(functionUrl(asText(signedEvent())), new Remaining(800)));

    expectError(answer, UNAVAILABLE);
    expect(performance.now() - began).toBeGreaterThan(200);
    expect(performance.now() - began).toBeLessThan(800);
    expect(log).toMatchObject([{ level: 'error', facts: { reason: 'not-passed-on-in-time' } }]);
    await delay(300); // an unhandled rejection would end the process
  });

  it.each(REFUSED)('answers %s itself, and nothing is passed on', async (_, request, expected) => {
    const passOn = vi.fn();
    const { call } = verifying(passOn, { maxBodyBytes: 1_000 });

    expectError(answerOf(await call(restApi(request))), expected);
    expect(passOn).not.toHaveBeenCalled();
  });

  it.each(OTHER_EVENTS)('rejects with a TypeError for %s', async (_, event) => {
    const passOn = vi.fn();

    await expect(verifying(passOn).call(event)).rejects.toThrow(TypeError);
    expect(passOn).not.toHaveBeenCalled();
  });

  it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', (secret) => {
    expect(() => webhookVerifier({ secret }, () => {})).toThrow(ConfigurationError);
  });
});
