// @module-tag dear
import { webhookHandler } from '../../adapters/fetch.ts';
import { testHttpAdapter } from './conformance.ts';
import { LOST_ANSWERS } from './http-adapter-case.ts';
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
  LOST_ANSWERS,
);
