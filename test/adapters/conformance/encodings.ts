import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { expectAccepted, expectError } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { signed, signedEvent } from '../../helpers/signed-event.ts';
import { send } from '../wire.ts';
import { expectNothingStored } from './stored.ts';

const ENCODED: readonly (readonly [encoding: string, encode: (body: Uint8Array) => Uint8Array])[] = [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', (body) => body],
  ['identity, gzip', gzipSync],
  ['gzip, identity', gzipSync],
];

export const encodingCases: readonly HttpAdapterCase[] = [
  ...(ENCODED.map(([encoding, encode]) => ({
    name: `answers 415 to Content-Encoding: ${encoding}, whichever bytes were signed`,
    needs: ['encoded bodies'] as const,
    async run(open) {
      await using served = await open();
      const event = signedEvent();
      const encoded = encode(event.body);
      const announced = ['Content-Encoding', encoding] as const;

      const overPlain = await send(served.url, { body: encoded, headers: [...event.headers, announced] });
      const overEncoded = await send(served.url, { body: encoded, headers: [...signed(encoded).headers, announced] });

      for (const answer of [overPlain, overEncoded]) {
        expectError(answer, { status: 415, code: 'UNSUPPORTED_ENCODING' });
      }
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 415 when one of two Content-Encoding headers names an encoding',
    needs: ['encoded bodies'],
    async run(open) {
      await using served = await open();
      const { body, headers } = signedEvent();
      const twice = [
        ['Content-Encoding', 'identity'],
        ['content-encoding', 'gzip'],
      ] as const;

      const answer = await send(served.url, { body, headers: [...headers, ...twice] });

      expectError(answer, { status: 415, code: 'UNSUPPORTED_ENCODING' });
      await expectNothingStored(served);
    },
  },
  ...(['identity', 'Identity', ''].map((encoding) => ({
    name: `takes Content-Encoding: ${JSON.stringify(encoding)} for what it is, none`,
    async run(open) {
      await using served = await open();
      const { id, body, headers } = signedEvent();

      const answer = await send(served.url, { body, headers: [...headers, ['Content-Encoding', encoding]] });

      expectAccepted(answer, { id, duplicate: false });
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'decompresses nothing: gzip that nobody announced is verified as it is, and is no event',
    needs: ['bytes that are no text'],
    async run(open) {
      await using served = await open();
      const event = signedEvent();
      const zipped = gzipSync(event.body);
      const json = ['Content-Type', 'application/json'] as const;

      const overPlain = await send(served.url, { body: zipped, headers: [...event.headers, json] });
      const overZipped = await send(served.url, { body: zipped, headers: [...signed(zipped).headers, json] });

      expectError(overPlain, { status: 401, code: 'INVALID_SIGNATURE' });
      expect(overZipped).toMatchObject({ status: 400 });
      await expectNothingStored(served);
    },
  },
];
