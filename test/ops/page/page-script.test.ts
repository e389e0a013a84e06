import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { discardEvents, rerunEvents } from '../../../src/ops/index.ts';
import { openBrowser } from '../../browser/browser.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { asks, openedIn } from './page-in-browser.ts';
import { FAILED, handleAgain, handled } from '../events-in-states.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const opened = (...dead: readonly string[]) => openedIn(browser, ...dead);

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
  await page.getByRole('button', { name: '1 new' }).waitFor();
  // What fits no more says so in its place.
  await page.locator('tr[data-href$="/evt_30"] .state-pending').waitFor();
  expect(await page.locator('tr[data-href$="/evt_new"]').count()).toBe(0);
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  expect(await asks(page, 'document.querySelector("[data-selected]").dataset.href')).toBe(link);
  expect(await asks<number>(page, 'document.activeElement.getBoundingClientRect().top')).toBe(before);

  // The very row that somebody is in changes too, and stays.
  await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_20' }], { actor: 'grace' });
  await page.locator('tr[data-href$="/evt_20"] .state-pending').waitFor();
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  await page.getByRole('button', { name: '1 new' }).click();
  await page.locator('tr[data-href$="/evt_new"]').waitFor();
  expect(await page.locator('tbody tr').first().getAttribute('data-event')).toBe('default/evt_new');
  expect(await page.getByRole('button', { name: 'new' }).count()).toBe(0);
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
  // Said once: not in the URL any more (playwright hears of that after the page has done it).
  await expect.poll(() => page.url()).toBe(`${origin}/ops/events/default/evt_1`);
  // What the guard goes by, as a browser sends it.
  expect(posted).toMatchObject([{ origin, 'sec-fetch-site': 'same-origin' }]);
});

test('a form that somebody is in asks for what it asked for, whatever has become of the event', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events/default/evt_1#rerun`);
  await page.locator('#rerun input[name=reason]').fill('the shop is up');
  await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], { actor: 'grace' });
  await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_1', { order: 'evt_1' }));
  await page.locator('#headline .state-processed').waitFor();
  expect(await asks(page, 'new FormData(document.activeElement.form).get("force")')).toBeNull();
  expect(await page.locator('#rerun-again input[name=force]').count()).toBe(1);
  await page.keyboard.press('Enter');
  await page.getByText('This event was dead when the page was drawn, and is processed now.').waitFor();
  expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await page.keyboard.press('r');
  expect(await asks(page, 'document.activeElement.textContent.trim()')).toBe('Rerun this processed event');
});

test('a form goes with what is shown until somebody opens it', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  const event = { endpoint: 'default', id: 'evt_1' };
  const asked = (): Promise<string> => asks(page, 'document.querySelector("#rerun input[name=state]").value');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await discardEvents(inbox, [event], { actor: 'grace' });
  await page.locator('#headline .state-ignored').waitFor();
  expect(await asked()).toBe('ignored');
  await page.locator('#rerun summary').click();
  await rerunEvents(inbox, [event], { actor: 'grace' });
  await handleAgain(inbox, FAILED, orderEvent('evt_1', { order: 'evt_1' }));
  await page.locator('#headline .state-dead').waitFor();
  expect(await asked()).toBe('ignored');
  await page.getByRole('button', { name: 'Rerun this event' }).click();
  await page.getByText('This event was ignored when the page was drawn, and is dead now.').waitFor();
  expect((await inbox.get(event))?.state).toBe('dead');
});

test('r goes to no button that does something else', async () => {
  const { page, inbox, origin } = await opened();
  await store(inbox, orderEvent('evt_1'));
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.locator('#discard summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('r');
  expect(await asks(page, 'document.activeElement.localName')).toBe('summary');
});

test('d goes to where a discard is confirmed, and no further; a click there leads to the reason', async () => {
  const { page, inbox, origin } = await opened('evt_1', 'evt_2');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.keyboard.press('d');
  expect(await asks(page, 'document.activeElement.textContent.trim()')).toBe('Discard this event');
  await page.reload();
  await page.locator('#discard summary').click();
  await page.locator('#discard input[name=reason]:focus').waitFor();

  await page.goto(`${origin}/ops/dead`);
  await page.keyboard.press('j');
  await page.keyboard.press('d');
  await page.getByText('Will discard 2 events').waitFor();
  // In a preview it is no key: that may be of a rerun.
  await page.locator('h1').click();
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('d');
  expect(await asks(page, 'document.activeElement.localName')).toBe('body');
  expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('dead');
});

test('the server rests after each update, for several times as long as it took', async () => {
  const { page, inbox, origin, server } = await opened();
  server.updateMs = 400;
  await page.goto(`${origin}/ops/events`);
  for (let n = 0; server.updates.length < 3; n += 1) {
    await store(inbox, orderEvent(`evt_${n}`));
    await sleep(50);
  }
  const [, second = { began: 0, ended: 0 }, third = { began: 0, ended: 0 }] = server.updates;
  expect(third.began - second.ended).toBeGreaterThan(3 * (second.ended - second.began));
});

test('ages grow while nothing happens: a page is brought up to date every minute', async () => {
  const { page, origin, server } = await opened();
  await page.clock.install();
  await page.goto(`${origin}/ops/events`);
  await expect.poll(() => server.updates.length, { timeout: 5_000 }).toBe(1);
  await sleep(1_500);
  expect(server.updates.length).toBe(1);
  await page.clock.fastForward('01:01');
  await expect.poll(() => server.updates.length, { timeout: 5_000 }).toBe(2);
});

test('nothing moves while a text is selected, or in a tab that nobody sees', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await asks(page, 'document.getSelection().selectAllChildren(document.querySelector("td[data-col=about]"))');
  await store(inbox, orderEvent('evt_2'));
  await page.getByText('Paused: text is selected').waitFor();
  expect(await page.locator('tr[data-href$="/evt_2"]').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'new' }).count()).toBe(0);
  await asks(page, 'document.getSelection().removeAllRanges()');
  await page.getByRole('button', { name: '1 new' }).waitFor();

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
  await page.getByRole('button', { name: '2 new' }).waitFor();
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

test('a page that is told to come again later does, without a reload', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events?state=dead`);
  await page.locator('#live-state[data-state=live]').waitFor();
  let refused = 0;
  await page.route('**/ops/events?**', async (route) => {
    refused += 1;
    if (refused > 2) return route.continue();
    return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, body: '' });
  });
  await handled(inbox, FAILED, orderEvent('evt_new'));
  await page.getByRole('button', { name: '1 new' }).waitFor();
  expect(refused).toBeGreaterThanOrEqual(3);
});
