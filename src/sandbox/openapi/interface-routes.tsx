import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Logger } from '../../host/logger.ts';
import { ASSETS } from '../../page/asset-texts.ts';
import type { Assumptions } from '../assumptions.ts';
import { createOwnPage } from '../own-page.ts';
import { openApiDocument } from './document.ts';
import { PAGE_STYLE } from './interface-request.ts';
import { InterfacePage } from './page/interface-page.tsx';

/** The OpenAPI document and the page to read, both of this very sandbox. They need no key, count for no limit and know no fault. */
export function createInterface(assumptions: Assumptions, logger: Logger): Hono {
  const app = createOwnPage(assumptions, logger, 'its interface');

  app.get('/openapi.json', (c) => {
    return c.json(openApiDocument({ assumptions, server: new URL(c.req.url).origin }));
  });
  app.get('/interface', (c) => {
    const server = new URL(c.req.url).origin;
    const document = openApiDocument({ assumptions, server });
    return c.html(html`<!doctype html>${<InterfacePage {...{ document, assumptions, server }} />}`);
  });
  app.get(PAGE_STYLE, (c) => c.body(ASSETS['page.css'], 200, { 'Content-Type': 'text/css; charset=utf-8' }));

  return app;
}
