import { readFileSync } from 'node:fs';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { nameOf } from '../../errors.ts';
import type { Logger } from '../../host/logger.ts';
import { createGuard, SAFE_HEADERS } from '../../page/safety/request-guard.ts';
import type { Assumptions } from '../assumptions.ts';
import { isAccepted, ONLY_HTTPS } from '../secure-transport.ts';
import { openApiDocument } from './document.ts';
import { PAGE_STYLE } from './interface-request.ts';
import { InterfacePage } from './page/interface-page.tsx';

/** The OpenAPI document and the page to read, both of this very sandbox. They need no key, count for no limit and know no fault. */
export function createInterface(assumptions: Assumptions, logger: Logger): Hono {
  const app = new Hono();
  const guard = createGuard({}, false);
  const style = readFileSync(new URL('../../page/assets/page.css', import.meta.url), 'utf8');

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) c.header(name, value);
    if (!isAccepted(c.req.raw, c.env, assumptions)) return c.text(ONLY_HTTPS, 403);
    const why = guard(c.req.raw, null);
    if (why !== null) return c.text(why, 403);
    return next();
  });

  app.get('/openapi.json', (c) => {
    return c.json(openApiDocument({ assumptions, server: new URL(c.req.url).origin }));
  });
  app.get('/interface', (c) => {
    const server = new URL(c.req.url).origin;
    const document = openApiDocument({ assumptions, server });
    return c.html(html`<!doctype html>${<InterfacePage {...{ document, assumptions, server }} />}`);
  });
  app.get(PAGE_STYLE, (c) => c.body(style, 200, { 'Content-Type': 'text/css; charset=utf-8' }));

  app.onError((failure, c) => {
    logger.error({ error: nameOf(failure) }, 'the sandbox could not show its interface');
    return c.text('Something went wrong.', 500);
  });
  return app;
}
