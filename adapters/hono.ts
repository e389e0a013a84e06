/**
 * The adapter for Hono. `webhookHandler` stores events; `webhookVerifier` only verifies deliveries.
 *
 * @module
 */
import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { performance } from '../src/host/real-timers.ts';
import {
  createVerifier,
  isErrorOutcome,
  type BodyReader,
  type Delivery,
  type HostLimits,
  type Outcome,
  type Receiver,
  type VerifierOptions,
} from '../src/index.ts';
import type { Mounted, Page } from '../src/page/mounting.ts';
import { addressOf, answerHeaders, joined, type VerifiedWebhook } from './node-exchange.ts';
import { endStream, lingering, nodeBodyReader } from './read-node-body.ts';
import { discardBody, webBodyReader } from './read-web-body.ts';

/** The variables that `webhookVerifier` sets in `c.var`. */
export type WebhookVariables = Pick<VerifiedWebhook, keyof VerifiedWebhook>;

/** Every Hono 4 has these members, and an app may have another copy of Hono. */
interface HonoContext {
  readonly env: unknown;
  readonly req: {
    readonly raw: Request;
    readonly method: string;
    readonly bodyCache: object;
    header(name: string): string | undefined;
    arrayBuffer(): Promise<ArrayBuffer>;
  };
  /** Throws if the host passed none. */
  readonly executionCtx: { waitUntil(work: Promise<unknown>): void };
  set(key: string, value: unknown): void;
  body(data: string, status: Outcome['status'], headers: Record<string, string>): Response;
}

type HonoHandler = (c: HonoContext) => Promise<Response>;
/** The second type gives `c.var` its types, if the app has the same copy of Hono. */
type HonoVerifier = ((c: HonoContext, next: () => Promise<void>) => Promise<Response | void>) &
  MiddlewareHandler<{ Variables: WebhookVariables }>;

const FIX =
  'other code read the body first. Mount the webhook route before that code. Or let that code read with ' +
  'c.req.text() or c.req.arrayBuffer(), which Hono caches, instead of c.req.raw.';

/**
 * Mounts a receiver in a Hono app. Middleware that runs first may read the body with `c.req.json()` or `c.req.text()`,
 * but not from `c.req.raw`.
 *
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/hono';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const app = new Hono();
 * app.post('/webhooks', webhookHandler(createReceiver({ secret: 'a signing secret', inbox: memoryInbox() })));
 * ```
 */
export function webhookHandler(receiver: Pick<Receiver, 'receive'>): HonoHandler {
  return async (c) => {
    const arrivedAt = performance.now();
    return answered(c, await receiver.receive(deliveryOf(c)), arrivedAt);
  };
}

/**
 * Middleware that passes only authentic events to your own handler. The middleware neither stores nor deduplicates
 * events.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { isKnown } from 'hookbox';
 * import { webhookVerifier } from 'hookbox/hono';
 *
 * const app = new Hono();
 * app.post('/webhooks', webhookVerifier({ secret: 'a signing secret' }), (c) => {
 *   const event = c.var.webhookEvent;
 *   if (isKnown(event) && event.type === 'order.created') console.log(event.data.total);
 *   return c.json({ received: true });
 * });
 * ```
 */
export function webhookVerifier(options: VerifierOptions): HonoVerifier {
  const verifier = createVerifier(options);
  return async (c: HonoContext, next: () => Promise<void>) => {
    const arrivedAt = performance.now();
    const verified = await verifier.verify(deliveryOf(c));
    if (isErrorOutcome(verified)) return answered(c, verified, arrivedAt);
    c.set('webhookEvent', verified.event);
    c.set('webhookBody', verified.body);
    c.set('webhookSignature', verified.signature);
    keepForOthers(c, verified.body);
    return next();
  };
}

/**
 * Mounts a hookbox page, such as the operators' page, on a route that ends in `/*`. In Hono, `app.route('/ops', page)`
 * has the same effect.
 *
 * @param page - a page that `opsPage` or `sandboxPage` returned
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { pageHandler } from 'hookbox/hono';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('hookbox.db');
 * const app = new Hono();
 * app.all('/ops/*', pageHandler(opsPage({ inbox }, { authorize: () => ({ role: 'viewer', name: 'ada' }) })));
 * console.log((await app.request('/ops/events')).status); // 200
 * await inbox.close();
 * ```
 */
export function pageHandler(page: Page): HonoHandler {
  return async (c) => page.fetch(c.req.raw, { server: c.env, mountedAt: null } satisfies Mounted);
}

/** Keeps c.req.json() working for later handlers. Copies the body only for a handler that reads it. */
function keepForOthers(c: HonoContext, body: Uint8Array): void {
  let copy: Promise<ArrayBuffer> | undefined;
  const bodyCache = {
    ...c.req.bodyCache,
    // Hono keeps promises here, despite its type.
    get arrayBuffer() {
      return (copy ??= Promise.resolve(Uint8Array.from(body).buffer));
    },
  };
  Object.assign(c.req, { bodyCache });
}

function deliveryOf(c: HonoContext): Delivery {
  const incoming = nodeRequest(c);
  if (incoming === null) {
    return {
      method: c.req.method,
      signature: c.req.header('x-signature'),
      contentEncoding: c.req.header('content-encoding'),
      header: (name) => c.req.header(name),
      body: cachedBody(c) ?? webBodyReader(c.req.raw, FIX),
      host: { waitUntil: waitUntilOf(c) },
    };
  }
  const { headers } = incoming;
  return {
    method: c.req.method,
    signature: joined(headers['x-signature']),
    contentEncoding: headers['content-encoding'],
    header: (name) => joined(headers[name]),
    body: servedBody(c, incoming),
    source: () => addressOf(incoming),
  };
}

function waitUntilOf(c: HonoContext): HostLimits['waitUntil'] {
  try {
    const { executionCtx } = c;
    return (work) => executionCtx.waitUntil(work);
  } catch {
    return undefined;
  }
}

/** The events of @hono/node-server's request are faster to read than its web stream. */
function nodeRequest(c: HonoContext): IncomingMessage | null {
  const bindings: unknown = c.env;
  if (typeof bindings !== 'object' || bindings === null || !('incoming' in bindings)) return null;
  const { incoming } = bindings;
  const isRequest = typeof incoming === 'object' && incoming !== null && 'headers' in incoming && 'on' in incoming;
  return isRequest ? (incoming as IncomingMessage) : null;
}

function servedBody(c: HonoContext, incoming: IncomingMessage): Delivery['body'] {
  const cached = cachedBody(c);
  if (cached !== null) return lingering(incoming, cached);
  const { raw } = c.req;
  if (raw.bodyUsed) return () => Promise.resolve({ ended: 'consumed', fix: FIX });
  return hasWebStream(raw) ? lingering(incoming, webBodyReader(raw, FIX)) : nodeBodyReader(incoming, FIX);
}

/** A touched web body owns the events of the Node request. @hono/node-server keeps that body under these symbols. */
function hasWebStream(raw: Request): boolean {
  let isServers = false;
  for (const { description } of Object.getOwnPropertySymbols(raw)) {
    if (description === 'requestCache') return true;
    if (description === 'incomingKey') isServers = true;
  }
  return !isServers;
}

const REPLACEMENT = '\uFFFD';

function cachedBody(c: HonoContext): BodyReader | null {
  const bodyCache: { readonly arrayBuffer?: unknown; readonly text?: unknown; readonly blob?: unknown } =
    c.req.bodyCache;
  if (bodyCache.arrayBuffer === undefined && bodyCache.text === undefined && bodyCache.blob === undefined) return null;
  const isText = bodyCache.arrayBuffer === undefined && bodyCache.blob === undefined;
  return async ({ maxBytes, late }) => {
    try {
      const read = await Promise.race([c.req.arrayBuffer(), late]);
      if (typeof read === 'string') return { ended: read };
      const bytes = new Uint8Array(read);
      // Text that was decoded from other bytes, or lost its BOM, is not the signed body.
      const declared = c.req.header('content-length');
      if (declared !== undefined && Number(declared) !== bytes.byteLength) return { ended: 'consumed', fix: FIX };
      if (bytes.byteLength > maxBytes) return { ended: 'too-large' };
      const replaced = isText && declared === undefined && Buffer.from(bytes).includes(REPLACEMENT);
      return { ended: 'complete', bytes, ...(replaced && { mismatchFix: FIX }) };
    } catch {
      return { ended: 'aborted' };
    }
  };
}

async function answered(c: HonoContext, { status, headers, body }: Outcome, arrivedAt: number): Promise<Response> {
  const incoming = nodeRequest(c);
  if (incoming === null) await discardBody(c.req.raw, arrivedAt);
  else endStream(incoming);
  const all = incoming === null ? { ...headers, 'Content-Type': 'application/json' } : answerHeaders(incoming, headers);
  return c.body(JSON.stringify(body), status, all);
}
