import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { expectAccepted, expectError, BODY_TOO_LARGE, INVALID_SIGNATURE } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { signed, signedEvent, signedEventOfSize, WELL_FORMED } from '../../helpers/signed-event.ts';
import { chunk, chunkedBody, connect, LAST_CHUNK, requestBytes, requestHead, send } from '../wire.ts';
import { expectNothingStored, expectStored } from './stored.ts';

const MIB = 1024 * 1024;

const UNUSUAL: readonly (readonly [what: string, edit: (json: string) => string])[] = [
  ['a byte order mark before it', (json) => `\uFEFF${json}`],
  ['white space around and inside it', (json) => ` \r\n\t${json.replaceAll(',', ' ,\r\n  ')}\n\n`],
  ['numbers that JavaScript would write in another way', (json) => json.replace('12.5', '1.250e1')],
  ['characters escaped without need', (json) => json.replace('order.created', String.raw`\u006frder.created`)],
  [
    'keys named __proto__',
    (json) => json.replace('"data":{', '"__proto__":{"admin":true},"data":{"__proto__":{"x":1},'),
  ],
  ['emoji and characters outside the basic plane', (json) => json.replace('ord_1', 'ord_🥐𝒳é')],
  ['a lone surrogate in a field', (json) => json.replace('ord_1', String.raw`ord_\ud800`)],
  ['a key twice in its data', (json) => json.replace('"total":12.5', '"total":1,"total":2')],
  [
    'a thousand levels in its data',
    (json) => json.replace('"data":{', `"data":{"x":${'['.repeat(1e3)}${']'.repeat(1e3)},`),
  ],
];

export const bodyCases: readonly HttpAdapterCase[] = [
  {
    name: 'answers an empty body under the right signature 400, with a length or chunked',
    async run(served) {
      const refused = {
        status: 400,
        code: 'INVALID_BODY',
        details: [{ field: '', message: expect.any(String) }],
      } as const;

      expectError(await send(served.url, signed('')), refused);
      expectError(await send(served.url, { ...signed(''), framing: 'chunked' }), refused);
      expectError(await send(served.url, { ...signed(''), framing: 'none' }), refused);
    },
  },
  {
    name: 'answers an empty body without a signature 401',
    async run(served) {
      expectError(await send(served.url), INVALID_SIGNATURE);
    },
  },
  {
    name: 'reads a chunked body',
    async run(served) {
      const event = signedEvent();

      expectAccepted(await send(served.url, { ...event, framing: 'chunked' }), event);

      await expectStored(served, event);
    },
  },
  {
    name: 'reads a chunked body, a chunk for each byte',
    async run(served) {
      const event = signedEvent({ note: 'Crème brûlée 🍮' });
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, { ...event, framing: 'chunked' }));

      await connection.write(chunkedBody(Array.from(event.body, (byte) => Uint8Array.of(byte))));

      expectAccepted(await connection.answer(), event);
      await expectStored(served, event);
    },
  },
  {
    name: 'reads a chunked body with chunk extensions',
    needs: ['chunk extensions'],
    async run(served) {
      const event = signedEvent({ note: 'Crème brûlée 🍮' });
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, { ...event, framing: 'chunked' }));

      const chunks = Array.from(event.body, (byte) => [Buffer.from('1;name="v;\\"w"\r\n'), Buffer.of(byte), '\r\n']);
      await connection.write(Buffer.concat(chunks.flat().map((part) => Buffer.from(part))));
      await connection.write(LAST_CHUNK);

      expectAccepted(await connection.answer(), event);
      await expectStored(served, event);
    },
  },
  {
    name: 'reads a body that arrives byte by byte, each in a packet of its own',
    async run(served) {
      const event = signedEvent({ note: 'ñ' });
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, event));

      for (const byte of event.body) {
        await connection.write(Buffer.of(byte));
        await delay(0);
      }

      expectAccepted(await connection.answer(), event);
      await expectStored(served, event);
    },
  },
  ...((['content-length', 'chunked'] as const).map((framing) => ({
    name: `reads a body that is split inside a character (${framing})`,
    async run(served) {
      const event = signedEvent({ note: '🥐' });
      const split = Buffer.from(event.body).indexOf('🥐') + 2;
      const parts = [event.body.subarray(0, split), event.body.subarray(split)];
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, { ...event, framing }));

      for (const part of parts) {
        await connection.write(framing === 'chunked' ? chunk(part) : part);
        await delay(30);
      }
      if (framing === 'chunked') await connection.write(LAST_CHUNK);

      expectAccepted(await connection.answer(), event);
      await expectStored(served, event);
    },
  })) satisfies HttpAdapterCase[]),
  ...((['content-length', 'chunked'] as const).map((framing) => ({
    name: `takes a body of exactly 1 MiB, and not one byte more (${framing})`,
    needs: ['bodies over 1 MiB'] as const,
    async run(served) {
      const event = signedEventOfSize(MIB);
      expect(event.body.byteLength).toBe(1_048_576);

      const answer = await send(served.url, { ...signedEventOfSize(MIB + 1), framing });

      expectError(answer, BODY_TOO_LARGE);
      expectAccepted(await send(served.url, { ...event, framing }), event);
      await expectStored(served, event);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 413 before it verifies: what is too large is not hashed',
    setup: { maxBodyBytes: 100 },
    async run(served) {
      const answer = await send(served.url, { body: new Uint8Array(101), headers: [WELL_FORMED] });

      expectError(answer, BODY_TOO_LARGE);
    },
  },
  ...((['content-length', 'chunked'] as const).map((framing) => ({
    name: `answers 401 before 413 to a signature that is missing or malformed: nothing of the body is read (${framing})`,
    setup: { maxBodyBytes: 100 },
    async run(served) {
      for (const headers of [[], [['X-Signature', 'sha256=0']] as const]) {
        const answer = await send(served.url, { body: new Uint8Array(101), headers, framing });
        expectError(answer, INVALID_SIGNATURE);
      }
    },
  })) satisfies HttpAdapterCase[]),
  ...(UNUSUAL.map(([what, edit]) => ({
    name: `stores byte for byte a body with ${what}`,
    async run(served) {
      const { id, body } = signedEvent();
      const edited = signed(edit(Buffer.from(body).toString()));
      expect(Buffer.from(edited.body).equals(body)).toBe(false);

      expectAccepted(await send(served.url, edited), { id });

      await expectStored(served, { id, ...edited });
      expect(await served.tally()).toMatchObject({ prototypeKeys: [] });
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'stores an event with a key twice in its envelope as invalid',
    async run(served) {
      const { id, body } = signedEvent();
      const twice = signed(Buffer.from(body).toString().replace('"type"', '"type":"cart.abandoned","type"'));

      expectAccepted(await send(served.url, twice), { id });

      await expectStored(served, { id, ...twice });
      expect(await served.events()).toMatchObject([{ state: 'dead', deadReason: 'invalid' }]);
    },
  },
  ...([
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'nonsense',
  ].map((type) => ({
    name: `reads the body as bytes under Content-Type: ${type}`,
    async run(served) {
      const event = signedEvent({ note: 'a=1&b=%20+é' });

      const answer = await send(served.url, { ...event, headers: [...event.headers, ['Content-Type', type]] });

      expectAccepted(answer, event);
      await expectStored(served, event);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'is found with a query string, which says nothing to it',
    async run(served) {
      const event = signedEvent();

      const answer = await send(`${served.url}?endpoint=other&id=evt_0&a=%zz`, event);

      expectAccepted(answer, event);
      expect(await served.events()).toMatchObject([{ endpoint: 'default', id: event.id }]);
    },
  },
  {
    name: 'does not take a signature that comes after the body, in a trailer',
    async run(served) {
      const { body, headers } = signedEvent();
      const request = requestBytes(served.url, { body, headers: [['Trailer', 'X-Signature']], framing: 'chunked' });
      await using connection = await connect(served.url);

      await connection.write(request.subarray(0, -2));
      await connection.write(`X-Signature: ${headers[0]?.[1] ?? ''}\r\n\r\n`);

      expectError(await connection.answer(), INVALID_SIGNATURE);
      await expectNothingStored(served);
    },
  },
];
