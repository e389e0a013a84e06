// @module-tag long
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { auditLines } from '../../src/ops/index.ts';
import { brokenShop, eventOf, ORDER, orderEvent } from './broken-shop.ts';
import { openBrowser, ofFile } from './browser.ts';
import { visitor, tabTo } from './visitor.ts';
import { looksFaults } from './accessibility.ts';

const GROUP = ['ord_41', ORDER, 'ord_44'].map((order) => eventOf(order, 'order.created'));
const STOCK = eventOf('ord_42', 'order.ready');

const browser = await ofFile(openBrowser());

async function idsIn(page: Page, begin: () => Promise<unknown>): Promise<readonly string[]> {
  const begun = page.waitForEvent('download');
  await begin();
  const text = await readFile(await (await begun).path(), 'utf8');
  return [...new Set(text.match(/evt_\w+/g))].toSorted();
}

const groupOf = (page: Page, error: string) => page.locator('#groups').getByRole('row').filter({ hasText: error });

describe.each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('%s, by mouse,', (_, javaScriptEnabled) => {
  it('all dead events, one group, chosen groups and chosen events are exported', async () => {
    await using shop = await brokenShop();
    await using ada = await visitor(browser, shop.site, { javaScriptEnabled, mayDownload: true });
    const { page } = ada;
    await ada.open('/dead');
    expect(await page.locator('#chosen').isVisible()).toBe(false);
    await page.locator('#export-all > summary').click();
    const all = page.locator('#export-all').getByRole('link', { name: 'CSV for a spreadsheet' });
    expect(await idsIn(page, () => all.click())).toEqual(['evt_invalid', STOCK, ...GROUP].toSorted());

    await page.locator('#export-all > summary').click();

    const group = groupOf(page, 'TypeError');
    await group.locator('summary').click();
    expect(await idsIn(page, () => group.getByRole('link', { name: 'readable JSON' }).click())).toEqual(
      [...GROUP].toSorted(),
    );
    await group.locator('summary').click();

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
  });
});

it('by the keyboard alone a group is exported, and those that are chosen', async () => {
  await using shop = await brokenShop();
  await using ada = await visitor(browser, shop.site, { mayDownload: true });
  const { page } = ada;
  const { keyboard } = page;
  await ada.open('/dead');
  await keyboard.press('j');
  await keyboard.press('x');
  await page.locator('#chosen-count').getByText('1 selected:').waitFor();
  await tabTo(page, /^Actions: TypeError/);
  await keyboard.press('Enter');
  await tabTo(page, 'Export: exact copy, which can be imported');
  const exact = await idsIn(page, () => keyboard.press('Enter'));
  expect(exact).toEqual([...GROUP].toSorted());
  await tabTo(page, 'Export…');
  await keyboard.press('Enter');
  await tabTo(page, 'CSV for a spreadsheet');
  expect(await idsIn(page, () => keyboard.press('Enter'))).toEqual(exact);
});

it('groups stay chosen, and their menu open, when others die meanwhile', async () => {
  await using shop = await brokenShop();
  await using ada = await visitor(browser, shop.site, { reducedMotion: 'reduce', mayDownload: true });
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
  await group.locator('.menu > summary').click();
  expect(await looksFaults(page, 1280, 390)).toEqual([]);
});
