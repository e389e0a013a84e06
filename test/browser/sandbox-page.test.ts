// @module-tag long
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openBrowser, ofFile } from './browser.ts';
import { cutColumns } from './cut-columns.ts';
import { hostileTexts } from './hostile-texts.ts';
import { orderFromOutside, sandboxSite, type SandboxSite } from './sandbox-site.ts';
import { visitor, sees, tabTo, focused } from './visitor.ts';
import { looksFaults } from './accessibility.ts';

const AT = { at: '/dashboard' };
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const browser = await ofFile(openBrowser());

it.each(['/deliveries', '/orders', '/webhooks', '/keys', '/stock', '/faults', '/clock', '/deliveries/1'])(
  '%s: at no width is a word broken, a text cut to nothing or a column out of the page',
  async (path) => {
    await using site = await sandboxSite();
    const { sandbox } = site;
    for (const url of [site.shop, `${site.shop}/a/longer/path/of/webhooks?shop=berlin`]) {
      sandbox.webhooks.add({ url, secret: null, events: null });
    }
    for (let n = 0; n < 3; n += 1) await orderFromOutside(site, sandbox.apiKey, { name: 'Ada Lovelace' });
    await sandbox.advance('2 h');
    sandbox.faults.add({ kind: 'slow', operation: 'getCart', ms: 3_000 });
    await using ada = await visitor(browser, site, { ...AT, reducedMotion: 'reduce' });
    await ada.open(path);
    await ada.page.evaluate(`for (const folded of document.querySelectorAll('main table details')) folded.open = true`);
    const faults: string[] = [];
    for (const width of [390, 768, 1024, 1280, 1440, 1920, 2560]) faults.push(...(await cutColumns(ada.page, width)));
    expect(faults).toEqual([]);
  },
);

describe('who integrates a shop', () => {
  it.each([
    ['at a desk', { viewport: DESK }],
    ['on a phone', { viewport: PHONE, hasTouch: true }],
    ['without JavaScript', { javaScriptEnabled: false }],
  ])('makes a key, registers an endpoint, moves an order and retries its dead letter, by mouse, %s', async (_, how) => {
    await using site = await sandboxSite();
    await using ada = await visitor(browser, site, { ...AT, ...how });
    const { page } = ada;
    await ada.open('');
    await sees(page, 'No orders yet.');
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('from outside');
    await page.getByRole('button', { name: 'Create a key' }).click();
    const key = (await page.locator('#shown-once code').first().textContent()) ?? '';

    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('button', { name: 'New endpoint' }).click();
    await page.getByLabel(/^URL/).fill(site.shop);
    await page.getByRole('button', { name: 'Register an endpoint' }).click();
    await sees(page, 'Copy it now. It will not be shown again.');

    const id = await orderFromOutside(site, key, { name: 'Ada' });
    await page.getByRole('link', { name: 'Orders' }).click();
    await page.locator('#lane-created').getByText('Ada').waitFor();
    await page.getByRole('button', { name: `Confirm order ${id}` }).click();
    await page.locator('#lane-confirmed').getByRole('link', { name: id }).waitFor();
    expect(site.sandbox.orders.find(id)?.status).toBe('confirmed');

    await page.getByRole('link', { name: 'Clock', exact: true }).click();
    await page.getByLabel(/^By/).fill('40 h');
    await page.getByRole('button', { name: 'Advance', exact: true }).click();
    await sees(page, 'The clock advanced by 1 d 16 h');
    await page.getByRole('link', { name: 'Deliveries' }).click();
    const row = page.getByRole('row').filter({ hasText: 'order.confirmed' });
    await row.getByText('answered 500').waitFor();
    await row.locator('summary').click();
    await row.locator('+ .inside').getByText('answered 500').nth(6).waitFor();
    site.mend();
    await row.getByRole('button', { name: 'Retry' }).click();
    await sees(page, 'The delivery will be retried.');
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('button', { name: 'Send due deliveries now' }).click();
    await sees(page, 'All due work is done.');
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await row.getByText('delivered').waitFor();
  });

  it('does the same with the keyboard alone', async () => {
    await using site = await sandboxSite();
    await using ada = await visitor(browser, site, AT);
    const { page } = ada;
    const { keyboard } = page;
    await ada.open('');
    await press(page, 'API keys');
    await tabTo(page, 'New key…');
    await keyboard.press('Enter');
    await tabTo(page, 'Name');
    await keyboard.type('from outside');
    await enter(page);
    await page.locator('#shown-once').waitFor();
    const key = (await page.locator('#shown-once code').first().textContent()) ?? '';

    await press(page, 'Webhooks');
    await tabTo(page, 'New endpoint…');
    await keyboard.press('Enter');
    await tabTo(page, /^URL/);
    await keyboard.type(site.shop);
    await press(page, 'Register an endpoint');
    await sees(page, 'Copy it now. It will not be shown again.');

    const id = await orderFromOutside(site, key);
    await press(page, 'Orders');
    await press(page, `Confirm order ${id}`);
    await page.locator('#lane-confirmed').getByRole('link', { name: id }).waitFor();

    await press(page, 'Clock');
    await tabTo(page, /^By/);
    await keyboard.type('40 h');
    await enter(page);
    await sees(page, 'The clock advanced by 1 d 16 h');
    await press(page, 'Deliveries');
    await page.locator('#deliveries').waitFor();
    site.mend();
    // The newest stands first: the clock has moved the order on.
    await keyboard.press('j');
    expect(await focused(page)).toBe('order.completed');
    await press(page, /^Retry order\.completed/);
    await sees(page, 'The delivery will be retried.');
    await press(page, 'Clock');
    await press(page, 'Run due work now');
    await sees(page, 'All due work is done.');
    await press(page, 'Deliveries');
    await page.locator('#deliveries').waitFor();
    await keyboard.press('j');
    await enter(page);
    await page.waitForURL('**/dashboard/deliveries/*');
    await page.locator('#tries').getByText('manual').waitFor();
    expect(site.sandbox.deliveries.counts()).toMatchObject({ delivered: 1, dead: 3 });

    await press(page, 'API keys');
    await tabTo(page, /^Other actions for the key/);
    await keyboard.press('Enter');
    await press(page, 'Delete the key from outside');
    await sees(page, 'The key was deleted');
    await expect(orderFromOutside(site, key)).rejects.toThrow('401');
  });

  it('sees on the open board what happens elsewhere, and can go on with it', async () => {
    await using site = await sandboxSite({ clock: 'real', assumptions: { confirmedAfterMs: 0 } });
    await using ada = await visitor(browser, site, AT);
    const { page } = ada;
    await ada.open('');
    await page.evaluate('globalThis.sameDocument = true');
    const id = await orderFromOutside(site, site.sandbox.apiKey);
    await page.locator('#lane-created').getByRole('link', { name: id }).waitFor();
    const submission = {
      method: 'POST',
      headers: { Authorization: site.sandbox.apiKey, 'Content-Type': 'application/json' },
      body: '{"payment_method_id":"pm_ok"}',
    };
    expect((await fetch(`${site.origin}/order/${id}/submit`, submission)).status).toBe(200);
    await page.locator('#lane-confirmed').getByRole('link', { name: id }).waitFor();
    expect(await page.locator('#lane-created').getByRole('link', { name: id }).count()).toBe(0);
    expect(await page.evaluate('globalThis.sameDocument')).toBe(true);
    await page.getByRole('button', { name: `Mark ready order ${id}` }).click();
    await page.locator('#lane-ready').getByRole('link', { name: id }).waitFor();
  });

  it.each([
    ['with the script', {}],
    ['without JavaScript', { javaScriptEnabled: false }],
  ])('places an order and sends an event from any screen, %s', async (_, how) => {
    await using site = await sandboxSite();
    site.sandbox.webhooks.add({ url: site.shop, secret: null, events: null });
    await using ada = await visitor(browser, site, { ...AT, ...how });
    const { page } = ada;
    await ada.open('/stock');
    await page.getByRole('link', { name: 'Place an order' }).click();
    await page.getByRole('button', { name: 'Place order' }).click();
    await sees(page, 'The order was placed.');
    await page.getByRole('link', { name: 'Send an event' }).click();
    await page.getByRole('link', { name: 'order.failed' }).click();
    await page.getByRole('button', { name: 'Send event' }).click();
    await sees(page, 'The event will be delivered to 1 endpoint.');
    await page.getByRole('row').filter({ hasText: 'order.failed' }).waitFor();
  });

  it('sees on every screen what the clock shows, also after it advanced elsewhere', async () => {
    await using site = await sandboxSite();
    await using ada = await visitor(browser, site, AT);
    for (const path of ['', '/deliveries', '/webhooks', '/keys', '/clock', '/faults', '/stock']) {
      await ada.open(path);
      await ada.page.locator('#bar').getByText('2026-01-01 00:00:00 UTC').waitFor();
    }
    await site.sandbox.advance('1 h');
    await ada.page.locator('#bar').getByText('2026-01-01 01:00:00 UTC').waitFor();
    await ada.page.locator('#bar').getByRole('link', { name: /UTC/ }).click();
    await ada.page.waitForURL('**/dashboard/clock');
  });

  it('clicks twice, and the clock moves once', async () => {
    await using site = await sandboxSite();
    await using ada = await visitor(browser, site, { ...AT, javaScriptEnabled: false });
    await ada.open('/clock');
    const before = site.sandbox.now().getTime();
    await ada.page.getByRole('button', { name: '+ 1 hour' }).dblclick();
    await ada.page.locator('#flash').waitFor();
    expect(site.sandbox.now().getTime() - before).toBe(3_600_000);
  });
});

const site = await ofFile(sandboxSite({ plan: 'Developer' }));
const paths = await busyDay(site);

describe('every screen', () => {
  it.each([
    ['at a desk', DESK],
    ['on a phone', PHONE],
  ])(
    'reads well %s, hostile names too: axe finds nothing serious, light and dark, and nothing is too wide',
    async (_, viewport) => {
      const left = paths.values();
      const faults: string[] = [];
      const look = async (): Promise<void> => {
        await using ada = await visitor(browser, site, { ...AT, viewport, reducedMotion: 'reduce' });
        const { page } = ada;
        for (const path of left) {
          await ada.open(path);
          await page.evaluate(`for (const folded of document.querySelectorAll('details')) folded.open = true`);
          faults.push(...(await looksFaults(page, viewport.width)));
        }
      };
      await Promise.all([look(), look()]);
      expect(faults).toEqual([]);
    },
  );

  it.each(['/keys', '/webhooks'])('and so does what %s shows once', async (path) => {
    await using ada = await visitor(browser, site, { ...AT, viewport: PHONE });
    await ada.open(path);
    await ada.page.getByRole('button', { name: /^New / }).click();
    if (path === '/webhooks') await ada.page.getByLabel(/^URL/).fill(site.shop);
    await ada.page.locator('button.primary').click();
    await ada.page.locator('#shown-once').waitFor();
    expect(await looksFaults(ada.page, PHONE.width)).toEqual([]);
    expect(new URL(ada.page.url()).search).toBe('');
  });
});

async function busyDay(site: SandboxSite): Promise<readonly string[]> {
  const { sandbox, shop } = site;
  const { orders, keys, webhooks, faults } = sandbox;
  const names = Object.values<string>(hostileTexts).map((text) => text.toWellFormed());
  webhooks.add({ url: shop, secret: 'whsec_of_a_test', events: null });
  webhooks.add({ url: `${shop}/${'long'.repeat(60)}`, secret: null, events: ['order.failed', 'cart.abandoned'] });
  for (const name of names.slice(0, 24)) keys.create({ name, permissions: ['orders:write', 'payment_methods:write'] });
  const ids: string[] = [];
  for (const name of names.slice(24)) {
    ids.push(await orderFromOutside(site, sandbox.apiKey, { id: name, name }));
    await sandbox.advance('1 s');
  }
  for (const [n, id] of ids.slice(0, 18).entries()) {
    const way = [['confirmed'], ['confirmed', 'ready'], ['cancelled'], ['failed']] as const;
    for (const to of way[n % way.length] ?? []) orders.move(id, to);
  }
  await sandbox.advance('40 h');
  faults.add({ kind: 'slow', ms: 200, operation: 'createSetupIntent', times: 1_000 });
  faults.add({ kind: 'decline' });
  faults.addToDeliveries('tampered-signature', 3);
  ids.push(await orderFromOutside(site, sandbox.apiKey));
  const [endpoint] = webhooks.list();
  return [
    '',
    '/orders',
    '/orders?status=created',
    `/orders/${ids[0]}`,
    `/orders/${ids.at(-1)}`,
    '/deliveries',
    '/deliveries?state=dead',
    `/deliveries?state=dropped&endpoint=${endpoint?.id}`,
    '/deliveries/1',
    '/webhooks',
    `/webhooks/${endpoint?.id}`,
    '/keys',
    '/stock',
    '/clock',
    '/faults',
    '/place-order',
    '/send-event',
    '/keys?ask=create-key',
    '/webhooks?ask=register',
  ];
}

async function press(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await enter(page);
}

async function enter(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}
