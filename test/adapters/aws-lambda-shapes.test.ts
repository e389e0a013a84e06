/** aws-lambda.test.ts runs the suite behind these gateways. */
import { describe, expect, it } from 'vitest';
import {
  expectAccepted,
  expectDuplicate,
  expectError,
  BODY_CONSUMED,
  BODY_TOO_LARGE,
  INVALID_SIGNATURE,
} from './expected-answer.ts';
import {
  functionUrl,
  httpApiPayload1,
  httpApiPayload2,
  loadBalancer,
  loadBalancerMultiValue,
  OTHER_EVENTS,
  restApi,
  type Gateway,
} from './lambda-events.ts';
import { answerOf, asBase64, asText, deployed } from './lambda-function.ts';
import { signed, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';

const GATEWAYS: readonly (readonly [name: string, gateway: Gateway])[] = [
  ['a REST API', restApi],
  ['an HTTP API with payload format 1.0', httpApiPayload1],
  ['an HTTP API with payload format 2.0', httpApiPayload2],
  ['a function URL', functionUrl],
  ['a load balancer', loadBalancer],
  ['a load balancer with multi-value headers', loadBalancerMultiValue],
];
const ENCODINGS = [
  ['text', asText],
  ['base64', asBase64],
] as const;

describe.each(GATEWAYS)('hookbox/aws-lambda behind %s', (name, gateway) => {
  it.each(ENCODINGS)('stores a body that comes as %s, and knows its duplicate', async (_, as) => {
    const { call, inbox, ran } = deployed();
    const event = signedEvent({ note: 'Crème brûlée für 東京 🥐' });

    expectAccepted(answerOf(await call(gateway(as(event)))), event);
    expectDuplicate(answerOf(await call(gateway(as(event)))), event);

    const [stored, ...others] = await inbox.list();
    expect(others).toEqual([]);
    expect(Buffer.from(stored?.body ?? []).equals(event.body)).toBe(true);
    expect(ran).toEqual([event.id]);
  });

  it('answers in the shape that is expected there, and leaves the connection alone', async () => {
    const { call } = deployed({ maxBodyBytes: 1_000 });

    const results = [await call(gateway(asText(signedEvent()))), await call(gateway(asText(signedEventOfSize(1_001))))];

    const balancer = name.includes('load balancer');
    const multi = name.includes('multi-value');
    const descriptions = ['200 OK', '413 Payload Too Large'];
    expect(results).toEqual(
      results.map(({ statusCode, body }, at) => ({
        statusCode,
        body,
        isBase64Encoded: false,
        ...(balancer && { statusDescription: descriptions[at] }),
        ...(multi
          ? { multiValueHeaders: { 'Content-Type': ['application/json'] } }
          : { headers: { 'Content-Type': 'application/json' } }),
      })),
    );
    expect(results.map(({ statusCode }) => statusCode)).toEqual([200, 413]);
  });

  it('answers 401 at once to base64 without the flag', async () => {
    const request = { ...asBase64(signedEvent()), isBase64Encoded: false };

    expectError(answerOf(await deployed().call(gateway(request))), INVALID_SIGNATURE);
  });

  it.each([null, undefined])('takes a body that is %s for an empty one', async (body) => {
    const { call } = deployed();

    expect(await call(gateway({ headers: signed('').headers, body }))).toMatchObject({ statusCode: 400 });
    expect(await call(gateway({ headers: signedEvent().headers, body }))).toMatchObject({ statusCode: 401 });
  });

  it('answers 500 where middleware has parsed the body, and the log names the fix', async () => {
    const { call, log, inbox } = deployed();
    const event = signedEvent();
    const parsed: unknown = JSON.parse(Buffer.from(event.body).toString());

    const answer = answerOf(await call(gateway({ headers: event.headers, body: parsed })));

    expectError(answer, BODY_CONSUMED);
    expect(log).toMatchObject([
      { level: 'error', message: expect.stringContaining('Run hookbox before that middleware') as unknown },
    ]);
    expect(await inbox.list()).toEqual([]);
  });
});

describe('a signature that comes twice', () => {
  const { body, headers } = signedEvent();
  const text = Buffer.from(body).toString();
  const value = headers[0]?.[1] ?? '';
  const twice: readonly (readonly [how: string, event: object])[] = [
    ...GATEWAYS.filter(([name]) => name !== 'a load balancer').map(
      ([name, gateway]) => [`in ${name}`, gateway({ headers: [...headers, ...headers], body: text })] as const,
    ),
    [
      'in two cases',
      { ...httpApiPayload2({ headers: [], body: text }), headers: { 'X-Signature': value, 'x-signature': value } },
    ],
    [
      'in two cases of multi-value headers',
      {
        ...restApi({ headers: [], body: text }),
        multiValueHeaders: { 'X-Signature': [value], 'x-signature': [value] },
      },
    ],
  ];

  it.each(twice)('is answered 401: %s', async (_, event) => {
    expectError(answerOf(await deployed().call(event)), INVALID_SIGNATURE);
  });
});

describe('a body that is flagged as base64', () => {
  // 500 bytes: two padding signs, and four bits before them that mean nothing.
  const { id, body } = signedEvent({ note: '>>>???>>>???>>>', padding: 'x'.repeat(10) });
  const odd = Buffer.concat([body, Buffer.alloc((4 - (body.byteLength % 3)) % 3, ' ')]);
  const event = { id, ...signed(odd) };
  const good = odd.toString('base64');
  const broken: readonly (readonly [how: string, text: string])[] = [
    ['has a character outside of the alphabet', good.replace('e', '*')],
    ['has a character too many', `A${good}`],
    ['has lost its padding', good.replace('==', '')],
    ['has lost half of its padding', good.replace('==', '=')],
    ['goes on after its padding', `${good}${good}`],
    ['is base64url', good.replaceAll('+', '-').replaceAll('/', '_')],
    ['has line breaks', good.replaceAll(/.{76}/g, '$&\n')],
    ['ends with a line break', `${good}\n`],
    ['begins with a blank', ` ${good}`],
    ['has bits after its last byte', good.replace(/.==$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`)],
    ['is the text itself', odd.toString()],
    ['is a data URL', `data:application/json;base64,${good}`],
  ];

  it('is taken when it is base64', async () => {
    expect(odd.byteLength % 3).toBe(1);
    expect(good).toMatch(/[+/].*==$/);

    const result = await deployed().call(
      httpApiPayload2({ headers: event.headers, body: good, isBase64Encoded: true }),
    );

    expectAccepted(answerOf(result), { id });
  });

  it.each(broken)('is answered 400 when it %s: a 401 would blame the sender', async (_, text) => {
    const { call, log, inbox } = deployed();
    expect(text).not.toBe(good);

    const answer = answerOf(await call(httpApiPayload2({ headers: event.headers, body: text, isBase64Encoded: true })));

    expectError(answer, { status: 400, code: 'INVALID_BODY' });
    expect(log).toMatchObject([{ level: 'warn', facts: { reason: 'body-not-base64' } }]);
    expect(await inbox.list()).toEqual([]);
  });
});

it('counts bytes, not characters', async () => {
  const { call } = deployed({ maxBodyBytes: 1_000 });
  const event = signedEvent({ note: '東'.repeat(300) });

  expect(Buffer.from(event.body).toString().length).toBeLessThan(1_000);
  expectError(answerOf(await call(restApi(asText(event)))), BODY_TOO_LARGE);
});

describe('headers that are not there', () => {
  it.each([
    ['null, as in a test from the console', { headers: null, multiValueHeaders: null }],
    ['undefined', { headers: undefined, multiValueHeaders: undefined }],
    ['empty', { headers: {}, multiValueHeaders: {} }],
  ])('are answered 401: %s', async (_, headers) => {
    const event = { ...restApi(asText(signedEvent())), ...headers };

    expectError(answerOf(await deployed().call(event)), INVALID_SIGNATURE);
  });

  it('may be missing from the multi-value ones, which a local gateway leaves empty', async () => {
    const event = signedEvent();

    const result = await deployed().call({ ...restApi(asText(event)), multiValueHeaders: {} });

    expectAccepted(answerOf(result), event);
  });
});

describe.each(OTHER_EVENTS)('an event that is no HTTP request: %s', (_, event) => {
  it('rejects with a TypeError that says which trigger the function needs', async () => {
    const { call, inbox } = deployed();

    const rejected: unknown = await call(event).catch((failure: unknown) => failure);

    expect(rejected).toBeInstanceOf(TypeError);
    expect(String(rejected)).toMatch(/API Gateway trigger, a function URL or a load balancer/);
    expect(await inbox.list()).toEqual([]);
  });
});
