import { expect } from 'vitest';
import { expectError, saysClose, UNAVAILABLE, type ExpectedError } from '../expected-answer.ts';
import type { HttpAdapterCase, Served } from '../http-adapter-case.ts';
import type { ReceiverSetup } from '../receiver-setup.ts';
import { encodedDelivery, signed, signedEvent } from '../../helpers/signed-event.ts';
import { connect, requestBytes, requestHead, send, type Connection, type RequestParts } from '../wire.ts';

const KEEPING: readonly (readonly [what: string, status: number, parts: () => RequestParts])[] = [
  ['a stored event', 200, signedEvent],
  ['a missing signature', 401, () => ({ body: signedEvent().body })],
  ['a body that is no event', 400, () => signed('[]')],
  ['an encoded body', 415, () => encodedDelivery()],
  ['a GET', 405, () => ({ method: 'GET', framing: 'none' })],
];

/** Longer than the linger time, and shorter than servers keep an idle connection. */
const LET_GO_MS = 4_500;

const ENDING: readonly (readonly [
  what: string,
  setup: ReceiverSetup,
  begin: (served: Served) => Promise<Connection>,
  expected: ExpectedError,
])[] = [
  [
    'a body over the limit',
    { maxBodyBytes: 10 },
    (served) => begun(served, (url) => requestBytes(url, signed('{"id":"evt_1"}'))),
    { status: 413, code: 'BODY_TOO_LARGE' },
  ],
  [
    'a body that stops',
    { deadlineMs: 400 },
    (served) => begun(served, (url) => requestHead(url, signedEvent())),
    UNAVAILABLE,
  ],
  [
    'a delivery while the receiver is closing',
    {},
    async (served) => {
      await served.closeReceiver();
      return begun(served, (url) => requestBytes(url, signedEvent()));
    },
    UNAVAILABLE,
  ],
];

async function begun({ url }: Served, bytes: (url: string) => Uint8Array): Promise<Connection> {
  const connection = await connect(url);
  await connection.write(bytes(url));
  return connection;
}

/** `Connection: close` is there exactly when docs/answers.md says so, and then the connection ends. */
export const closingCases: readonly HttpAdapterCase[] = [
  {
    name: 'says nothing of closing where the connection goes on',
    setup: { maxBodyBytes: 1_000 },
    async run(served) {
      for (const [what, status, parts] of KEEPING) {
        const answer = await send(served.url, parts());
        expect(answer, what).toMatchObject({ status });
        expect(saysClose(answer), what).toBe(false);
      }
    },
  },
  ...(ENDING.flatMap(([what, setup, begin, expected]) => [
    {
      name: `says Connection: close with the ${expected.status} to ${what}`,
      needs: ['bodies as they arrive', 'the Connection header'] as const,
      setup: setup,
      async run(served) {
        await using connection = await begin(served);

        const answer = await connection.answer();

        expectError(answer, expected);
        expect(saysClose(answer)).toBe(true);
      },
    },
    {
      name: `ends the connection after the ${expected.status} to ${what}`,
      needs: ['bodies as they arrive', 'the Connection header', 'the end of a connection'] as const,
      setup: setup,
      async run(served) {
        await using connection = await begin(served);

        expectError(await connection.answer(), expected);
        const began = performance.now();
        await connection.ended;

        expect(performance.now() - began).toBeLessThan(LET_GO_MS);
      },
    },
  ]) satisfies HttpAdapterCase[]),
];
