import { Hono } from 'hono';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Inbox } from '../../../src/inbox/inbox.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { rerunEvents } from '../../../src/ops/index.ts';
import { opsPage } from '../../../src/ops/page/page.tsx';
import { serveApp } from '../../adapters/served-app.ts';
import { openBrowser } from '../../browser/browser.ts';
import { scratchFile } from '../../inbox/scratch-folder.ts';
import { orderEvent, store } from '../../processing/order-event.ts';
import { FAILED, handled } from '../events-in-states.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

interface Opened {
  readonly page: Page;
  readonly inbox: Inbox;
  readonly origin: string;
  /** the headers of forms that were sent */
  readonly posted: readonly Readonly<Record<string, string>>[];
}

async function opened(...dead: readonly string[]): Promise<Opened> {
  const inbox = sqliteInbox(scratchFile());
  for (const id of dead) await handled(inbox, FAILED, orderEvent(id, { order: id }));
  const posted: Record<string, string>[] = [];
  const app = new Hono();
  app.use(async (c, next) => {
    if (c.req.method === 'POST') posted.push(c.req.header());
    await next();
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
  return { page, inbox, posted, origin: new URL(served.url).origin };
}

/** Asks the page, in its own words. */
function asks<T>(page: Page, expression: string): Promise<T> {
  return page.evaluate<T>(expression);
}

test('a list that is brought up to date keeps the focus, the row that is selected, and where it was scrolled to', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `evt_${n}`);
  const { page, inbox, origin } = await opened(...ids);
  await page.goto(`${origin}/ops/events?state=dead`);
  await page.locator('#live-state[data-state=live]').waitFor();
  for (let n = 0; n < 20; n += 1) await page.keyboard.press('j');
  const link = `/ops/events/default/evt_20`;
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  const before = await asks<number>(page, 'document.activeElement.getBoundingClientRect().top');

  await handled(inbox, FAILED, orderEvent('evt_new'));
  await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_30' }], { actor: 'grace' });
  await page.locator('tr[data-href$="/evt_new"]').waitFor();
  expect(await page.locator('tr[data-href$="/evt_30"]').count()).toBe(0);
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  expect(await asks(page, 'document.querySelector("[data-selected]").dataset.href')).toBe(link);
  expect(
    Math.abs((await asks<number>(page, 'document.activeElement.getBoundingClientRect().top')) - before),
  ).toBeLessThan(80);

  // The very row that somebody is in goes when they have left it.
  await rerunEvents(
    inbox,
    [
      { endpoint: 'default', id: 'evt_20' },
      { endpoint: 'default', id: 'evt_21' },
    ],
    { actor: 'grace' },
  );
  await page.locator('tr[data-href$="/evt_21"]').waitFor({ state: 'detached' });
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  await page.keyboard.press('k');
  await handled(inbox, FAILED, orderEvent('evt_newer'));
  await page.locator('tr[data-href$="/evt_20"]').waitFor({ state: 'detached' });
});

test('an event that changes keeps what is typed and what is open, until it is sent', async () => {
  const { page, inbox, origin, posted } = await opened('evt_1');
  await page.goto(`${origin}/ops/events/default/evt_1#discard`);
  expect(await asks(page, 'document.activeElement.textContent.trim()')).toBe('Discard this event');
  await page.locator('#discard input[name=reason]').fill('half a reas');
  await page.locator('#stack-1 summary').click();
  await page.locator('#discard input[name=reason]').focus();
  await store(inbox, orderEvent('evt_1'));
  await page.locator('#timeline').getByText('sent again by the service').waitFor();
  expect(await asks(page, 'document.activeElement.name')).toBe('reason');
  expect(await page.locator('#stack-1').getAttribute('open')).not.toBeNull();
  // Keys are letters while somebody types.
  await page.keyboard.type('on: jkr/?');
  expect(await page.locator('#discard input[name=reason]').inputValue()).toBe('half a reason: jkr/?');
  await page.keyboard.press('Enter');
  await page.locator('#headline .state-ignored').waitFor();
  expect(await page.locator('#flash').textContent()).toContain('The event is put away');
  // Said once: not in the URL any more.
  expect(page.url()).toBe(`${origin}/ops/events/default/evt_1`);
  // What the guard goes by, as a browser sends it.
  expect(posted).toMatchObject([{ origin, 'sec-fetch-site': 'same-origin' }]);
});

test('nothing moves while a text is selected, or in a tab that nobody sees', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await asks(page, 'document.getSelection().selectAllChildren(document.querySelector("td[data-label=about]"))');
  await store(inbox, orderEvent('evt_2'));
  await page.getByText('Paused: text is selected').waitFor();
  expect(await page.locator('tr[data-href$="/evt_2"]').count()).toBe(0);
  await asks(page, 'document.getSelection().removeAllRanges()');
  await page.locator('tr[data-href$="/evt_2"]').waitFor();

  await asks(
    page,
    `Object.defineProperty(document, 'hidden', { value: true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
  );
  await store(inbox, orderEvent('evt_3'));
  await page.getByText('Paused', { exact: true }).waitFor();
  await asks(
    page,
    `Object.defineProperty(document, 'hidden', { value: false, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
  );
  await page.locator('tr[data-href$="/evt_3"]').waitFor();
});

test('r on a row leads to where a rerun is confirmed, and Enter opens it', async () => {
  const { page, inbox, origin } = await opened('evt_1', 'evt_2');
  await page.goto(`${origin}/ops/events`);
  await page.keyboard.press('r');
  await page.keyboard.press('k');
  await page.keyboard.press('r');
  await page.waitForURL('**/events/default/evt_1');
  expect(await asks(page, 'document.activeElement.textContent.trim()')).toBe('Rerun this event');
  expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('dead');
  await page.goBack();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/events/default/evt_2');
});
