import { expect } from 'vitest';
import {
  expectAccepted,
  expectDuplicate,
  expectError,
  BODY_TOO_LARGE,
  INVALID_SIGNATURE,
  METHOD_NOT_ALLOWED,
} from '../expected-answer.ts';
import type { HttpAdapterCase, Need } from '../http-adapter-case.ts';
import { signed, signedEvent, signedEventOfSize } from '../../helpers/signed-event.ts';
import { connect, requestBytes, requestHead, send, type RequestParts } from '../wire.ts';
import { base64, expectNothingStored } from './stored.ts';

const REFUSED: readonly (readonly [
  what: string,
  status: number,
  parts: () => RequestParts,
  needs?: readonly Need[],
])[] = [
  ['a missing signature', 401, () => ({ body: signedEvent().body })],
  ['a large body without a signature', 401, () => ({ body: signedEventOfSize(100_000).body }), ['kept connections']],
  [
    'a large, chunked body without a signature',
    401,
    () => ({ body: signedEventOfSize(100_000).body, framing: 'chunked' }),
    ['kept connections'],
  ],
  ['a wrong signature', 401, () => ({ body: signedEvent().body, headers: signedEvent().headers })],
  ['a chunked body under a wrong signature', 401, () => ({ body: signedEvent().body, framing: 'chunked' })],
  ['a body that is no event', 400, () => signed('[]')],
  ['an encoded body', 415, () => encoded(10)],
  ['an encoded, chunked body', 415, () => ({ ...encoded(10), framing: 'chunked' })],
  ['a large encoded body', 415, () => encoded(100_000), ['kept connections']],
  ['a large encoded, chunked body', 415, () => ({ ...encoded(100_000), framing: 'chunked' }), ['kept connections']],
  ['a GET', 405, () => ({ method: 'GET', framing: 'none' })],
  ['a PUT with a body', 405, () => ({ ...signedEvent(), method: 'PUT' })],
  ['a PUT with a chunked body', 405, () => ({ ...signedEvent(), method: 'PUT', framing: 'chunked' })],
];

function encoded(bytes: number): RequestParts {
  const { body, headers } = signed(new Uint8Array(bytes));
  return { body, headers: [...headers, ['Content-Encoding', 'gzip']] };
}

export const connectionCases: readonly HttpAdapterCase[] = [
  {
    name: 'serves one delivery after the other on one connection',
    async run(served) {
      await using connection = await connect(served.url);

      for (const event of Array.from({ length: 10 }, () => signedEvent())) {
        await connection.write(requestBytes(served.url, event));
        expectAccepted(await connection.answer(), event);
      }

      expect(await served.events()).toHaveLength(10);
    },
  },
  ...(REFUSED.map(([what, status, parts, needs = []]) => ({
    name: `serves the next delivery on the same connection after ${what} (${status})`,
    needs,
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestBytes(served.url, parts()));
      const refused = await connection.answer();
      await connection.write(requestBytes(served.url, event));

      expect(refused).toMatchObject({ status });
      expectAccepted(await connection.answer(), event);
      await connection.write(requestBytes(served.url, event));
      expectDuplicate(await connection.answer(), event);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers pipelined requests in their order, good and bad',
    needs: ['kept connections'],
    async run(served) {
      await using connection = await connect(served.url);
      const [first, second] = [signedEvent(), signedEvent()];
      const requests: readonly RequestParts[] = [
        first,
        { body: second.body },
        { ...signedEvent(), method: 'PUT' },
        { ...second, framing: 'chunked' },
        first,
      ];

      await connection.write(Buffer.concat(requests.map((parts) => requestBytes(served.url, parts))));

      expectAccepted(await connection.answer(), first);
      expectError(await connection.answer(), INVALID_SIGNATURE);
      expectError(await connection.answer(), METHOD_NOT_ALLOWED);
      expectAccepted(await connection.answer(), second);
      expectDuplicate(await connection.answer(), first);
      expect(await served.events()).toHaveLength(2);
    },
  },
  {
    name: 'stores one event of 64 that arrive at once under the same id, and calls 63 duplicates',
    async run(served) {
      const event = signedEvent();

      const answers = await Promise.all(Array.from({ length: 64 }, () => send(served.url, event)));

      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 64 }, () => 200));
      expect(answers.filter(({ body }) => body.includes('"duplicate":false'))).toHaveLength(1);
      expect(answers.filter(({ body }) => body.includes('"duplicate":true'))).toHaveLength(63);
      expect(await served.events()).toMatchObject([{ id: event.id, redeliveries: 63 }]);
    },
  },
  {
    name: 'keeps 64 different deliveries at once apart, whatever their size and framing',
    async run(served) {
      const events = Array.from({ length: 64 }, (_, n) => signedEventOfSize(500 + n * 3_001));

      const answers = await Promise.all(
        events.map((event, n) => send(served.url, { ...event, framing: n % 2 === 0 ? 'chunked' : 'content-length' })),
      );

      const stored = new Map((await served.events()).map(({ id, body }) => [id, body]));
      for (const [n, event] of events.entries()) {
        const answer = answers[n];
        if (answer !== undefined) expectAccepted(answer, event);
        expect(stored.get(event.id) === base64(event.body)).toBe(true);
      }
    },
  },
  {
    name: 'tells a client that waits for 100-continue to go on',
    needs: ['100-continue'],
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();
      const headers = [...event.headers, ['Expect', '100-continue']] as const;

      await connection.write(requestHead(served.url, { ...event, headers }));
      const interim = await connection.answer();
      await connection.write(event.body);

      expect(interim).toMatchObject({ status: 100 });
      expectAccepted(await connection.answer(), event);
    },
  },
  {
    name: 'answers a client that waits for 100-continue with too much to send, though it has not sent it',
    needs: ['bodies as they arrive'],
    setup: { maxBodyBytes: 100 },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();
      const headers = [...event.headers, ['Expect', '100-continue']] as const;

      await connection.write(requestHead(served.url, { ...event, headers }));

      // A server may say 100 before it calls the adapter.
      const [first, next] = [await connection.answer(), connection.answer()];
      const refused = first.status === 100 ? await next : first;
      next.catch(() => {});
      expectError(refused, BODY_TOO_LARGE);
      await expectNothingStored(served);
    },
  },
  {
    name: 'closes the connection after an answer when the client asks for it',
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(
        requestBytes(served.url, { ...event, headers: [...event.headers, ['Connection', 'close']] }),
      );

      expectAccepted(await connection.answer(), event);
      await connection.ended;
      await expect(connection.answer()).rejects.toThrow('the connection ended');
    },
  },
];
