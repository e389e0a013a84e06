import { Hono } from 'hono';
import { nameOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { createGuard, SAFE_HEADERS } from '../page/safety/request-guard.ts';
import type { Assumptions } from './assumptions.ts';
import { isAccepted, ONLY_HTTPS } from './secure-transport.ts';

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
