import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve, type ServerType } from '@hono/node-server';
import type { Env, Hono } from 'hono';

export interface ServedApp extends AsyncDisposable {
  readonly url: string;
  readonly server: ServerType;
  readonly close: () => Promise<void>;
}

export async function serveApp<E extends Env>(app: Pick<Hono<E>, 'fetch'>): Promise<ServedApp> {
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/webhooks`, server, close, [Symbol.asyncDispose]: close };
}
