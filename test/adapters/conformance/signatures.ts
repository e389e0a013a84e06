import { expect } from 'vitest';
import { signBody } from '../../../src/index.ts';
import { expectAccepted, expectRefused } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { SECRET, signed, signedEvent } from '../signed-event.ts';
import { send, type RequestParts } from '../wire.ts';

type HeadersFor = (signature: string) => NonNullable<RequestParts['headers']>;

/** Ways to send the right signature that HTTP says are the same. */
const RIGHT: readonly (readonly [how: string, headers: HeadersFor])[] = [
  ['under its name in lower case', (right) => [['x-signature', right]]],
  ['under its name in upper case', (right) => [['X-SIGNATURE', right]]],
  ['under its name in mixed case', (right) => [['x-SiGnAtUrE', right]]],
  ['with spaces and a tab around it', (right) => [['X-Signature', `  \t${right} \t `]]],
  [
    'among other headers',
    (right) => [
      ['Authorization', 'k'],
      ['X-Signature', right],
      ['X-Signature-2', 'x'],
    ],
  ],
];

const WRONG: readonly (readonly [how: string, headers: HeadersFor])[] = [
  [
    'is there twice',
    (right) => [
      ['X-Signature', right],
      ['X-Signature', right],
    ],
  ],
  [
    'is there twice under names in different case',
    (right) => [
      ['X-Signature', right],
      ['x-signature', right],
    ],
  ],
  [
    'comes before a wrong one',
    (right) => [
      ['X-Signature', right],
      ['X-Signature', '0'.repeat(64)],
    ],
  ],
  [
    'comes after a wrong one',
    (right) => [
      ['X-Signature', '0'.repeat(64)],
      ['X-Signature', right],
    ],
  ],
  [
    'is followed by an empty one',
    (right) => [
      ['X-Signature', right],
      ['X-Signature', ''],
    ],
  ],
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
  ...(RIGHT.map(([how, headers]) => ({
    name: `accepts the right signature ${how}`,
    async run(open) {
      await using served = await open();
      const { id, body } = signedEvent();

      const answer = await send(served.url, { body, headers: headers(signBody(body, SECRET)) });

      expectAccepted(answer, { id, duplicate: false });
    },
  })) satisfies HttpAdapterCase[]),
  ...(WRONG.map(([how, headers]) => ({
    name: `answers 401 when the right signature ${how}`,
    async run(open) {
      await using served = await open();
      // Its signature has both letters and digits, or upper case would change nothing.
      const { body } = signedEvent();
      expect(signBody(body, SECRET)).toMatch(/[a-f]/);

      const answer = await send(served.url, { body, headers: headers(signBody(body, SECRET)) });

      expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
      expect(await served.inbox.list()).toEqual([]);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 401 to a signature under a secret that is not ours',
    async run(open) {
      await using served = await open();
      const { body } = signedEvent();

      const answer = await send(served.url, { body, headers: [['X-Signature', signBody(body, 'not ours')]] });

      expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
    },
  },
  {
    name: 'accepts the signature under either secret of a rotation',
    async run(open) {
      await using served = await open({ secret: ['new', SECRET] });
      const old = signedEvent();
      const fresh = signedEvent();

      const underNew = await send(served.url, { ...fresh, headers: [['X-Signature', signBody(fresh.body, 'new')]] });

      expectAccepted(await send(served.url, old), { id: old.id, duplicate: false });
      expectAccepted(underNew, { id: fresh.id, duplicate: false });
    },
  },
  {
    name: 'verifies the bytes before it decodes them: a body that is not UTF-8 is 400 under the right signature, never 401',
    async run(open) {
      await using served = await open();
      const body = Buffer.from('{"id":"evt_1","note":"\xff\xfe"}', 'latin1');

      const answer = await send(served.url, signed(body));

      const details = [{ field: '', message: expect.stringContaining('UTF-8') as unknown }];
      expectRefused(answer, { status: 400, code: 'INVALID_BODY', details });
    },
  },
  {
    name: 'verifies before it parses: a body that is no event is 401 under a wrong signature, and nothing is said of it',
    async run(open) {
      await using served = await open();

      const answer = await send(served.url, { body: Buffer.from('{'), headers: [['X-Signature', '0'.repeat(64)]] });

      expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
    },
  },
  {
    name: 'verifies what was sent, not what it means: the same JSON with another space is 401',
    async run(open) {
      await using served = await open();
      const { body, headers } = signedEvent();
      const spaced = Buffer.from(`${Buffer.from(body).toString()} `);

      const answer = await send(served.url, { body: spaced, headers });

      expectRefused(answer, { status: 401, code: 'INVALID_SIGNATURE' });
      expect(await served.inbox.list()).toEqual([]);
    },
  },
];
