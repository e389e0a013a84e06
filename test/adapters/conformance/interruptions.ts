import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { expectAccepted, expectDuplicate } from '../expected-answer.ts';
import type { HttpAdapterCase, Served } from '../http-adapter-case.ts';
import { signedEvent } from '../../helpers/signed-event.ts';
import { chunk, connect, requestBytes, requestHead, send, type Connection } from '../wire.ts';
import { expectNothingStored, until } from './stored.ts';

const SETTLE_MS = 50;

async function expectUnharmed(served: Served): Promise<void> {
  const event = signedEvent();
  expectAccepted(await send(served.url, event), event);
  expect(await served.events()).toMatchObject([{ id: event.id }]);
  expect((await served.log()).filter(({ level }) => level === 'error')).toEqual([]);
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
      needs: ['bodies as they arrive'] as const,
      async run(served) {
        await using connection = await connect(served.url);
        const event = signedEvent();
        const half = event.body.subarray(0, 50);
        await connection.write(requestHead(served.url, { ...event, framing }));
        await connection.write(framing === 'chunked' ? chunk(half) : half);
        await until(served, { deliveries: 1 });

        hangUp(connection);
        await connection.ended;
        await delay(SETTLE_MS);

        await expectUnharmed(served);
      },
    })),
  ) satisfies HttpAdapterCase[]),
  {
    name: 'survives 50 clients that hang up at any point of their request',
    async run(served) {
      const request = requestBytes(served.url, signedEvent());
      const cuts = Array.from({ length: 50 }, (_, n) => Math.floor(((request.byteLength - 1) * (n + 1)) / 50));

      for (const cut of cuts) {
        await using connection = await connect(served.url);
        await connection.write(request.subarray(0, cut));
        connection.abort();
      }
      await delay(SETTLE_MS);

      await expectUnharmed(served);
    },
  },
  {
    name: 'closes without waiting for clients that have gone',
    needs: ['bodies as they arrive'],
    setup: { deadlineMs: 1_000 },
    async run(served) {
      const event = signedEvent();
      const connections = await Promise.all(HANGING_UP.map(() => connect(served.url)));
      await Promise.all(connections.map((connection) => connection.write(requestHead(served.url, event))));
      await until(served, { deliveries: HANGING_UP.length });

      for (const [n, [, hangUp]] of HANGING_UP.entries()) if (connections[n] !== undefined) hangUp(connections[n]);
      const began = performance.now();
      await served.closeReceiver();

      expect(performance.now() - began).toBeLessThan(5_000);
      await expectNothingStored(served);
    },
  },
  {
    name: 'keeps what was stored when the client has gone before the answer',
    needs: ['code that outlives its client'],
    setup: { inbox: { takesMs: 100 } },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestBytes(served.url, event));
      await until(served, { deliveries: 1 });
      connection.abort();
      await expect.poll(() => served.events(), { timeout: 5_000 }).toMatchObject([{ id: event.id }]);

      expectDuplicate(await send(served.url, event), event);
      expect(await served.log()).toEqual([]);
    },
  },
  {
    name: 'refuses a body that is longer than its Content-Length: what was announced is not what was signed',
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: event.body.subarray(0, -1) }));
      await connection.write(event.body);

      // A server that reads on may answer 400 itself.
      expect([400, 401]).toContain((await connection.answer()).status);
      await expectUnharmed(served);
    },
  },
  {
    name: 'refuses a body that is shorter than its Content-Length and filled up by the next request',
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();
      const next = signedEvent();

      await connection.write(requestHead(served.url, { ...event, body: new Uint8Array(event.body.byteLength + 20) }));
      await connection.write(event.body);
      await connection.write(requestBytes(served.url, next));

      // A server may answer 400 to the end of the second request first.
      expect([400, 401]).toContain((await connection.answer()).status);
      await expectUnharmed(served);
    },
  },
];
