/**
 * hookbox for `node:http` and what is built on it: Koa, NestJS, Next.js API routes, Google Cloud Functions.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createVerifier, isRefusal, type Receiver, type VerifierOptions } from '../src/index.ts';
import { answer, deliveryOf, putOn, type VerifiedRequest } from './node-exchange.ts';

export type { VerifiedRequest, VerifiedWebhook } from './node-exchange.ts';

const FIX =
  'let nothing read the body before hookbox, or keep the raw bytes as request.rawBody. Next.js: export const config = ' +
  '{ api: { bodyParser: false } }. NestJS: NestFactory.create(AppModule, { rawBody: true }). Koa: mount the route before ' +
  'the body parser.';

/** For servers of `node:http`, and of `node:http2`, whose requests and responses work alike. */
type NodeHandler<Next extends unknown[] = []> = ((
  request: IncomingMessage,
  response: ServerResponse,
  ...next: Next
) => Promise<void>) &
  ((request: Http2ServerRequest, response: Http2ServerResponse, ...next: Next) => Promise<void>);

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
export function webhookHandler(receiver: Pick<Receiver, 'receive'>): NodeHandler {
  return (async (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response, await receiver.receive(deliveryOf(request, FIX)));
  }) as NodeHandler;
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
): NodeHandler<[next?: () => unknown]> {
  const verifier = createVerifier(options);
  return (async (request: IncomingMessage, response: ServerResponse, next?: () => unknown) => {
    const verified = await verifier.verify(deliveryOf(request, FIX));
    if (isRefusal(verified)) return answer(request, response, verified);
    putOn(request, verified);
    await (handler === undefined ? next?.() : handler(request, response));
  }) as NodeHandler<[next?: () => unknown]>;
}
