/**
 * The adapter for `node:http` and hosts built on it, such as Koa, NestJS, Next.js API routes and Google Cloud
 * Functions.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createVerifier, isErrorOutcome, type Receiver, type VerifierOptions } from '../src/index.ts';
import type { Page } from '../src/page/mounting.ts';
import { answer, deliveryOf, putOn, verifiedWebhook, type Kept, type VerifiedWebhook } from './node-exchange.ts';
import { nodePage } from './node-page.ts';

export type { VerifiedRequest, VerifiedWebhook } from './node-exchange.ts';

const FIX =
  'call hookbox before other code reads the body, or keep the raw body as request.rawBody. Next.js: export const config = ' +
  '{ api: { bodyParser: false } }. NestJS: NestFactory.create(AppModule, { rawBody: true }). Koa: mount the route before ' +
  'the body parser.';

/** HTTP/2 requests work in the same way. Fastify, as in NestJS, has them as `raw`. */
type NodeRequest = IncomingMessage | Http2ServerRequest | { readonly raw: IncomingMessage | Http2ServerRequest };
type NodeResponse = ServerResponse | Http2ServerResponse | FastifyReply;
interface FastifyReply {
  readonly raw: ServerResponse | Http2ServerResponse;
  hijack(): unknown;
}

/**
 * Mounts a receiver in a Node server. The receiver reads the body from the request, or from `request.rawBody` if a
 * framework sets that property.
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
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (givenRequest, givenResponse) => {
    const { request, response, kept } = alike(givenRequest, givenResponse);
    const outcome = await receiver.receive(deliveryOf(request, FIX, kept));
    takeOver(givenResponse);
    answer(request, response, outcome);
  };
}

/**
 * Creates a function that passes only authentic events to `handler`. The event is in `request.webhookEvent`, and its
 * body is in `request.webhookBody`. The function neither stores nor deduplicates events. Your handler sends the
 * response. If the handler throws, the response is a 500. If the handler does not finish by the deadline, the response
 * is a 503. Without `handler`, `webhookVerifier` returns middleware that calls `next`.
 *
 * @typeParam Request - the framework's request type, such as NextApiRequest; `Response` is the framework's response
 * type
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
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
export function webhookVerifier<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
>(
  options: VerifierOptions,
  handler?: (request: NoInfer<Request & VerifiedWebhook>, response: NoInfer<Response>) => unknown,
): (request: Request, response: Response, next?: () => unknown) => Promise<void> {
  const verifier = createVerifier(options);
  return async (givenRequest, givenResponse, next) => {
    const { request, response, kept } = alike(givenRequest, givenResponse);
    const delivery = deliveryOf(request, FIX, kept);
    if (handler === undefined) {
      const verified = await verifier.verify(delivery);
      if (isErrorOutcome(verified)) {
        takeOver(givenResponse);
        return answer(request, response, verified);
      }
      putOn(request, verified);
      await next?.();
      return undefined;
    }
    const result = await verifier.passOn(delivery, (verified) =>
      handler(Object.assign(givenRequest, verifiedWebhook(verified)), givenResponse),
    );
    if (!isErrorOutcome(result)) return undefined;
    takeOver(givenResponse);
    response.on('error', () => {}); // a late handler may still write
    // The handler can no longer complete a response that it has begun.
    if (response.headersSent && !response.writableEnded) response.destroy();
    answer(request, response, result);
    return undefined;
  };
}

/**
 * Mounts a hookbox page, such as the operators' page. The page derives its mount path from each request: for a request
 * to `/ops/events`, the mount path is `/ops`. If the mount path itself contains a segment that the page uses, such as
 * `events`, set the page's option `base`.
 *
 * @param page - a page that `opsPage` or `sandboxPage` returned
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { pageHandler } from 'hookbox/node';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('hookbox.db');
 * const showPage = pageHandler(opsPage({ inbox }, { unsafeOpen: true }));
 * const server = createServer((request, response) => {
 *   if (request.url?.startsWith('/ops')) return showPage(request, response);
 *   return response.writeHead(404).end();
 * });
 * server.listen(0, () => server.close());
 * await inbox.close();
 * ```
 */
export function pageHandler(page: Page): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const show = nodePage(page);
  return async (givenRequest, givenResponse) => {
    const { request, response } = alike(givenRequest, givenResponse);
    takeOver(givenResponse);
    await show(request, response);
  };
}

interface Alike {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly kept: Kept;
}

function alike(request: NodeRequest, response: NodeResponse): Alike {
  const raw = { request: rawOf(request) as IncomingMessage, response: rawOf(response) as ServerResponse };
  return { ...raw, kept: request as Kept };
}

function takeOver(response: NodeResponse): void {
  if ('raw' in response) response.hijack();
}

function rawOf<Own>(given: Own | { readonly raw: Own }): Own {
  return typeof given === 'object' && given !== null && 'raw' in given ? given.raw : given;
}
