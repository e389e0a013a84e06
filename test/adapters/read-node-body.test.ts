import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { nodeBodyReader } from '../../adapters/read-node-body.ts';
import type { BodyRead } from '../../src/index.ts';
import { bodyLimits } from './body-limits.ts';
import { chunk, chunkedBody, connect, LAST_CHUNK, requestBytes, requestHead, type Connection } from './wire.ts';

/** Within the linger time. */
const SOON_MS = 1_200;

interface Reading extends AsyncDisposable {
  readonly client: Connection;
  readonly url: string;
  readonly connections: () => Promise<number>;
  readonly read: Promise<{ readonly body: BodyRead; readonly incoming: IncomingMessage; readonly tookMs: number }>;
}

interface Reader {
  readonly maxBytes?: number;
  readonly withinMs?: number;
  readonly before?: (incoming: IncomingMessage) => unknown;
}

async function reading({ maxBytes = 1_000, withinMs = 5_000, before }: Reader = {}): Promise<Reading> {
  const { promise: read, resolve } = Promise.withResolvers<Awaited<Reading['read']>>();
  const server = createServer((incoming, outgoing) => {
    const readBody = async (): Promise<void> => {
      await before?.(incoming);
      const began = performance.now();
      const body = await nodeBodyReader(incoming)(bodyLimits(maxBytes, withinMs));
      resolve({ body, incoming, tookMs: performance.now() - began });
      const closes = body.ended === 'complete' ? {} : { Connection: 'close' };
      outgoing.writeHead(200, { 'Content-Length': body.ended.length, ...closes }).end(body.ended);
    };
    void readBody();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = await connect(url);
  return {
    client,
    url,
    read,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((failure, count) => (failure ? reject(failure) : resolve(count)));
      }),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const late = delay(ms, undefined, { ref: false }).then(() => Promise.reject(new Error(`not within ${ms} ms`)));
  await Promise.race([promise, late]);
}

describe('nodeBodyReader', () => {
  it('refuses a body in thousands of chunks of one byte, and the client hears it', async () => {
    await using server = await reading({ maxBytes: 100_000 });
    await server.client.write(requestHead(server.url, { framing: 'chunked' }));
    await server.client.write(chunkedBody(Array.from({ length: 5_000 }, () => Uint8Array.of(1))));

    expect((await server.read).body).toEqual({ ended: 'tiny-chunks' });
    expect(await server.client.answer()).toMatchObject({ status: 200, body: 'tiny-chunks' });
  });

  it('stops at once when the deadline has passed before it begins', async () => {
    await using server = await reading({ withinMs: 0 });
    await server.client.write(requestHead(server.url, { body: new Uint8Array(10) }));

    expect((await server.read).body).toEqual({ ended: 'too-slow' });
  });

  it('says aborted when the client was gone before it began', async () => {
    await using server = await reading({ before: (incoming) => once(incoming, 'close').catch(() => delay(0)) });
    await server.client.write(requestHead(server.url, { body: new Uint8Array(10) }));
    await delay(20);
    server.client.abort();

    expect((await server.read).body).toEqual({ ended: 'aborted' });
  });

  it('leaves none of its listeners on the request after a complete body', async () => {
    let before: Record<string, number> = {};
    const counts = (incoming: IncomingMessage): Record<string, number> =>
      Object.fromEntries(
        ['data', 'end', 'error', 'close', 'pause'].map((name) => [name, incoming.listenerCount(name)]),
      );
    await using server = await reading({
      before: (incoming) => {
        before = counts(incoming);
      },
    });
    await server.client.write(requestBytes(server.url, { body: new Uint8Array(10) }));

    const { incoming } = await server.read;
    expect(counts(incoming)).toEqual(before);
  });

  it('ends its half right after the answer, and the rest as soon as the refused body is over', async () => {
    await using server = await reading({ maxBytes: 100 });
    const { client } = server;
    await client.write(requestHead(server.url, { framing: 'chunked' }));
    await client.write(chunk(Buffer.alloc(200)));
    await client.answer();

    await within(SOON_MS, client.ended);
    expect(await server.connections()).toBe(1);

    await client.write(LAST_CHUNK);
    await expect.poll(server.connections, { timeout: SOON_MS }).toBe(0);
  });

  it.each(['content-length', 'chunked'] as const)(
    'ends the connection at once when the refused body was there to its end (%s)',
    async (framing) => {
      await using server = await reading({ maxBytes: 100 });
      await server.client.write(requestBytes(server.url, { body: Buffer.alloc(200), framing }));

      expect(await server.client.answer()).toMatchObject({ status: 200, body: 'too-large' });
      await expect.poll(server.connections, { timeout: SOON_MS }).toBe(0);
    },
  );
});
