import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a port of its own; `url` is that of `/webhooks` on it, and `close` ends what connections are left. */
export interface Listening {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function listening(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<Listening> {
  const server = createServer((request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
