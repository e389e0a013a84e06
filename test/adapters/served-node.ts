import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as openSession, createServer as createHttp2Server, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import type { Answer } from './wire.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface ServedNode extends AsyncDisposable {
  readonly url: string;
  /** What the listener threw. */
  readonly thrown: readonly unknown[];
  readonly openSockets: () => Promise<number>;
}

export async function serveNode(listener: Listener): Promise<ServedNode> {
  const thrown: unknown[] = [];
  const listen = async (...exchange: Parameters<Listener>): Promise<void> => {
    try {
      await listener(...exchange);
    } catch (failure) {
      thrown.push(failure);
    }
  };
  const server = createServer((request, response) => void listen(request, response));
  return {
    url: `http://127.0.0.1:${await portOf(server)}/webhooks`,
    thrown,
    openSockets: () =>
      new Promise((resolve, reject) => {
        server.getConnections((failure, count) => (failure ? reject(failure) : resolve(count)));
      }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Http2Client extends AsyncDisposable {
  readonly send: (parts: Http2Parts) => Promise<Answer>;
}

export interface Http2Parts {
  readonly method?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  readonly unended?: boolean;
}

export async function connectHttp2(url: string): Promise<Http2Client> {
  const { origin, pathname } = new URL(url);
  const session = openSession(origin);
  await once(session, 'connect');
  return {
    async send({ method = 'POST', headers = [], body = new Uint8Array(), unended = false }) {
      const lowered = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
      const stream = session.request({ ...lowered, ':method': method, ':path': pathname });
      stream.on('error', () => {}); // a stream that closes during a write still has its answer
      if (unended) stream.write(body);
      else if (!stream.writableEnded) stream.end(body); // a GET ends by itself
      let answered: IncomingHttpHeaders = {};
      let text = '';
      stream.on('response', (received) => {
        answered = received;
      });
      stream.on('data', (part) => {
        text += String(part);
      });
      await Promise.race([once(stream, 'end'), once(stream, 'close')]);
      const all = new Map(Object.entries(answered).map(([name, value]) => [name, String(value)]));
      return { status: Number(all.get(':status')), headers: all, body: text };
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}

export async function serveHttp2(listener: Listener): Promise<Http2Client> {
  // The types of the compatibility API differ.
  const server = createHttp2Server((request, response) => listener(request as never, response as never));
  const client = await connectHttp2(`http://127.0.0.1:${await portOf(server)}/webhooks`);
  return {
    send: client.send,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.close();
    },
  };
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function warningsDuring(run: () => Promise<unknown>): Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  try {
    await run();
    await new Promise(setImmediate);
  } finally {
    process.off('warning', onWarning);
  }
  return warnings;
}
