import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLines } from '../../src/ops/index.ts';
import { accessibilityFaults } from './accessibility.ts';
import { brokenShop, eventOf, ORDER, orderEvent } from './broken-shop.ts';
import { openBrowser } from './browser.ts';
import { layoutFaults } from './layout-faults.ts';
import { visitor, type Visitor } from './visitor.ts';

const GROUP = ['ord_41', ORDER, 'ord_44'].map((order) => eventOf(order, 'order.created'));
const STOCK = eventOf('ord_42', 'order.ready');

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** The ids of events in the file that somebody is given when they do something. */
async function idsIn(page: Page, begin: () => Promise<unknown>): Promise<readonly string[]> {
  const begun = page.waitForEvent('download');
  await begin();
  const text = await readFile(await (await begun).path(), 'utf8');
  return [...new Set(text.match(/evt_\w+/g))].toSorted();
}

const others = ({ troubles }: Visitor) => troubles.filter((trouble) => !trouble.startsWith('a download: '));
const groupOf = (page: Page, error: string) => page.locator('#groups').getByRole('row').filter({ hasText: error });

describe.each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('%s, by mouse,', (_, javaScriptEnabled) => {
  it('all dead events, one group, chosen groups and chosen events are exported', async () => {
    await using shop = await brokenShop();
    await using ada = await visitor(browser, shop.site, { javaScriptEnabled });
    const { page } = ada;
    await ada.open('/dead');
    expect(await page.locator('#chosen').isVisible()).toBe(!javaScriptEnabled);
    await page.locator('#export-all > summary').click();
    const all = page.locator('#export-all').getByRole('link', { name: 'CSV for a spreadsheet' });
    expect(await idsIn(page, () => all.click())).toEqual(['evt_invalid', STOCK, ...GROUP].toSorted());

    const group = groupOf(page, 'TypeError');
    await group.locator('summary').click();
    expect(await idsIn(page, () => group.getByRole('link', { name: 'readable JSON' }).click())).toEqual(
      [...GROUP].toSorted(),
    );

    for (const error of ['TypeError', '503']) await groupOf(page, error).getByRole('checkbox').check();
    await page.locator('#export-chosen > summary').click();
    const chosen = page.locator('#export-chosen');
    expect(await idsIn(page, () => chosen.getByRole('button', { name: 'CSV' }).click())).toEqual(
      [STOCK, ...GROUP].toSorted(),
    );

    await ada.open('/events');
    const two = [STOCK, eventOf(ORDER, 'order.created')];
    for (const id of two) await page.locator(`tr[data-event$="/${id}"]`).getByRole('checkbox').check();
    await page.locator('#export-chosen > summary').click();
    expect(await idsIn(page, () => chosen.getByRole('button', { name: 'JSON' }).click())).toEqual(two.toSorted());
    expect((await auditLines(shop.site.inbox)).lines.map(({ act, counts }) => [act, counts['events']])).toEqual([
      ['export', 2],
      ['export', 4],
      ['export', 3],
      ['export', 5],
    ]);
    expect(others(ada)).toEqual([]);
  });
});

it('by the keyboard alone a group is exported, and those that are chosen', async () => {
  await using shop = await brokenShop();
  await using ada = await visitor(browser, shop.site);
  const { page } = ada;
  const { keyboard } = page;
  await ada.open('/dead');
  await keyboard.press('j');
  await keyboard.press('x');
  await page.locator('#chosen-count').getByText('1 selected:').waitFor();
  // Past what else the row has, to its menu.
  await tabTo(page, 'Export group…');
  await keyboard.press('Enter');
  await tabTo(page, 'exact copy, which can be imported');
  const exact = await idsIn(page, () => keyboard.press('Enter'));
  expect(exact).toEqual([...GROUP].toSorted());
  await tabTo(page, 'Export…');
  await keyboard.press('Enter');
  await tabTo(page, 'CSV for a spreadsheet');
  expect(await idsIn(page, () => keyboard.press('Enter'))).toEqual(exact);
  expect(others(ada)).toEqual([]);
});

it('groups stay chosen, and their menu open, when others die meanwhile', async () => {
  await using shop = await brokenShop();
  await using ada = await visitor(browser, shop.site, { reducedMotion: 'reduce' });
  const { page } = ada;
  await ada.open('/dead');
  await page.locator('#live-state[data-state=live]').waitFor();
  const group = groupOf(page, 'TypeError');
  await group.getByRole('checkbox').check();
  await page.locator('#export-chosen > summary').click();
  await shop.site.deliver(orderEvent('ord_45', 'order.created', 'CHF'));
  await group.getByRole('cell', { name: '4', exact: true }).waitFor();
  expect(await group.getByRole('checkbox').isChecked()).toBe(true);
  expect(await page.locator('#chosen-count').textContent()).toBe('1 selected:');
  const chosen = page.locator('#export-chosen').getByRole('button', { name: 'JSON' });
  expect(await idsIn(page, () => chosen.click())).toEqual([...GROUP, eventOf('ord_45', 'order.created')]);
  for (const menu of await page.locator('#export-all > summary, #groups .export > summary').all()) await menu.click();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    expect([...(await layoutFaults(page)), ...(await accessibilityFaults(page))], `at ${width} px`).toEqual([]);
  }
  expect(others(ada)).toEqual([]);
});

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let n = 0; n < 60; n += 1) {
    if ((await page.evaluate<string>('document.activeElement.textContent.trim()')) === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${name}`);
}
