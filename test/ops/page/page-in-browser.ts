import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { opsPage } from 'hookbox/ops/page';
import { serveApp } from '../../adapters/served-app.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { FAILED, handled } from '../events-in-states.ts';

export interface Opened {
  readonly page: Page;
  readonly inbox: Inbox;
  readonly origin: string;
  readonly posted: readonly Readonly<Record<string, string>>[];
  readonly server: {
    updateMs: number;
    readonly updates: { readonly began: number; readonly ended: number }[];
  };
}

export async function openedIn(browser: Browser, ...dead: readonly string[]): Promise<Opened> {
  const inbox = sqliteInbox(scratchFile());
  for (const id of dead) await handled(inbox, FAILED, orderEvent(id, { order: id }));
  const posted: Record<string, string>[] = [];
  const server: Opened['server'] = { updateMs: 0, updates: [] };
  const app = new Hono();
  app.use(async (c, next) => {
    if (c.req.method === 'POST') posted.push(c.req.header());
    const began = performance.now();
    await next();
    if (c.req.header('hookbox-live') === undefined) return;
    await sleep(server.updateMs);
    server.updates.push({ began, ended: performance.now() });
  });
  app.route('/ops', opsPage({ inbox }, { unsafeOpen: true }));
  const served = await serveApp(app);
  const context = await browser.newContext({ viewport: { width: 1000, height: 500 } });
  onTestFinished(async () => {
    await context.close();
    await served[Symbol.asyncDispose]();
    await inbox.close();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  return { page, inbox, posted, server, origin: new URL(served.url).origin };
}

export function asks<T>(page: Page, expression: string): Promise<T> {
  return page.evaluate<T>(expression);
}
