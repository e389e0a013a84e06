/**
 * The adapter for Express 5 and 4.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createVerifier, isErrorOutcome, type Receiver, type VerifierOptions } from '../src/index.ts';
import type { Page } from '../src/page/mounting.ts';
import { answer, deliveryOf, putOn, type VerifiedWebhook } from './node-exchange.ts';
import { nodePage } from './node-page.ts';

export type { VerifiedWebhook } from './node-exchange.ts';

declare global {
  // oxlint-disable-next-line typescript/no-namespace -- Express requires this form to extend Request
  namespace Express {
    interface Request extends Partial<VerifiedWebhook> {}
  }
}

const FIX =
  'mount the webhook route before express.json(), or make express.json keep the raw body: ' +
  "express.json({ limit: '1mb', verify: (req, res, bytes) => { req.rawBody = bytes } }).";

type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>;

/**
 * Mounts a receiver in an Express app. Mount the receiver before `express.json()`. If a body parser runs first, the
 * receiver works only if `express.raw()` or a `verify` function keeps the raw bytes. Otherwise, each delivery gets a
 * 500, and the log explains how to keep the bytes.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/express';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const app = express();
 * app.post('/webhooks', webhookHandler(createReceiver({ secret: 'a signing secret', inbox: memoryInbox() })));
 * app.use(express.json());
 * ```
 */
export function webhookHandler(
  receiver: Pick<Receiver, 'receive'>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => answer(request, response, await receiver.receive(deliveryOf(request, FIX)));
}

/**
 * Middleware that passes only authentic events to your own handler. The event is in `req.webhookEvent`, and its body is
 * in `req.webhookBody`. The middleware neither stores nor deduplicates events.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 * @example
 * ```ts
 * import express from 'express';
 * import { webhookVerifier } from 'hookbox/express';
 *
 * const app = express();
 * app.post('/webhooks', webhookVerifier({ secret: 'a signing secret' }), (req, res) => {
 *   console.log(req.webhookEvent?.type);
 *   res.json({ received: true });
 * });
 * ```
 */
export function webhookVerifier(options: VerifierOptions): Middleware {
  const verifier = createVerifier(options);
  return async (request, response, next) => {
    const verified = await verifier.verify(deliveryOf(request, FIX));
    if (isErrorOutcome(verified)) return answer(request, response, verified);
    putOn(request, verified);
    next();
  };
}

/**
 * Mounts a hookbox page, such as the operators' page, at the path of `app.use` or of a router. The page works whether
 * you mount it before or after form parsers.
 *
 * @param page - a page that `opsPage` or `sandboxPage` returned
 * @example
 * ```ts
 * import express from 'express';
 * import { pageHandler } from 'hookbox/express';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('hookbox.db');
 * const app = express();
 * app.use('/ops', pageHandler(opsPage({ inbox }, { authorize: () => ({ role: 'viewer', name: 'ada' }) })));
 * await inbox.close();
 * ```
 */
export function pageHandler(page: Page): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return nodePage(page);
}
