/**
 * The adapter for hosts that use `Request` and `Response`: Next.js route handlers, Bun.serve, Deno.serve, Cloudflare
 * Workers, Vercel functions and Netlify functions.
 *
 * @module
 */
import { performance } from '../src/host/real-timers.ts';
import {
  createVerifier,
  isErrorOutcome,
  type Delivery,
  type HostLimits,
  type Outcome,
  type Receiver,
  type VerifiedDelivery,
  type VerifierOptions,
} from '../src/index.ts';
import type { Mounted, Page } from '../src/page/mounting.ts';
import { assertOptions } from '../src/option-rules.ts';
import { VERIFIER_OPTIONS } from '../src/receive/verifier.ts';
import { discardBody, webBodyReader } from './read-web-body.ts';

/** Asks the host to keep running until a promise settles, even after the response has been sent. */
export type WaitUntil = NonNullable<HostLimits['waitUntil']>;

const FIX = 'other code read the request first. Call hookbox first, or pass request.clone() to the other code.';

type Context = readonly unknown[];

/**
 * Creates a function that passes a `Request` to a receiver and returns the receiver's outcome as a `Response`. If an
 * inline handler runs past the deadline, hookbox passes the handler's promise to `waitUntil`. hookbox takes `waitUntil`
 * from the options or from the second argument that the host passes to the function.
 *
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/fetch';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const POST = webhookHandler(createReceiver({ secret: 'a signing secret', inbox: memoryInbox() }));
 * const answer = await POST(new Request('https://shop.example/webhooks', { method: 'POST', body: '{}' }));
 * console.log(answer.status); // 401
 * ```
 */
export function webhookHandler(
  receiver: Pick<Receiver, 'receive'>,
  options: { readonly waitUntil?: WaitUntil } = {},
): (request: Request, ...context: Context) => Promise<Response> {
  assertOptions('webhookHandler', options, { waitUntil: true });
  const { waitUntil } = options;
  return async (request, ...context) => {
    const arrivedAt = performance.now();
    const host = { waitUntil: waitUntil ?? waitUntilOf(context) };
    const outcome = await receiver.receive({ ...deliveryOf(request), host });
    await discardBody(request, arrivedAt);
    return answer(outcome);
  };
}

/**
 * Creates a function that passes only authentic events to `handler`, which returns the response. The function neither
 * stores nor deduplicates events. If the handler throws, the response is a 500. If the handler does not finish by the
 * deadline, the response is a 503. After either response, the service sends the event again.
 *
 * @param handler - receives the delivery and the host's other arguments; the delivery has the raw bytes in `body` and
 * the typed event in `event`
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 * @example
 * ```ts
 * import { webhookVerifier } from 'hookbox/fetch';
 *
 * const POST = webhookVerifier({ secret: 'a signing secret' }, async ({ event }) => {
 *   console.log(event.type);
 *   return Response.json({ received: true });
 * });
 * console.log(typeof POST);
 * ```
 */
export function webhookVerifier<C extends unknown[]>(
  options: VerifierOptions & { readonly waitUntil?: WaitUntil },
  handler: (delivery: VerifiedDelivery & { readonly request: Request }, ...context: C) => Response | Promise<Response>,
): (request: Request, ...context: C) => Promise<Response> {
  assertOptions('webhookVerifier', options, { ...VERIFIER_OPTIONS, waitUntil: true });
  const { waitUntil, ...verifying } = options;
  const verifier = createVerifier(verifying);
  return async (request, ...context) => {
    const arrivedAt = performance.now();
    const host = { waitUntil: waitUntil ?? waitUntilOf(context) };
    const result = await verifier.passOn({ ...deliveryOf(request), host }, (verified) =>
      handler({ ...verified, request }, ...context),
    );
    if (!isErrorOutcome(result)) return result.passed;
    await discardBody(request, arrivedAt);
    return answer(result);
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
 * import { pageHandler } from 'hookbox/fetch';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('hookbox.db');
 * const show = pageHandler(opsPage({ inbox }, { authorize: () => ({ role: 'viewer', name: 'ada' }) }));
 * console.log((await show(new Request('https://shop.example/ops/events'))).status); // 200
 * await inbox.close();
 * ```
 */
export function pageHandler(page: Page): (request: Request, ...context: Context) => Promise<Response> {
  return async (request, server) => page.fetch(request, { server, mountedAt: null } satisfies Mounted);
}

function deliveryOf(request: Request): Delivery {
  return {
    method: request.method,
    signature: request.headers.get('x-signature'),
    contentEncoding: request.headers.get('content-encoding'),
    header: (name) => request.headers.get(name),
    body: webBodyReader(request, FIX),
  };
}

function answer({ status, headers, body }: Outcome): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...headers, 'Content-Type': 'application/json' } });
}

/** Cloudflare passes (request, env, context) and Netlify (request, context). */
function waitUntilOf(context: Context): WaitUntil | undefined {
  const host = context.find(hasWaitUntil);
  return host && ((work) => host.waitUntil(work));
}

function hasWaitUntil(value: unknown): value is { waitUntil: WaitUntil } {
  return typeof value === 'object' && value !== null && 'waitUntil' in value && typeof value.waitUntil === 'function';
}
