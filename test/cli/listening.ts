import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a port; `url` is that of `/webhooks` on it. */
export interface Listening {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function listening(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
  onPort = 0,
): Promise<Listening> {
  const server = createServer((request, response) => void listener(request, response));
  server.listen(onPort, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The URL of a port that nobody listens on. */
export async function nobodyThere(): Promise<string> {
  const gone = await listening(() => {});
  await gone.close();
  return gone.url;
}
