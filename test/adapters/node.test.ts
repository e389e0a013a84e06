// @module-tag dear
import type { IncomingMessage } from 'node:http';
import { webhookHandler } from '../../adapters/node.ts';
import { testHttpAdapter } from './conformance.ts';
import { serveNode } from './served-node.ts';

testHttpAdapter('hookbox/node, on node:http', (receiver, { bodyReadBefore }) => {
  const handler = webhookHandler(receiver);
  return serveNode(async (request, response) => {
    if (bodyReadBefore === true) await read(request);
    await handler(request, response);
  });
});

async function read(request: IncomingMessage): Promise<void> {
  for await (const _ of request);
}
