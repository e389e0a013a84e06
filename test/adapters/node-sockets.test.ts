/** Bodies that never end must not hold the sockets of a Node server, or keep it reading. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { describe, it } from 'vitest';
import { webhookHandler as fastifyHandler } from '../../adapters/fastify.ts';
import { webhookHandler as honoHandler } from '../../adapters/hono.ts';
import { webhookHandler as nodeHandler } from '../../adapters/node.ts';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { silent } from '../helpers/silent-logger.ts';
import { serveNode, type ServedNode } from './served-node.ts';
import { SECRET, WELL_FORMED } from '../helpers/signed-event.ts';
import { chunk, connect, requestHead, type Connection, type RequestParts } from './wire.ts';

const MIB = 1024 * 1024;
/** The linger time, and time for a slow machine. */
const LET_GO_MS = 4_500;

type Before = (request: IncomingMessage) => unknown;
type Serve = (receiver: Receiver, before: Before) => Promise<Pick<ServedNode, 'url' | 'openSockets'> & AsyncDisposable>;

const serveOnNode: Serve = (receiver, before) => {
  const handler = nodeHandler(receiver);
  return serveNode(async (request, response) => {
    await before(request);
    await handler(request, response);
  });
};

const serveOnFastify: Serve = async (receiver, before) => {
  let listener: RequestListener = () => {};
  const served = await serveNode((request, response) => listener(request, response));
  const app = fastify({
    serverFactory: (handler) => {
      listener = handler;
      return createServer();
    },
  });
  app.addHook('onRequest', async ({ raw }) => before(raw));
  await app.register(fastifyHandler(receiver), { prefix: '/webhooks' });
  await app.ready();
  return served;
};

const serveOnHono: Serve = (receiver, before) => {
  const listener = getRequestListener(new Hono().all('/webhooks', honoHandler(receiver)).fetch);
  return serveNode(async (request, response) => {
    await before(request);
    await listener(request, response);
  });
};

const SERVERS: readonly (readonly [name: string, serve: Serve])[] = [
  ['node:http', serveOnNode],
  ['Fastify', serveOnFastify],
  ['@hono/node-server', serveOnHono],
];

interface Endless {
  readonly what: string;
  readonly status: number;
  readonly parts?: RequestParts;
  readonly before?: Before;
  /** How much of the body it takes for an answer. */
  readonly bytes?: number;
}

const ENDLESS: readonly Endless[] = [
  { what: 'over the limit', status: 413, parts: { headers: [WELL_FORMED] } },
  {
    what: 'over it by their Content-Length',
    status: 413,
    parts: { headers: [WELL_FORMED, ['Content-Length', '100000000000']] },
  },
  { what: 'not arriving in time', status: 503, parts: { headers: [WELL_FORMED] }, bytes: 10 },
  { what: 'without a signature', status: 401 },
  { what: 'without a signature, to be closed', status: 401, parts: { headers: [['Connection', 'close']] } },
  { what: 'sent with PUT', status: 405, parts: { method: 'PUT' } },
  {
    what: 'that others have begun to read',
    status: 500,
    parts: { headers: [WELL_FORMED] },
    before: (request) => once(request, 'data'),
  },
  {
    what: 'that others have made text of',
    status: 500,
    parts: { headers: [WELL_FORMED] },
    before: (request) => void request.setEncoding('utf8'),
  },
];

interface Sending extends AsyncDisposable {
  readonly connection: Connection;
  readonly status: number;
  readonly sendPart: (part: Buffer) => Promise<void>;
}

async function sending(url: string, { parts, bytes = 2_000 }: Endless): Promise<Sending> {
  const sized = parts?.headers?.some(([name]) => name === 'Content-Length') === true;
  const connection = await connect(url);
  const sendPart = (part: Buffer): Promise<void> => connection.write(sized ? part : chunk(part));
  await connection.write(requestHead(url, { framing: sized ? 'none' : 'chunked', ...parts }));
  await sendPart(Buffer.alloc(bytes));
  const { status } = await connection.answer();
  return { connection, status, sendPart, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]() };
}

function receiver(): Receiver {
  return createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, maxBodyBytes: 1_000, deadlineMs: 500 });
}

// At once: each waits for a whole linger time.
describe.concurrent.each(SERVERS)('the sockets of %s', (_, serve) => {
  it.for(ENDLESS)(
    'are let go after bodies $what, answered $status, that drip on',
    { timeout: 20_000 },
    async (endless, { expect }) => {
      await using served = await serve(receiver(), endless.before ?? (() => {}));
      const clients = await Promise.all(Array.from({ length: 20 }, () => sending(served.url, endless)));
      const drip = setInterval(() => {
        for (const { connection, sendPart } of clients) if (connection.socket.writable) void sendPart(Buffer.alloc(1));
      }, 200);

      expect(clients.map(({ status }) => status)).toEqual(clients.map(() => endless.status));
      try {
        await expect.poll(served.openSockets, { timeout: LET_GO_MS }).toBe(0);
      } finally {
        clearInterval(drip);
        for (const client of clients) await client[Symbol.asyncDispose]();
      }
    },
  );

  it.for(ENDLESS)(
    'are cut off a flood of bytes in a body $what, answered $status',
    { timeout: 20_000 },
    async (endless, { expect }) => {
      await using served = await serve(receiver(), endless.before ?? (() => {}));
      await using client = await sending(served.url, endless);
      const { socket, closed } = client.connection;
      const part = Buffer.alloc(MIB);
      let written = 0;
      for (; !socket.destroyed && written < 256; written += 1) {
        await Promise.race([client.sendPart(part), closed, delay(LET_GO_MS, undefined, { ref: false })]);
      }

      expect(written).toBeLessThan(64); // 4 MiB are thrown away; the kernel holds some, too
    },
  );
});
