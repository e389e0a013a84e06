import { expect } from 'vitest';
import {
  expectAccepted,
  expectDuplicate,
  expectError,
  BODY_CONSUMED,
  BODY_TOO_LARGE,
  INVALID_SIGNATURE,
  METHOD_NOT_ALLOWED,
  UNSUPPORTED_ENCODING,
} from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { encodedDelivery, SECRET, signed, signedEvent, signedEventOfSize } from '../../helpers/signed-event.ts';
import { send, type RequestParts } from '../wire.ts';
import { base64, expectNothingStored, expectStored } from './stored.ts';

const NO_EVENTS: readonly (readonly [what: string, body: string, field: string])[] = [
  ['not JSON', '{"id":"evt_1"', ''],
  ['an array', '[{"id":"evt_1"}]', ''],
  ['a string', '"evt_1"', ''],
  ['null', 'null', ''],
  ['without an id', '{"type":"order.created"}', 'id'],
  ['with a number for an id', '{"id":1}', 'id'],
  ['with an empty id', '{"id":""}', 'id'],
  ['with an id of 256 characters', JSON.stringify({ id: 'x'.repeat(256) }), 'id'],
  ['with a lone surrogate in its id', String.raw`{"id":"evt_\ud800"}`, 'id'],
];

/** The answers of docs/answers.md, and what the inbox holds afterwards. */
export const answerCases: readonly HttpAdapterCase[] = [
  {
    name: 'answers a new event 200 once its exact bytes are stored',
    async run(served) {
      const event = signedEvent();

      expectAccepted(await send(served.url, event), event);

      await expectStored(served, event);
      expect(await served.events()).toMatchObject([
        { endpoint: 'default', state: 'pending', type: 'order.created', verified: true },
      ]);
      expect(await served.log()).toEqual([]);
    },
  },
  {
    name: 'answers the same event again 200 as a duplicate and stores nothing more',
    async run(served) {
      const event = signedEvent();
      await send(served.url, event);

      expectDuplicate(await send(served.url, event), event);

      expect(await served.events()).toMatchObject([{ id: event.id, redeliveries: 1, conflict: null }]);
    },
  },
  {
    name: 'answers other bytes under a known id 200 as a duplicate; the first bytes win',
    async run(served) {
      const first = signedEvent({ note: 'first' });
      const other = signed(Buffer.from(first.body).toString().replace('first', 'other'));
      await send(served.url, first);

      expectDuplicate(await send(served.url, other), first);

      await expectStored(served, first);
      expect(await served.events()).toMatchObject([{ conflict: base64(other.body) }]);
    },
  },
  {
    name: 'answers an event of an unknown type 200 and stores it',
    async run(served) {
      const event = signedEvent({ type: 'order.teleported' });

      expectAccepted(await send(served.url, event), event);

      expect(await served.events()).toMatchObject([{ id: event.id, type: 'order.teleported', state: 'pending' }]);
    },
  },
  {
    name: 'answers an invalid event with a usable id 200 and stores it as dead',
    async run(served) {
      const event = signedEvent({ data: { total: 'twelve' } });

      expectAccepted(await send(served.url, event), event);

      expect(await served.events()).toMatchObject([{ id: event.id, state: 'dead', deadReason: 'invalid' }]);
    },
  },
  {
    name: 'answers 401 INVALID_SIGNATURE without a signature',
    async run(served) {
      const answer = await send(served.url, { body: signedEvent().body });

      expectError(answer, INVALID_SIGNATURE);
      await expectNothingStored(served);
    },
  },
  {
    name: 'answers 401 INVALID_SIGNATURE to the signature of another body, without repeating what it got',
    async run(served) {
      const { headers } = signedEvent();
      const { id, body } = signedEvent();

      const answer = await send(served.url, { headers, body });

      expectError(answer, INVALID_SIGNATURE);
      const log = JSON.stringify(await served.log());
      for (const secret of [SECRET, headers[0]?.[1] ?? '', id]) {
        expect(answer.body).not.toContain(secret);
        expect(log).not.toContain(secret);
      }
      await expectNothingStored(served);
    },
  },
  ...(NO_EVENTS.map(([what, body, field]) => ({
    name: `answers 400 INVALID_BODY to an authentic body that is no event: ${what}`,
    async run(served) {
      const answer = await send(served.url, signed(body));

      const details = [{ field, message: expect.any(String) as unknown }];
      expectError(answer, { status: 400, code: 'INVALID_BODY', details });
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 413 BODY_TOO_LARGE to one byte more than maxBodyBytes',
    setup: { maxBodyBytes: 500 },
    async run(served) {
      const fits = signedEventOfSize(500);

      const answer = await send(served.url, signedEventOfSize(501));

      expectError(answer, BODY_TOO_LARGE);
      expectAccepted(await send(served.url, fits), fits);
      await expectStored(served, fits);
    },
  },
  {
    name: 'answers 415 UNSUPPORTED_ENCODING to an encoded body',
    needs: ['encoded bodies'],
    async run(served) {
      const answer = await send(served.url, encodedDelivery());

      expectError(answer, UNSUPPORTED_ENCODING);
      await expectNothingStored(served);
    },
  },
  ...(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => ({
    name: `answers 405 METHOD_NOT_ALLOWED with Allow: POST to an authentic ${method}`,
    async run(served) {
      const parts: RequestParts = { ...signedEvent(), method };

      const answer = await send(served.url, parts);

      expectError(answer, METHOD_NOT_ALLOWED);
      expect(answer.headers.get('allow')).toBe('POST');
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 405 with Allow: POST and no body to HEAD',
    async run(served) {
      const answer = await send(served.url, { method: 'HEAD', framing: 'none' });

      expect(answer).toMatchObject({ status: 405, body: '' });
      expect(answer.headers.get('allow')).toBe('POST');
    },
  },
  {
    name: 'answers 500 BODY_CONSUMED, and the log names the fix, when something has read the raw body before',
    setup: { bodyReadBefore: true },
    async run(served) {
      const { body, headers } = signedEvent();

      const answer = await send(served.url, { body, headers: [...headers, ['Content-Type', 'application/json']] });

      expectError(answer, BODY_CONSUMED);
      expect(await served.log()).toMatchObject([{ level: 'error', facts: { reason: 'body-consumed', status: 500 } }]);
      await expectNothingStored(served);
    },
  },
  {
    name: 'names the request id of an error answer in the log',
    async run(served) {
      const answer = await send(served.url, { body: signedEvent().body });

      const [line, ...others] = await served.log();
      expect(others).toEqual([]);
      expect(line).toMatchObject({ level: 'warn', facts: { reason: 'signature-missing', status: 401 } });
      expect(JSON.parse(answer.body)).toMatchObject({ error: { request_id: line?.facts['requestId'] } });
    },
  },
  {
    name: 'gives every error answer a request id of its own',
    async run(served) {
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(served.url, signed('[]'))));

      expect(new Set(answers.map(({ body }) => body)).size).toBe(5);
    },
  },
  {
    name: 'takes unsigned deliveries where the merchant has said unsafeUnsigned, and stores them as unverified',
    setup: { unsafeUnsigned: true },
    async run(served) {
      const { id, body } = signedEvent();

      expectAccepted(await send(served.url, { body }), { id });

      expect(await served.events()).toMatchObject([{ id, verified: false }]);
    },
  },
];
