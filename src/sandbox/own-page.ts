import { Hono } from 'hono';
import { nameOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { isLoopbackAddress } from '../host/loopback.ts';
import { createGuard, SAFE_HEADERS, peerOf } from '../page/safety/request-guard.ts';
import type { Assumptions } from './assumptions.ts';

/** Rejects other sites, and clients that the service rejects. */
export function createOwnPage(assumptions: Assumptions, logger: Logger, what: string): Hono {
  const app = new Hono();
  const guard = createGuard({}, false);

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) c.header(name, value);
    if (!isAccepted(c.req.raw, c.env, assumptions)) return c.text(ONLY_HTTPS, 403);
    const why = guard(c.req.raw, null);
    if (why !== null) return c.text(why, 403);
    return next();
  });

  app.onError((failure, c) => {
    logger.error({ error: nameOf(failure) }, `the sandbox could not show ${what}`);
    return c.text('Unexpected error.', 500);
  });
  return app;
}

/** Names of this machine that need no DNS, and `sandbox` for calls without a port. */
const LOCAL_NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|sandbox)$/;

export const ONLY_HTTPS = 'HTTPS is required. Plain HTTP is accepted only from this machine.';

/** HTTPS only (interface 5.4), except within this machine and by A12. `env` has the client's address. */
export function isAccepted(
  request: Request,
  env: unknown,
  { plainHttpAnywhere }: Pick<Assumptions, 'plainHttpAnywhere'>,
): boolean {
  const { protocol, hostname } = new URL(request.url);
  if (plainHttpAnywhere || protocol === 'https:') return true;
  const peer = peerOf(env, request);
  return LOCAL_NAME.test(hostname) && (peer === null || isLoopbackAddress(peer));
}
