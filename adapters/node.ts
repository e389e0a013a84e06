/**
 * hookbox for `node:http` and what is built on it: Koa, NestJS, Next.js API routes, Google Cloud Functions.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createVerifier, isRefusal, type Receiver, type VerifierOptions } from '../src/index.ts';
import { answer, deliveryOf, putOn, type VerifiedRequest } from './node-exchange.ts';

export type { VerifiedRequest, VerifiedWebhook } from './node-exchange.ts';

const FIX =
  'let nothing read the body before hookbox, or keep the raw bytes as request.rawBody. Next.js: export const config = ' +
  '{ api: { bodyParser: false } }. NestJS: NestFactory.create(AppModule, { rawBody: true }). Koa: mount the route before ' +
  'the body parser.';

/**
 * Answers requests of a Node server. Takes the bytes from `request.rawBody` where a framework has kept them.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createReceiver } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 * import { webhookHandler } from 'hookbox/node';
 *
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: memoryInbox() });
 * const server = createServer(webhookHandler(receiver));
 * server.listen(0, () => server.close());
 * ```
 */
export function webhookHandler(
  receiver: Pick<Receiver, 'receive'>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => answer(request, response, await receiver.receive(deliveryOf(request, FIX)));
}

/**
 * Lets only authentic events through to `handler`, or to the next middleware, as `request.webhookEvent` and
 * `request.webhookBody`: no storage, no deduplication. What comes next answers the request.
 *
 * @throws ConfigurationError for a secret or a limit that cannot work
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { webhookVerifier } from 'hookbox/node';
 *
 * const verified = webhookVerifier({ secret: 'a signing secret' }, ({ webhookEvent }, response) => {
 *   console.log(webhookEvent.type);
 *   response.end('thanks');
 * });
 * const server = createServer(verified);
 * server.listen(0, () => server.close());
 * ```
 */
export function webhookVerifier(
  options: VerifierOptions,
  handler?: (request: VerifiedRequest, response: ServerResponse) => unknown,
): (request: IncomingMessage, response: ServerResponse, next?: () => unknown) => Promise<void> {
  const verifier = createVerifier(options);
  return async (request, response, next) => {
    const verified = await verifier.verify(deliveryOf(request, FIX));
    if (isRefusal(verified)) return answer(request, response, verified);
    putOn(request, verified);
    await (handler === undefined ? next?.() : handler(request, response));
  };
}
