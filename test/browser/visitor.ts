import { expect } from 'vitest';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { OPERATOR } from './ops-site.ts';

export interface Visitor extends AsyncDisposable {
  readonly page: Page;
  /** Goes to a screen, such as `/events`. */
  readonly open: (path: string) => Promise<void>;
}

interface VisitorOptions extends BrowserContextOptions {
  readonly as?: { readonly username: string; readonly password: string };
  readonly at?: string;
  readonly mayDownload?: boolean;
}

/** Opens a page that must cause no dialog, error, warning, window, download or request to elsewhere. */
export async function visitor(
  browser: Browser,
  site: { readonly origin: string },
  { as = OPERATOR, at = '/ops', mayDownload = false, ...rest }: VisitorOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ httpCredentials: as, viewport: { width: 1280, height: 800 }, ...rest });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const troubles = troublesOf(page, site.origin);
  return {
    page,
    async open(path) {
      await page.goto(`${site.origin}${at}${path}`);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      expect(troubles.filter((trouble) => !mayDownload || !trouble.startsWith('a download: '))).toEqual([]);
    },
  };
}

export async function sees(page: Page, text: string): Promise<void> {
  await page.locator('main').getByText(text).first().waitFor();
}

/** Presses Tab until something has the focus that a screen reader calls so. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = [];
  for (let n = 0; n < 120; n += 1) {
    const is = await focused(page);
    if (typeof name === 'string' ? is === name : name.test(is)) return;
    seen.push(is);
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${String(name)}, but to: ${seen.join(' | ')}`);
}

export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { activeElement: is } = document;
    const label = is.labels?.[0]?.textContent;
    return (is.getAttribute('aria-label') ?? label ?? is.textContent ?? '').trim();
  })()`);
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
