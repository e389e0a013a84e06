import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Inbox } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory.ts';
import { expectAccepted, expectRefused } from '../expected-answer.ts';
import type { HttpAdapterCase, Served } from '../http-adapter-case.ts';
import { signedEvent, signedEventOfSize } from '../signed-event.ts';
import { chunk, connect, requestBytes, requestHead, send, type Connection } from '../wire.ts';

const MIB = 1024 * 1024;
/** How long a connection may outlive its refusal: the linger time and what a server adds to it, generously. */
const LET_GO_MS = 6_000;

/** The server is still there, nothing came of what went before, and nobody was alarmed by it. */
async function expectUnharmed(served: Served): Promise<void> {
  const event = signedEvent();
  expectAccepted(await send(served.url, event), { id: event.id, duplicate: false });
  expect(await served.inbox.list()).toMatchObject([{ id: event.id }]);
  expect(served.log.filter(({ level }) => level === 'error')).toEqual([]);
}

const HANGING_UP: readonly (readonly [how: string, hangUp: (connection: Connection) => void])[] = [
  ['resets the connection', (connection) => connection.abort()],
  ['closes the connection', (connection) => void connection.socket.destroy()],
  ['closes its half of the connection', (connection) => void connection.socket.end()],
];

export const interruptionCases: readonly HttpAdapterCase[] = [
  ...(HANGING_UP.flatMap(([how, hangUp]) =>
    (['content-length', 'chunked'] as const).map((framing) => ({
      name: `stores nothing and raises no alarm when the client ${how} in the middle of a body (${framing})`,
      async run(open) {
        await using served = await open();
        await using connection = await connect(served.url);
        const event = signedEvent();
        const half = event.body.subarray(0, 50);
        await connection.write(requestHead(served.url, { ...event, framing }));
        await connection.write(framing === 'chunked' ? chunk(half) : half);
        await delay(30); // until the server has begun to read

        hangUp(connection);
        await connection.ended;
        await delay(30);

        await expectUnharmed(served);
      },
    })),
  ) satisfies HttpAdapterCase[]),
  {
    name: 'survives 50 clients that hang up at any point of their request',
    async run(open) {
      await using served = await open();
      const request = requestBytes(served.url, signedEvent());
      const cuts = Array.from({ length: 50 }, (_, n) => Math.floor(((request.byteLength - 1) * (n + 1)) / 50));

      for (const cut of cuts) {
        await using connection = await connect(served.url);
        await connection.write(request.subarray(0, cut));
        connection.abort();
      }
      await delay(50);

      await expectUnharmed(served);
    },
  },
  {
    name: 'keeps what was stored when the client has gone before the answer',
    async run(open) {
      const memory = memoryInbox();
      let begun: () => void = () => {};
      const storing = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const accept: Inbox['accept'] = async (...given) => {
        begun();
        await delay(100);
        return memory.accept(...given);
      };
      await using served = await open({ inbox: { ...memory, accept } });
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestBytes(served.url, event));
      await storing;
      connection.abort();
      await delay(200);

      expectAccepted(await send(served.url, event), { id: event.id, duplicate: true });
      expect(served.log).toEqual([]);
    },
  },
  {
    name: 'refuses a body that is longer than its Content-Length: what was announced is not what was signed',
    async run(open) {
      await using served = await open();
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: event.body.subarray(0, -1) }));
      await connection.write(event.body);

      // A server that reads on may find the byte too many, and say 400 by itself, before the adapter can say 401.
      expect([400, 401]).toContain((await connection.answer()).status);
      await expectUnharmed(served);
    },
  },
  {
    name: 'waits for the rest of a body that is shorter than its Content-Length, until the deadline',
    async run(open) {
      await using served = await open({ deadlineMs: 500 });
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: new Uint8Array(event.body.byteLength + 1) }));
      await connection.write(event.body);

      const answer = await connection.answer();
      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
      expect(await served.inbox.list()).toEqual([]);
    },
  },
  {
    name: 'refuses a body that is shorter than its Content-Length and filled up by the next request',
    async run(open) {
      await using served = await open();
      await using connection = await connect(served.url);
      const event = signedEvent();
      const next = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: new Uint8Array(event.body.byteLength + 20) }));
      await connection.write(event.body);
      await connection.write(requestBytes(served.url, next));

      // 400 from a server that stumbles over the end of the second request first.
      expect([400, 401]).toContain((await connection.answer()).status);
      await expectUnharmed(served);
    },
  },
  ...((['content-length', 'chunked'] as const).map((framing) => ({
    name: `answers 503 at the deadline to a body that stops, and lets the connection go (${framing})`,
    async run(open) {
      await using served = await open({ deadlineMs: 500 });
      await using connection = await connect(served.url);
      const event = signedEvent();
      const half = event.body.subarray(0, 50);
      const began = performance.now();

      await connection.write(requestHead(served.url, { ...event, framing }));
      await connection.write(framing === 'chunked' ? chunk(half) : half);
      const answer = await connection.answer();
      const waited = performance.now() - began;
      await connection.ended;

      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
      expect(waited).toBeGreaterThan(450);
      expect(waited).toBeLessThan(3_000);
      expect(await served.inbox.list()).toEqual([]);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 503 at the deadline to a body that trickles: a byte now and then buys no time',
    async run(open) {
      await using served = await open({ deadlineMs: 500 });
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

      expectRefused(await answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
      expect(performance.now() - began).toBeLessThan(3_000);
      expect(await served.inbox.list()).toEqual([]);
    },
  },
  ...((['content-length', 'chunked'] as const).flatMap((framing) =>
    [MIB + 100_000, 3 * MIB].map((bytes) => ({
      name: `lets a client that writes all of ${bytes} bytes before it reads see the 413 (${framing})`,
      async run(open) {
        await using served = await open();
        await using connection = await connect(served.url);

        await connection.writeBeforeReading(requestBytes(served.url, { ...signedEventOfSize(bytes), framing }));

        expectRefused(await connection.answer(), { status: 413, code: 'BODY_TOO_LARGE', closes: true });
      },
    })),
  ) satisfies HttpAdapterCase[]),
  {
    name: 'lets a client whose body takes too long see the 503 though it writes on before it reads',
    async run(open) {
      // All the pieces with the pauses between them take longer than this, on any machine.
      await using served = await open({ deadlineMs: 10 });
      await using connection = await connect(served.url);

      await connection.writeBeforeReading(requestBytes(served.url, signedEventOfSize(900_000)));

      expectRefused(await connection.answer(), { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
    },
  },
  {
    name: 'lets connections go that keep on sending after a 413, and those that keep silent',
    async run(open) {
      await using served = await open({ maxBodyBytes: 900 });
      const connections = await Promise.all(Array.from({ length: 40 }, () => connect(served.url)));
      const endless = Buffer.alloc(1_000);
      await Promise.all(
        connections.map((connection) => connection.write(requestHead(served.url, { framing: 'chunked' }))),
      );
      const sending = setInterval(() => {
        for (const [n, connection] of connections.entries()) if (n % 2 === 0) void connection.write(chunk(endless));
      }, 20);
      for (const connection of connections) void connection.write(chunk(endless));

      const answers = await Promise.all(connections.map((connection) => connection.answer()));
      const began = performance.now();
      await Promise.all(connections.map((connection) => connection.ended));
      for (const [n, { socket }] of connections.entries()) if (n % 2 === 1) socket.end();
      await Promise.all(connections.map((connection) => connection.closed));
      const tookMs = performance.now() - began;
      clearInterval(sending);

      for (const answer of answers) expectRefused(answer, { status: 413, code: 'BODY_TOO_LARGE', closes: true });
      expect(tookMs).toBeLessThan(LET_GO_MS);
      await expectUnharmed(served);
    },
  },
];
