import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { createReceiver, type Inbox, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import {
  expectAccepted,
  expectDuplicate,
  expectRefused,
  BODY_TOO_LARGE,
  INVALID_SIGNATURE,
} from './expected-answer.ts';
import { testHttp2 } from './http2-conformance.ts';
import { silent } from '../helpers/silent-logger.ts';
import { serveHttp2, serveNode, type Listener, type ServedNode } from './served-node.ts';
import { SECRET, signedEvent, signedEventOfSize, WELL_FORMED } from '../helpers/signed-event.ts';
import { connect, requestBytes, requestHead } from './wire.ts';

const DEADLINE_MS = 500;

interface Receiving extends ServedNode {
  readonly inbox: Inbox;
}

async function receiving(options: Partial<ReceiverOptions> = {}, before?: Listener): Promise<Receiving> {
  const inbox = memoryInbox();
  const handler = webhookHandler(
    createReceiver({ secret: SECRET, inbox, logger: silent, deadlineMs: DEADLINE_MS, ...options }),
  );
  const served = await serveNode(async (request, response) => {
    await before?.(request, response);
    await handler(request, response);
  });
  return { ...served, inbox };
}

testHttp2('hookbox/node', (receiver) => serveHttp2(webhookHandler(receiver)));

describe('the streams of an HTTP/2 server behind hookbox/node', () => {
  it.each([
    ['over the limit', 413, { 'x-signature': WELL_FORMED[1] }],
    ['without a signature', 401, {}],
  ])('are all ended once they are answered, though clients never end their bodies %s', async (_, status, head) => {
    const server = createHttp2Server();
    const handler = webhookHandler(
      createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, maxBodyBytes: 1_000 }),
    );
    server.on('request', (request, response) => void handler(request, response)).listen(0);
    const open = new Set<unknown>();
    server.on('stream', (stream) => {
      open.add(stream);
      stream.on('close', () => open.delete(stream));
    });
    const { port } = server.address() as AddressInfo;
    const session = connectHttp2(`http://127.0.0.1:${port}`);

    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const stream = session.request({ ...head, ':method': 'POST', ':path': '/' }, { endStream: false });
        stream.on('error', () => {});
        stream.write(Buffer.alloc(2_000));
        const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
        stream.resume();
        return headers[':status'];
      }),
    );

    expect(statuses).toEqual(statuses.map(() => status));
    await expect.poll(() => open.size, { timeout: 5_000 }).toBe(0);
    session.destroy();
    server.close();
  });
});

describe('an answer that something else has sent before hookbox/node', () => {
  it.each([
    ['before the request reaches it', (): Promise<void> => Promise.resolve()],
    ['while it reads', (): Promise<void> => delay(50)],
  ])('stays the only one: %s', async (when, begun) => {
    await using served = await receiving({}, (_, response) => {
      const answer = async (): Promise<void> => {
        await begun();
        response.writeHead(418, { 'Content-Length': 6 }).end('teapot');
      };
      return when.includes('reads') ? void answer() : answer();
    });
    await using connection = await connect(served.url);
    const event = signedEvent();
    await connection.write(requestHead(served.url, event));
    await delay(100);
    await connection.write(event.body);

    expect(await connection.answer()).toMatchObject({ status: 418, body: 'teapot' });
    await expect.poll(() => served.inbox.list()).toHaveLength(1);
    await delay(20);
    expect(served.thrown).toEqual([]);
  });

  it('may be a connection that was cut', async () => {
    await using served = await receiving({}, (_, response) => void response.destroy());
    await using connection = await connect(served.url);
    await connection.write(requestBytes(served.url, signedEvent()));

    await connection.ended;
    await delay(20);
    expect(served.thrown).toEqual([]);
  });
});

describe('a connection to hookbox/node', () => {
  it.each([
    [405, { method: 'PUT' }],
    [401, {}],
  ] as const)('is kept when the body ends after the %i, also beyond the linger time', async (status, parts) => {
    await using served = await receiving();
    await using connection = await connect(served.url);
    const { body } = signedEvent();
    await connection.write(requestHead(served.url, { body, ...parts }));
    expect(await connection.answer()).toMatchObject({ status });
    await connection.write(body);
    const event = signedEvent();
    await connection.write(requestHead(served.url, event));
    await connection.write(event.body.subarray(0, 50));
    await delay(50);
    await connection.write(event.body.subarray(50));
    expectAccepted(await connection.answer(), event);

    await delay(2_300);

    await connection.write(requestBytes(served.url, event));
    expectDuplicate(await connection.answer(), event);
  });

  it('go on after a large body without a signature that somebody has paused', async () => {
    await using served = await receiving({}, (request) => void request.pause());
    await using connection = await connect(served.url);
    const event = signedEvent();

    await connection.write(requestBytes(served.url, { body: signedEventOfSize(900_000).body }));
    expectRefused(await connection.answer(), INVALID_SIGNATURE);
    await connection.write(requestBytes(served.url, event));

    expectAccepted(await connection.answer(), event);
  });

  it('answers nothing that was pipelined behind a body over the limit', async () => {
    await using served = await receiving({ maxBodyBytes: 1_000 });
    await using connection = await connect(served.url);
    const event = signedEvent();

    await connection.write(requestBytes(served.url, signedEventOfSize(1_001)));
    await connection.write(requestBytes(served.url, event));

    expectRefused(await connection.answer(), BODY_TOO_LARGE);
    await connection.ended;
    await expect(connection.answer()).rejects.toThrow('ended before an answer');
  });
});
