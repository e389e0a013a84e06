import { expect } from 'vitest';
import { signBody } from '../../../src/index.ts';
import { expectAccepted, expectError, INVALID_SIGNATURE } from '../expected-answer.ts';
import type { HttpAdapterCase, Need } from '../http-adapter-case.ts';
import { SECRET, signed, signedEvent } from '../../helpers/signed-event.ts';
import { send, type RequestParts } from '../wire.ts';
import { expectNothingStored } from './stored.ts';

type HeadersFor = (signature: string) => NonNullable<RequestParts['headers']>;

const RIGHT: readonly (readonly [how: string, headers: HeadersFor, needs?: readonly Need[]])[] = [
  ['under its name in lower case', (right) => [['x-signature', right]]],
  ['under its name in upper case', (right) => [['X-SIGNATURE', right]]],
  ['under its name in mixed case', (right) => [['x-SiGnAtUrE', right]]],
  ['after spaces and a tab', (right) => [['X-Signature', `  \t${right}`]]],
  ['before spaces and a tab', (right) => [['X-Signature', `${right} \t `]], ['trimmed headers']],
  [
    'among other headers',
    (right) => [
      ['Authorization', 'k'],
      ['X-Signature', right],
      ['X-Signature-2', 'x'],
    ],
  ],
];

const TOGETHER: readonly (readonly [how: string, headers: HeadersFor, needs?: readonly Need[]])[] = [
  ['is there twice', (right) => both(right, right), ['all values of a header']],
  [
    'is there twice under names in different case',
    (right) => [
      ['X-Signature', right],
      ['x-signature', right],
    ],
    ['all values of a header'],
  ],
  ['comes after a wrong one', (right) => both('0'.repeat(64), right), ['all values of a header']],
  ['comes before a wrong one', (right) => both(right, '0'.repeat(64))],
  ['is followed by an empty one', (right) => both(right, '')],
];

function both(first: string, second: string): NonNullable<RequestParts['headers']> {
  return [
    ['X-Signature', first],
    ['X-Signature', second],
  ];
}

const WRONG: typeof TOGETHER = [
  ['is in upper case', (right) => [['X-Signature', right.toUpperCase()]]],
  ['has one digit in upper case', (right) => [['X-Signature', right.replace(/[a-f]/, (digit) => digit.toUpperCase())]]],
  ['lacks its last digit', (right) => [['X-Signature', right.slice(0, -1)]]],
  ['has a digit too many', (right) => [['X-Signature', `${right}0`]]],
  ['ends in a letter that is no digit', (right) => [['X-Signature', `${right.slice(0, -1)}g`]]],
  ['has a prefix', (right) => [['X-Signature', `sha256=${right}`]]],
  ['is in quotes', (right) => [['X-Signature', `"${right}"`]]],
  ['is cut in two by a space', (right) => [['X-Signature', `${right.slice(0, 32)} ${right.slice(32)}`]]],
  ['is in base64', (right) => [['X-Signature', Buffer.from(right, 'hex').toString('base64')]]],
  ['is empty', () => [['X-Signature', '']]],
  ['is 8,000 characters long', () => [['X-Signature', 'a'.repeat(8_000)]]],
  ['has bytes beyond ASCII', (right) => [['X-Signature', `${right.slice(0, -1)}\xe9`]]],
  ['has another name', (right) => [['X-Signature-256', right]]],
];

export const signatureCases: readonly HttpAdapterCase[] = [
  ...(RIGHT.map(([how, headers, needs = []]) => ({
    name: `accepts the right signature ${how}`,
    needs,
    async run(served) {
      const { id, body } = signedEvent();

      const answer = await send(served.url, { body, headers: headers(signBody(body, SECRET)) });

      expectAccepted(answer, { id });
    },
  })) satisfies HttpAdapterCase[]),
  ...([...TOGETHER, ...WRONG].map(([how, headers, needs = []]) => ({
    name: `answers 401 when the right signature ${how}`,
    needs,
    async run(served) {
      // Upper case would change nothing of a signature without letters.
      const { body } = signedEvent();
      expect(signBody(body, SECRET)).toMatch(/[a-f]/);

      const answer = await send(served.url, { body, headers: headers(signBody(body, SECRET)) });

      expectError(answer, INVALID_SIGNATURE);
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 401 to a signature under a secret that is not ours',
    async run(served) {
      const { body } = signedEvent();

      const answer = await send(served.url, { body, headers: [['X-Signature', signBody(body, 'not ours')]] });

      expectError(answer, INVALID_SIGNATURE);
    },
  },
  {
    name: 'accepts the signature under either secret of a rotation',
    setup: { secret: ['new', SECRET] },
    async run(served) {
      const old = signedEvent();
      const fresh = signedEvent();

      const underNew = await send(served.url, { ...fresh, headers: [['X-Signature', signBody(fresh.body, 'new')]] });

      expectAccepted(await send(served.url, old), old);
      expectAccepted(underNew, fresh);
    },
  },
  {
    name: 'verifies the bytes before it decodes them: a body that is not UTF-8 is 400 under the right signature, never 401',
    needs: ['bytes that are no text'],
    async run(served) {
      const { body, headers } = signed(Buffer.from('{"id":"evt_1","note":"\xff\xfe"}', 'latin1'));

      const answer = await send(served.url, { body, headers: [...headers, ['Content-Type', 'application/json']] });

      const details = [{ field: '', message: expect.stringContaining('UTF-8') as unknown }];
      expectError(answer, { status: 400, code: 'INVALID_BODY', details });
    },
  },
  {
    name: 'verifies before it parses: a body that is no event is 401 under a wrong signature, and nothing is said of it',
    async run(served) {
      const answer = await send(served.url, { body: Buffer.from('{'), headers: [['X-Signature', '0'.repeat(64)]] });

      expectError(answer, INVALID_SIGNATURE);
    },
  },
  {
    name: 'verifies what was sent, not what it means: the same JSON with another space is 401',
    async run(served) {
      const { body, headers } = signedEvent();
      const spaced = Buffer.from(`${Buffer.from(body).toString()} `);

      const answer = await send(served.url, { body: spaced, headers });

      expectError(answer, INVALID_SIGNATURE);
      await expectNothingStored(served);
    },
  },
];
