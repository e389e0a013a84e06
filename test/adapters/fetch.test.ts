import { webhookHandler } from '../../adapters/fetch.ts';
import { testHttpAdapter } from './conformance.ts';
import { serveApp } from './served-app.ts';

testHttpAdapter(
  'hookbox/fetch, served by @hono/node-server',
  (receiver, { bodyReadBefore }) => {
    const handler = webhookHandler(receiver);
    return serveApp({
      async fetch(request: Request) {
        if (bodyReadBefore === true) await request.arrayBuffer();
        return handler(request);
      },
    });
  },
  {
    'answers to clients that write on':
      '@hono/node-server resets a connection that it has ended while the client goes on to write, and the answer is lost',
  },
);
