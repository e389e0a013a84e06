/** hookbox/node, and hookbox/express without the types of Express. */
// oxlint-disable typescript/no-misused-promises -- a listener may return a promise; these never reject
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { isKnown, type Receiver } from 'hookbox';
import * as express from 'hookbox/express';
import { pageHandler, webhookHandler, webhookVerifier, type VerifiedRequest } from 'hookbox/node';
import { opsPage } from 'hookbox/ops/page';
import { sandboxPage } from 'hookbox/sandbox/page';
import { createSandbox } from 'hookbox/sandbox';

const secret = process.env['SIGNING_SECRET'];

export function servers(receiver: Receiver): Server[] {
  return [
    createServer(webhookHandler(receiver)),
    createSecureServer({}, webhookHandler(receiver)),
    createServer(express.webhookHandler(receiver)),
    createServer(pageHandler(opsPage(receiver, { unsafeOpen: true }))),
    createServer(express.pageHandler(sandboxPage(createSandbox()))),
  ];
}

export const verifying: Server = createServer(
  webhookVerifier({ secret }, ({ webhookEvent, webhookBody, url }, response) => {
    if (isKnown(webhookEvent) && webhookEvent.type === 'order.created') console.log(webhookEvent.data.total, url);
    response.end(`${webhookBody.byteLength}`);
  }),
);

/** Middleware, as connect and its kind know it. */
export const chained: Server = createServer((request, response) => {
  const first = webhookVerifier({ secret: ['the new secret', 'the old one'] });
  const second = express.webhookVerifier({ secret: () => Promise.resolve('a secret') });
  const last = (): void => void response.end((request as VerifiedRequest).webhookEvent.id);
  void first(request, response, () => second(request, response, last));
});
