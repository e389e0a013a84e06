// @module-tag long
import { describe, expect, it } from 'vitest';
import { listBulks } from '../../src/ops/index.ts';
import { brokenShop, eventOf, ORDER, WHY } from './broken-shop.ts';
import { openBrowser, ofFile } from './browser.ts';
import { VIEWER, type OpsSite } from './ops-site.ts';
import { visitor, sees, tabTo } from './visitor.ts';

const KEY = { endpoint: 'default', id: eventOf(ORDER, 'order.created') };
const GROUP = ['ord_41', ORDER, 'ord_44'].map((order) => eventOf(order, 'order.created'));

const browser = await ofFile(openBrowser());

describe('an operator who is asked about an order', () => {
  it('finds its dead event, reads its error, and reruns all that failed alike, with the keyboard alone', async () => {
    await using shop = await brokenShop();
    await using ada = await visitor(browser, shop.site);
    const { page } = ada;
    const { keyboard } = page;
    await ada.open('');
    await keyboard.press('/');
    await keyboard.type(ORDER);
    await keyboard.press('Enter');
    await page.waitForURL(`**/ops/events?q=${ORDER}`);
    await keyboard.press('j');
    await keyboard.press('Enter');
    await page.waitForURL(`**/ops/events/default/${KEY.id}`);
    await sees(page, WHY);

    await keyboard.press('?');
    await page.getByRole('dialog').getByText('next row').waitFor();
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });

    await tabTo(page, 'Dead events');
    await keyboard.press('Enter');
    await page.waitForURL('**/ops/dead');
    await keyboard.press('j');
    await keyboard.press('j');
    await keyboard.press('k');
    await keyboard.press('r');
    await page.waitForURL('**/ops/bulks/*');
    await sees(page, 'Will rerun 3 events');
    expect(await deadOf(shop.site)).toEqual(expect.arrayContaining(GROUP));
    expect(await page.evaluate('document.activeElement.name')).toBe('reason');

    shop.mend();
    await keyboard.press('Enter');
    await sees(page, 'Of 3 events rerun, 3 are processed.');
    await ada.open(`/events/default/${KEY.id}`);
    await page.locator('h1 .state-processed').waitFor();
  });

  it('does the same without JavaScript', async () => {
    await using shop = await brokenShop();
    await using ada = await visitor(browser, shop.site, { javaScriptEnabled: false });
    const { page } = ada;
    for (const path of await screensOf(shop.site)) {
      await ada.open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    await page.getByLabel('Find events').fill(ORDER);
    await page.getByLabel('Find events').press('Enter');
    await page.getByRole('link', { name: 'order.created' }).click();
    await sees(page, WHY);
    await page.getByRole('link', { name: 'Dead events', exact: true }).click();
    const group = page.getByRole('row').filter({ hasText: 'TypeError' });
    await group.getByRole('button', { name: 'Rerun…' }).click();
    await sees(page, 'Will rerun 3 events');
    shop.mend();
    await page.getByRole('button', { name: 'Rerun 3 events' }).click();
    await expect
      .poll(async () => {
        await page.reload();
        return page.locator('main').textContent();
      })
      .toContain('Of 3 events rerun, 3 are processed.');
    await shop.site.handled();
    await ada.open(`/events/default/${KEY.id}`);
    await page.locator('h1 .state-processed').waitFor();
  });
});

describe('a viewer', () => {
  it('reads every screen, and is offered nothing that changes anything', async () => {
    await using shop = await brokenShop();
    await using vic = await visitor(browser, shop.site, { as: VIEWER });
    for (const path of await screensOf(shop.site)) {
      await vic.open(path);
      expect(await vic.page.locator('form[method=post]').count(), path).toBe(0);
    }
    await vic.open(`/events/default/${KEY.id}`);
    await vic.page.keyboard.press('r');
    await sees(vic.page, WHY);
    expect(await deadOf(shop.site)).toContain(KEY.id);
  });
});

async function screensOf(site: OpsSite): Promise<readonly string[]> {
  const bulks = await listBulks(site.inbox);
  const event = `/events/default/${KEY.id}`;
  return [
    '',
    '?range=30d',
    '/events',
    '/events?state=dead',
    event,
    `${event}?view=raw`,
    `${event}?view=hex`,
    '/dead',
    '/rejected',
    '/bulks',
    ...bulks.map(({ id }) => `/bulks/${id}`),
    '/paused',
    '/audit',
    '/health',
    '/maintenance',
  ];
}

async function deadOf({ inbox }: OpsSite): Promise<readonly string[]> {
  return (await inbox.list()).filter(({ state }) => state === 'dead').map(({ id }) => id);
}
