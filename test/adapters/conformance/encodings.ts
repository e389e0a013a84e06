import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { expectAccepted, expectError, INVALID_SIGNATURE, UNSUPPORTED_ENCODING } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { signed, signedEvent } from '../../helpers/signed-event.ts';
import { send } from '../wire.ts';
import { expectNothingStored } from './stored.ts';

const ENCODED: readonly (readonly [encoding: string, encode: (body: Uint8Array) => Uint8Array])[] = [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['identity, gzip', gzipSync],
  ['gzip, identity', gzipSync],
];

export const encodingCases: readonly HttpAdapterCase[] = [
  ...(ENCODED.map(([encoding, encode]) => ({
    name: `answers 401 or 415 to a body with Content-Encoding: ${encoding}, by which bytes were signed`,
    needs: ['encoded bodies', 'bytes that are no text'] as const,
    async run(served) {
      const event = signedEvent();
      const encoded = encode(event.body);
      const announced = ['Content-Encoding', encoding] as const;

      const overPlain = await send(served.url, { body: encoded, headers: [...event.headers, announced] });
      const overEncoded = await send(served.url, { body: encoded, headers: [...signed(encoded).headers, announced] });

      expectError(overPlain, INVALID_SIGNATURE);
      expectError(overEncoded, UNSUPPORTED_ENCODING);
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  ...(['utf-8', 'UTF8', 'gzip', 'identity, gzip', 'none', 'aws-chunked'].map((encoding) => ({
    name: `stores what is authentic and parses, though it says Content-Encoding: ${encoding}`,
    needs: ['encoded bodies'] as const,
    async run(served) {
      const { id, body, headers } = signedEvent();

      const answer = await send(served.url, { body, headers: [...headers, ['Content-Encoding', encoding]] });

      expectAccepted(answer, { id });
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'verifies a byte order mark with the rest of the body',
    async run(served) {
      const { body, headers } = signedEvent();
      const marked = Buffer.concat([Buffer.from('\uFEFF'), body]);

      for (const delivery of [
        { body: marked, headers },
        { body, headers: signed(marked).headers },
      ]) {
        expectError(await send(served.url, delivery), INVALID_SIGNATURE);
      }
      await expectNothingStored(served);
    },
  },
  ...(['identity', 'Identity', ''].map((encoding) => ({
    name: `takes Content-Encoding: ${JSON.stringify(encoding)} for what it is, none`,
    async run(served) {
      const { id, body, headers } = signedEvent();

      const answer = await send(served.url, { body, headers: [...headers, ['Content-Encoding', encoding]] });

      expectAccepted(answer, { id });
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'decompresses nothing: gzip that nobody announced is verified as it is, and is no event',
    needs: ['bytes that are no text'],
    async run(served) {
      const event = signedEvent();
      const zipped = gzipSync(event.body);
      const json = ['Content-Type', 'application/json'] as const;

      const overPlain = await send(served.url, { body: zipped, headers: [...event.headers, json] });
      const overZipped = await send(served.url, { body: zipped, headers: [...signed(zipped).headers, json] });

      expectError(overPlain, INVALID_SIGNATURE);
      expect(overZipped).toMatchObject({ status: 400 });
      await expectNothingStored(served);
    },
  },
];
