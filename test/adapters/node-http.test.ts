/** What hookbox/node makes of the connections of a Node server, and of bytes that others have kept. */
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { createReceiver, type Inbox, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { expectAccepted, expectRefused } from './expected-answer.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { serveHttp2, serveNode, warningsDuring, type Listener, type ServedNode } from './served-node.ts';
import {
  encodedDelivery,
  SECRET,
  signed,
  signedEvent,
  signedEventOfSize,
  WELL_FORMED,
} from '../helpers/signed-event.ts';
import { chunk, connect, requestBytes, requestHead, send, type RequestParts } from './wire.ts';

const DEADLINE_MS = 500;

interface Receiving extends ServedNode {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
}

interface Made extends Pick<Receiving, 'inbox' | 'log'> {
  readonly handler: Listener;
}

function made(options: Partial<ReceiverOptions> = {}): Made {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const receiver = createReceiver({ secret: SECRET, inbox, logger, deadlineMs: DEADLINE_MS, ...options });
  return { handler: webhookHandler(receiver), inbox, log: lines };
}

/** Serves a receiver, after something else has had the request and the response in its hands. */
async function receiving(options: Partial<ReceiverOptions> = {}, before?: Listener): Promise<Receiving> {
  const { handler, inbox, log } = made(options);
  const served = await serveNode(async (request, response) => {
    await before?.(request, response);
    await handler(request, response);
  });
  return { ...served, inbox, log };
}

describe('hookbox/node over HTTP/2', () => {
  it('says nothing of the connection, which is not its own, and no warning is given', async () => {
    await using client = await serveHttp2(made({ maxBodyBytes: 1_000 }).handler);

    const warnings = await warningsDuring(async () => {
      const answer = await client.send(signedEventOfSize(1_001));
      expectRefused(answer, { status: 413, code: 'BODY_TOO_LARGE' });
    });

    expect(warnings).toEqual([]);
  });

  it('stores a delivery, knows its duplicate, and refuses a forged one', async () => {
    await using client = await serveHttp2(made().handler);
    const event = signedEvent();

    expectAccepted(await client.send(event), { id: event.id, duplicate: false });
    expectAccepted(await client.send(event), { id: event.id, duplicate: true });
    const forged = await client.send({ ...event, body: signedEvent().body });
    expectRefused(forged, { status: 401, code: 'INVALID_SIGNATURE' });
  });

  it.each([
    ['over the limit', 413, { headers: [WELL_FORMED] }],
    ['without a signature', 401, {}],
    ['sent with PUT', 405, { method: 'PUT' }],
  ] as const)(
    'answers a body that never ends, %s, with %i, and the next one all the same',
    async (_, status, parts) => {
      await using client = await serveHttp2(made({ maxBodyBytes: 1_000 }).handler);
      const event = signedEvent();

      expect(await client.send({ body: Buffer.alloc(2_000), unended: true, ...parts })).toMatchObject({ status });
      expectAccepted(await client.send(event), { id: event.id, duplicate: false });
    },
  );

  it('answers 503 at the deadline to a body that stops', async () => {
    await using client = await serveHttp2(made().handler);
    const { body, headers } = signedEvent();

    const answer = await client.send({ headers, body: body.subarray(0, 50), unended: true });

    expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true });
  });
});

describe('the streams of an HTTP/2 server behind hookbox/node', () => {
  it.each([
    ['over the limit', 413, { 'x-signature': WELL_FORMED[1] }],
    ['without a signature', 401, {}],
  ])('are all ended once they are answered, though clients never end their bodies %s', async (_, status, head) => {
    const server = createHttp2Server();
    const { logger } = recordedLog();
    const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), logger, maxBodyBytes: 1_000 });
    const handler = webhookHandler(receiver);
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
  const refused: readonly (readonly [status: number, parts: () => RequestParts])[] = [
    [401, () => ({ body: signedEvent().body })],
    [401, () => ({ body: signedEvent().body, framing: 'chunked' })],
    [400, () => signed('[]')],
    [405, () => ({ ...signedEvent(), method: 'PUT' })],
    [405, () => ({ ...signedEventOfSize(300_000), method: 'DELETE' })],
    [405, () => ({ method: 'GET', framing: 'none' })],
    [415, () => encodedDelivery()],
    [415, () => ({ ...encodedDelivery('br'), framing: 'chunked' })],
  ];

  it('is kept after everything that the table does not close it for', async () => {
    await using served = await receiving();
    await using connection = await connect(served.url);

    for (const [status, parts] of refused) {
      await connection.write(requestBytes(served.url, parts()));
      const answer = await connection.answer();
      expect(answer).toMatchObject({ status });
      expect(answer.headers.get('connection')).not.toBe('close');
      const event = signedEvent();
      await connection.write(requestBytes(served.url, event));
      expectAccepted(await connection.answer(), { id: event.id, duplicate: false });
    }
  });

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
    expectAccepted(await connection.answer(), { id: event.id, duplicate: false });

    await delay(2_300);

    await connection.write(requestBytes(served.url, event));
    expectAccepted(await connection.answer(), { id: event.id, duplicate: true });
  });

  it('go on after a large body without a signature that somebody has paused', async () => {
    await using served = await receiving({}, (request) => void request.pause());
    await using connection = await connect(served.url);
    const event = signedEvent();

    await connection.write(requestBytes(served.url, { body: signedEventOfSize(900_000).body }));
    expectRefused(await connection.answer(), { status: 401, code: 'INVALID_SIGNATURE' });
    await connection.write(requestBytes(served.url, event));

    expectAccepted(await connection.answer(), { id: event.id, duplicate: false });
  });

  it('answers pipelined requests in their order', async () => {
    await using served = await receiving();
    await using connection = await connect(served.url);
    const [one, two] = [signedEvent(), signedEventOfSize(200_000)];
    const parts: readonly RequestParts[] = [
      one,
      { body: two.body },
      { ...two, method: 'PUT' },
      { ...two, framing: 'chunked' },
      { method: 'GET', framing: 'none' },
      one,
    ];

    void connection.write(Buffer.concat(parts.map((part) => requestBytes(served.url, part))));

    expectAccepted(await connection.answer(), { id: one.id, duplicate: false });
    expect(await connection.answer()).toMatchObject({ status: 401 });
    expect(await connection.answer()).toMatchObject({ status: 405 });
    expectAccepted(await connection.answer(), { id: two.id, duplicate: false });
    expect(await connection.answer()).toMatchObject({ status: 405 });
    expectAccepted(await connection.answer(), { id: one.id, duplicate: true });
    expect(served.thrown).toEqual([]);
  });

  it('answers nothing that was pipelined behind a body over the limit', async () => {
    await using served = await receiving({ maxBodyBytes: 1_000 });
    await using connection = await connect(served.url);
    const event = signedEvent();

    await connection.write(requestBytes(served.url, signedEventOfSize(1_001)));
    await connection.write(requestBytes(served.url, event));

    expectRefused(await connection.answer(), { status: 413, code: 'BODY_TOO_LARGE', closes: true });
    await connection.ended;
    await expect(connection.answer()).rejects.toThrow('ended before an answer');
  });

  it('that the client resets in the middle of a body leaves no trace', async () => {
    await using served = await receiving();
    const event = signedEvent();
    for (const framing of ['content-length', 'chunked'] as const) {
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, { ...event, framing }));
      await connection.write(framing === 'chunked' ? chunk(event.body.subarray(0, 50)) : event.body.subarray(0, 50));
      await delay(20);
      connection.abort();
    }
    await expect.poll(served.openSockets).toBe(0);
    await delay(20);

    expect(served.log).toEqual([]);
    expect(served.thrown).toEqual([]);
    expect(await served.inbox.list()).toEqual([]);
    expectAccepted(await send(served.url, event), { id: event.id, duplicate: false });
  });
});
