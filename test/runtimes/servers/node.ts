import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as hookbox from 'hookbox';
import { memoryInbox } from 'hookbox/memory';
import { webhookHandler, webhookVerifier } from 'hookbox/node';
import { sqliteInbox } from 'hookbox/sqlite';
import { endWithParent } from '../end-with-parent.ts';
import { receivers } from '../receivers.ts';
import { VERIFIER_SECRET } from '../verifier-secret.ts';

type Exchange = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const { handlerAt, control } = receivers(
  { ...hookbox, memoryInbox, sqliteInbox },
  (receiver, { bodyReadBefore }): Exchange => {
    const handler = webhookHandler(receiver);
    if (bodyReadBefore !== true) return handler;
    return async (request, response) => {
      await text(request);
      await handler(request, response);
    };
  },
);
const verified = webhookVerifier({ secret: VERIFIER_SECRET }, ({ webhookEvent: event, webhookBody }, response) => {
  response.end(JSON.stringify({ event, body: Buffer.from(webhookBody).toString('base64') }));
});

const serve: Exchange = async (request, response) => {
  const path = pathOf(request);
  if (path.startsWith('/control/')) response.end(await control(path, await text(request)));
  else if (path === '/verifier') await verified(request, response);
  else await handlerAt(path)?.(request, response);
};

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1).join('');
}

const server = createServer((request, response) => void serve(request, response));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ origin: `http://127.0.0.1:${port}`, runtime: `node ${process.versions.node}` }));
});
endWithParent();
