import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Arrived {
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A number is a status with an empty body; otherwise the function has answered, or does not. */
export type Behaviour = (request: Arrived, response: ServerResponse) => unknown;

export interface Endpoint extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly arrived: readonly Arrived[];
  readonly cut: () => number;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

export async function endpoint(behaviour: Behaviour = () => 200): Promise<Endpoint> {
  const arrived: Arrived[] = [];
  let cut = 0;
  let connections = 0;
  const server: Server = createServer((request, response) => {
    buffer(request).then(
      (body) => {
        const whole = { method: request.method, headers: request.headers, body };
        arrived.push(whole);
        const status = behaviour(whole, response);
        if (typeof status === 'number') response.writeHead(status).end();
      },
      () => (cut += 1),
    );
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    port,
    arrived,
    cut: () => cut,
    connections: () => connections,
    close,
    [Symbol.asyncDispose]: close,
  };
}

export async function nobody(): Promise<string> {
  const closed = await endpoint();
  await closed.close();
  return closed.url;
}

export const SECRET = 'a secret that only the tests know';

export function eventBody(id = 'evt_1', type = 'order.created'): Uint8Array {
  const data = { object: 'order', id: 'ord_1', total: 6.5 };
  return Buffer.from(JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data }));
}
