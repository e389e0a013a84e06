import { Hono } from 'hono';
import { nameOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { createGuard, SAFE_HEADERS, isLoopbackAddress, peerOf } from '../page/safety/request-guard.ts';
import type { Assumptions } from './assumptions.ts';

/**
 * A page of the sandbox itself, to which routes are added: it is for whom the service is for, and not for other sites.
 *
 * @param what - that could not be shown, where something fails
 */
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

/** Names that lead to this machine without asking anybody, and the one that calls without a port go by. */
const LOCAL_NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|sandbox)$/;

/** What is said where it is not. */
export const ONLY_HTTPS = 'HTTPS is required. Plain HTTP is accepted only from this machine.';

/**
 * Only HTTPS is accepted (interface 5.4), except where nothing leaves the machine, or where plain HTTP is assumed to do (A12).
 *
 * @param env - what the server has handed along with the request, which tells where the connection comes from
 */
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
