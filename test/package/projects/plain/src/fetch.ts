/** hookbox/fetch as Next.js, Cloudflare and Vercel want their handlers. */
import type { Receiver } from 'hookbox';
import { pageHandler, webhookHandler, webhookVerifier, type WaitUntil } from 'hookbox/fetch';
import { opsPage } from 'hookbox/ops/page';

interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
  passThroughOnException(): void;
}

interface Bindings {
  readonly QUEUE: { send(message: string): Promise<void> };
}

type RouteHandler = (request: Request, context: { params: Promise<object> }) => Promise<Response>;

export function route(receiver: Receiver): { POST: RouteHandler } {
  return { POST: webhookHandler(receiver) };
}

export function page(receiver: Receiver): { GET: RouteHandler; POST: RouteHandler } {
  const show = pageHandler(opsPage(receiver, { unsafeOpen: true }));
  return { GET: show, POST: show };
}

export const worker: { fetch(request: Request, bindings: Bindings, context: ExecutionContext): Promise<Response> } = {
  fetch: webhookVerifier(
    { secret: 'a secret' },
    async ({ event, request }, { QUEUE }: Bindings, context: ExecutionContext) => {
      context.waitUntil(QUEUE.send(event.id));
      return Response.json({ received: true, url: request.url });
    },
  ),
};

export function vercel(receiver: Receiver, waitUntil: WaitUntil): (request: Request) => Promise<Response> {
  return webhookHandler(receiver, { waitUntil });
}
