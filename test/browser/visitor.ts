import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { OPERATOR } from './ops-site.ts';

/** Somebody who looks at the page, in a browser context of their own. */
export interface Visitor extends AsyncDisposable {
  readonly page: Page;
  /** Goes to a screen, such as `/events`. */
  readonly open: (path: string) => Promise<void>;
  /** what must not happen while somebody looks, each in a line: dialogs, errors, warnings, windows, requests to elsewhere */
  readonly troubles: readonly string[];
}

export interface VisitorOptions extends BrowserContextOptions {
  /** an operator unless given */
  readonly as?: { readonly username: string; readonly password: string };
  /** where the page is; `/ops` unless given */
  readonly at?: string;
}

export async function visitor(
  browser: Browser,
  site: { readonly origin: string },
  options: VisitorOptions = {},
): Promise<Visitor> {
  const { as = OPERATOR, at = '/ops', ...rest } = options;
  const context = await browser.newContext({ httpCredentials: as, viewport: { width: 1280, height: 800 }, ...rest });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  return {
    page,
    troubles: troublesOf(page, site.origin),
    async open(path) {
      await page.goto(`${site.origin}${at}${path}`);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

function troublesOf(page: Page, origin: string): readonly string[] {
  const troubles: string[] = [];
  const note = (what: string): void => void troubles.push(`${what} (on ${page.url()})`);
  page.on('dialog', (dialog) => {
    note(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => note(`an error: ${error.message}`));
  page.on('crash', () => note('a crash'));
  page.on('popup', (popup) => note(`a new window: ${popup.url()}`));
  page.on('download', (download) => note(`a download: ${download.url()}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    const { origin: to, protocol } = new URL(request.url());
    if (to !== origin && protocol !== 'data:') note(`a request to ${request.url()}`);
  });
  return troubles;
}
