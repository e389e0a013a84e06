// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { discardEvents, listBulks, rerunEvents } from '../../../src/ops/index.ts';
import { openBrowser, ofFile } from '../../browser/browser.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { asks, openedIn } from './page-in-browser.ts';
import { FAILED, handleAgain, handled } from '../events-in-states.ts';

const browser = await ofFile(openBrowser());

const IN_REASON_OF =
  'document.activeElement.name === "reason" && document.activeElement.form.querySelector("button:not([hidden])").textContent.trim()';

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
  await page.locator('tr[data-href$="/evt_30"] .state-pending').waitFor();
  expect(await page.locator('tr[data-href$="/evt_new"]').count()).toBe(0);
  expect(await asks(page, 'document.activeElement.getAttribute("href")')).toBe(link);
  expect(await asks(page, 'document.querySelector("[data-selected]").dataset.href')).toBe(link);
  expect(await asks<number>(page, 'document.activeElement.getBoundingClientRect().top')).toBe(before);

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
  expect(await asks(page, IN_REASON_OF)).toBe('Discard this event');
  await page.locator('#discard input[name=reason]').fill('half a reas');
  await asks(page, 'document.querySelector("#stack-1").open = true');
  await store(inbox, orderEvent('evt_1'));
  await page.locator('#timeline').getByText('redelivered').waitFor();
  expect(await asks(page, 'document.activeElement.name')).toBe('reason');
  expect(await page.locator('#stack-1').getAttribute('open')).not.toBeNull();
  await page.keyboard.type('on: jkr/?');
  expect(await page.locator('#discard input[name=reason]').inputValue()).toBe('half a reason: jkr/?');
  await page.keyboard.press('Enter');
  expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('dead');
  await page.getByRole('button', { name: 'Discard this event' }).click();
  await page.locator('h1 .state-discarded').waitFor();
  expect(await page.locator('#flash').textContent()).toContain('The event is discarded');
  // Said once: not in the URL any more (playwright hears of that after the page has done it).
  await expect.poll(() => page.url()).toBe(`${origin}/ops/events/default/evt_1`);
  expect(posted).toMatchObject([{ origin, 'sec-fetch-site': 'same-origin' }]);
});

test('a form that somebody is in asks for what it asked for, whatever has become of the event', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events/default/evt_1#rerun`);
  await page.locator('#rerun input[name=reason]').fill('the shop is up');
  await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], { actor: 'grace' });
  await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_1', { order: 'evt_1' }));
  await page.locator('h1 .state-processed').waitFor();
  expect(await asks(page, 'new FormData(document.activeElement.form).get("force")')).toBeNull();
  expect(await page.locator('#rerun-again input[name=force]').count()).toBe(1);
  await page.keyboard.press('Enter');
  await page.getByText('The event changed from dead to processed after you opened the page.').waitFor();
  expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await page.keyboard.press('r');
  expect(await asks(page, IN_REASON_OF)).toBe('Rerun this processed event');
});

test('a form goes with what is shown until somebody opens it', async () => {
  const { page, inbox, origin } = await opened('evt_1');
  const event = { endpoint: 'default', id: 'evt_1' };
  const asked = (): Promise<string> => asks(page, 'document.querySelector("#rerun input[name=state]").value');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.locator('#live-state[data-state=live]').waitFor();
  await discardEvents(inbox, [event], { actor: 'grace' });
  await page.locator('h1 .state-discarded').waitFor();
  expect(await asked()).toBe('discarded');
  await page.getByRole('button', { name: 'Rerun…', exact: true }).click();
  await rerunEvents(inbox, [event], { actor: 'grace' });
  await handleAgain(inbox, FAILED, orderEvent('evt_1', { order: 'evt_1' }));
  await page.locator('h1 .state-dead').waitFor();
  expect(await asked()).toBe('discarded');
  await page.getByRole('button', { name: 'Rerun this event' }).click();
  await page.getByText('The event changed from discarded to dead after you opened the page.').waitFor();
  expect((await inbox.get(event))?.state).toBe('dead');
});

test('r goes to no button that does something else', async () => {
  const { page, inbox, origin } = await opened();
  await store(inbox, orderEvent('evt_1'));
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.getByRole('button', { name: 'Discard…', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('r');
  expect(await asks(page, 'document.activeElement.textContent')).toBe('Cancel');
});

test('d goes to where a discard is confirmed, and no further; a click there leads to the reason', async () => {
  const { page, inbox, origin } = await opened('evt_1', 'evt_2');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await page.keyboard.press('d');
  expect(await asks(page, IN_REASON_OF)).toBe('Discard this event');
  await page.reload();
  await page.getByRole('button', { name: 'Discard…', exact: true }).click();
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

test('r and d mean the rows that are chosen, and not the one that is selected', async () => {
  const { page, inbox, origin } = await opened('evt_1', 'evt_2', 'evt_3');
  for (const [key, act] of [
    ['r', 'rerun'],
    ['d', 'discard'],
  ] as const) {
    await page.goto(`${origin}/ops/events?state=dead`);
    for (const pressed of ['j', 'x', 'j', 'x', 'j', key]) await page.keyboard.press(pressed);
    await page.waitForURL('**/ops/bulks/*');
    await page.getByText(`Will ${act} 2 events`).waitFor();
  }
  const bulks = await listBulks(inbox);
  expect(bulks.map(({ act, total }) => [act, total])).toEqual([
    ['discard', 2],
    ['rerun', 2],
  ]);

  await page.goto(`${origin}/ops/dead`);
  for (const pressed of ['j', 'x', 'r', 'd']) await page.keyboard.press(pressed);
  await page.getByText('You can rerun or discard only one group at a time.').waitFor();
  await page.waitForLoadState('networkidle');
  expect(page.url()).toBe(`${origin}/ops/dead`);
  expect(await listBulks(inbox)).toHaveLength(2);
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
  expect(await asks(page, IN_REASON_OF)).toBe('Rerun this event');
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

test('a body is one stop for Tab: arrow keys go to its rows and fold them, and each row is copied by a key', async () => {
  const { page, origin } = await opened('evt_1');
  await page.goto(`${origin}/ops/events/default/evt_1`);
  await asks(page, 'void (navigator.clipboard.writeText = async (text) => void (window.copied = text))');
  const { keyboard } = page;
  const focused = () => asks<string>(page, 'document.activeElement.textContent.replace(/\\s+/g, " ").trim()');
  const press = async (...keys: readonly string[]): Promise<string> => {
    for (const key of keys) await keyboard.press(key);
    return focused();
  };
  await page.locator('.tree summary').first().focus();
  expect(await press('Tab')).toBe('Download');
  await press('Shift+Tab');
  expect(await press('ArrowDown', 'c')).toMatch(/^id: "evt_1"/);
  expect(await asks(page, 'copied')).toBe('evt_1');
  await page.getByRole('button', { name: 'Copy value' }).waitFor();
  expect(await press('Tab')).toBe('Copy value');
  expect(await press('Tab')).toBe('Copy path');
  await keyboard.press('Enter');
  expect(await asks(page, 'copied')).toBe('id');
  expect(await press('End')).toMatch(/: /);
  const folded = () => page.locator('.tree li details:not([open])').count();
  expect(await folded()).toBe(0);
  expect(await press('ArrowLeft', 'ArrowLeft')).toMatch(/^data: \{/);
  expect(await folded()).toBe(1);
  await press('ArrowRight', 'ArrowRight');
  await page.getByRole('button', { name: 'Fold all' }).click();
  expect(await asks(page, 'document.querySelectorAll(".tree [tabindex=\'0\']").length')).toBe(1);
  // The event of a fold comes later.
  await expect.poll(() => asks(page, 'document.querySelector(".tree summary").tabIndex')).toBe(0);
});
