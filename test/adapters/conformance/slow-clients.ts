import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { expectAccepted, expectError, BODY_TOO_LARGE, INVALID_SIGNATURE, UNAVAILABLE } from '../expected-answer.ts';
import type { HttpAdapterCase, Served } from '../http-adapter-case.ts';
import { signedEvent, signedEventOfSize, WELL_FORMED } from '../../helpers/signed-event.ts';
import { chunk, connect, requestBytes, requestHead, send, type Connection } from '../wire.ts';
import { expectNothingStored } from './stored.ts';

const MIB = 1024 * 1024;
const DEADLINE_MS = 400;
/** The linger time, and what a server adds to it. */
const LET_GO_MS = 6_000;

async function overTheLimit({ url }: Served): Promise<readonly Connection[]> {
  const connections = await Promise.all(Array.from({ length: 20 }, () => connect(url)));
  const head = requestHead(url, { framing: 'chunked', headers: [WELL_FORMED] });
  const begin = Buffer.concat([head, chunk(Buffer.alloc(1_000))]);
  await Promise.all(connections.map((connection) => connection.write(begin)));
  return connections;
}

async function letGo(connections: readonly Connection[]): Promise<number> {
  for (const answer of await Promise.all(connections.map((connection) => connection.answer()))) {
    expectError(answer, BODY_TOO_LARGE);
  }
  const began = performance.now();
  await Promise.all(connections.map((connection) => connection.ended));
  for (const { socket } of connections) socket.end();
  await Promise.all(connections.map((connection) => connection.closed));
  return performance.now() - began;
}

async function expectServing({ url }: Served): Promise<void> {
  const event = signedEvent();
  expectAccepted(await send(url, event), event);
}

export const slowClientCases: readonly HttpAdapterCase[] = [
  {
    name: 'lets connections go that keep on sending after a 413',
    needs: ['bodies as they arrive', 'answers to clients that write on', 'the end of a connection'],
    setup: { maxBodyBytes: 900 },
    async run(served) {
      const connections = await overTheLimit(served);
      const sending = setInterval(() => {
        for (const connection of connections) void connection.write(chunk(Buffer.alloc(1_000)));
      }, 20);

      const tookMs = await letGo(connections);
      clearInterval(sending);

      expect(tookMs).toBeLessThan(LET_GO_MS);
      await expectServing(served);
    },
  },
  {
    name: 'lets connections go that keep silent after a 413',
    needs: ['bodies as they arrive', 'the end of a connection'],
    setup: { maxBodyBytes: 900 },
    async run(served) {
      const connections = await overTheLimit(served);

      const tookMs = await letGo(connections);

      expect(tookMs).toBeLessThan(LET_GO_MS);
      await expectServing(served);
    },
  },
  ...((['content-length', 'chunked'] as const).map((framing) => ({
    name: `answers 503 at the deadline to a body that stops (${framing})`,
    needs: ['bodies as they arrive'] as const,
    setup: { deadlineMs: DEADLINE_MS },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();
      const half = event.body.subarray(0, 50);
      const began = performance.now();

      await connection.write(requestHead(served.url, { ...event, framing }));
      await connection.write(framing === 'chunked' ? chunk(half) : half);
      const answer = await connection.answer();
      const waited = performance.now() - began;

      expectError(answer, UNAVAILABLE);
      expect(waited).toBeGreaterThan(DEADLINE_MS - 50);
      expect(waited).toBeLessThan(5_000);
      await expectNothingStored(served);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'waits for the rest of a body that is shorter than its Content-Length, until the deadline',
    needs: ['bodies as they arrive'],
    setup: { deadlineMs: DEADLINE_MS },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: new Uint8Array(event.body.byteLength + 1) }));
      await connection.write(event.body);

      expectError(await connection.answer(), UNAVAILABLE);
      await expectNothingStored(served);
    },
  },
  {
    name: 'answers 503 at the deadline to a body that trickles: a byte now and then buys no time',
    needs: ['bodies as they arrive'],
    setup: { deadlineMs: DEADLINE_MS },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();
      const began = performance.now();
      const answered = new AbortController();
      const answer = connection.answer().finally(() => answered.abort());

      await connection.write(requestHead(served.url, event));
      for (const byte of event.body) {
        if (answered.signal.aborted) break;
        await connection.write(Buffer.of(byte));
        await delay(50);
      }

      expectError(await answer, UNAVAILABLE);
      expect(performance.now() - began).toBeLessThan(5_000);
      await expectNothingStored(served);
    },
  },
  ...((['content-length', 'chunked'] as const).flatMap((framing) =>
    [MIB + 100_000, 3 * MIB].map((bytes) => ({
      name: `lets a client that writes all of ${bytes} bytes before it reads see the 413 (${framing})`,
      needs: ['bodies over 1 MiB'] as const,
      async run(served) {
        await using connection = await connect(served.url);

        await connection.writeBeforeReading(requestBytes(served.url, { ...signedEventOfSize(bytes), framing }));

        expectError(await connection.answer(), BODY_TOO_LARGE);
      },
    })),
  ) satisfies HttpAdapterCase[]),
  {
    name: 'lets a client whose body takes too long see the 503 though it writes on before it reads',
    needs: ['bodies as they arrive', 'answers to clients that write on'],
    // The pauses between the pieces take longer.
    setup: { deadlineMs: 10 },
    async run(served) {
      await using connection = await connect(served.url);

      await connection.writeBeforeReading(requestBytes(served.url, signedEventOfSize(900_000)));

      expectError(await connection.answer(), UNAVAILABLE);
    },
  },
  ...((['content-length', 'chunked'] as const).flatMap((framing) =>
    (['keep-alive', 'close'] as const).map((connectionHeader) => ({
      name: `lets a client that writes a whole body before it reads see the 401 for its missing signature (${framing}, Connection: ${connectionHeader})`,
      async run(served) {
        await using connection = await connect(served.url);
        const { body } = signedEventOfSize(900_000);

        await connection.writeBeforeReading(
          requestBytes(served.url, { body, headers: [['Connection', connectionHeader]], framing }),
        );

        expectError(await connection.answer(), INVALID_SIGNATURE);
      },
    })),
  ) satisfies HttpAdapterCase[]),
  {
    name: 'lets a client that writes a whole body before it reads see the 503 of a receiver that is closing',
    async run(served) {
      await served.closeReceiver();
      await using connection = await connect(served.url);

      await connection.writeBeforeReading(requestBytes(served.url, signedEventOfSize(900_000)));

      expectError(await connection.answer(), UNAVAILABLE);
    },
  },
];
