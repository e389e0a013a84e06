import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { listEvents } from '../../src/ops/find.ts';
import { getBulk, previewBulk, runBulk } from '../../src/ops/bulks.ts';
import { rerunEvents } from '../../src/ops/act-on-events.ts';
import { openBrowser, ofFile } from './browser.ts';
import { outageDay } from './inboxes/outage-day.ts';
import { HOUR, operationsIn } from './inboxes/passed-time.ts';
import { opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';
import { looksFaults } from './accessibility.ts';

const browser = await ofFile(openBrowser());
const site = await ofFile(opsSite({ handlers: {} }));
await outageDay(site.inbox, systemClock);

it('the headline says first how many are dead, of what and since when, and leads to them', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const { page } = ada;
  await ada.open('?range=24h');
  const [dead = ''] = await page.locator('#headline > li').allInnerTexts();
  expect(dead).toMatch(/^\d+ events are dead in 2 groups, some since /);
  expect(dead).toMatch(/\d+, some since .+: Error: connect ECONNREFUSED/);
  expect(await page.locator('#no-release').innerText()).toContain('option release');
  expect(await looksFaults(ada.page, 390, 1280)).toEqual([]);
  const count = Number(/^\d+/.exec(dead)?.[0]);
  const { events } = await listEvents(site.inbox, { states: ['dead'] }, { limit: 500 });
  expect(events).toHaveLength(count);
  await page.getByRole('link', { name: 'Error: connect ECONNREFUSED' }).first().click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
});

it('who reran yesterday is answered in two steps, without JavaScript too', async () => {
  const { events } = await listEvents(site.inbox, { states: ['dead'] }, { limit: 2 });
  const keys = events.map(({ endpoint, id }) => ({ endpoint, id }));
  const yesterday = new Date(Date.now() - 24 * HOUR);
  const by = { actor: 'grace', reason: 'the database is back', via: 'cli', now: yesterday.getTime() } as const;
  await rerunEvents(site.inbox, keys, by);
  await operationsIn(site.inbox).note('prune', { ...by, actor: 'cron', now: Date.now() }, {}, {});
  for (const javaScriptEnabled of [true, false]) {
    await using ada = await visitor(browser, site, { reducedMotion: 'reduce', javaScriptEnabled });
    const { page } = ada;
    await ada.open('');
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('link', { name: 'Yesterday' }).click();
    const rows = await page.locator('#audit tbody tr').allInnerTexts();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatch(/rerun[^]+grace[^]+the database is back/);
    if (javaScriptEnabled) expect(await looksFaults(ada.page, 390, 1280)).toEqual([]);

    await page.getByRole('link', { name: 'Clear' }).click();
    await page.getByLabel('By', { exact: true }).fill('cron');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/\/audit\?/);
    expect(new URL(page.url()).search).toBe('?actor=cron');
    expect(await page.locator('#audit tbody tr').count()).toBe(1);
    expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('cron');
    await page.getByLabel('On this day (UTC)').fill(yesterday.toISOString().slice(0, 10));
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.locator('#none').waitFor();
    expect(await page.locator('#none').innerText()).toBe('No entry matches the filter.');
  }
});

it('a preview that somebody else runs meanwhile offers no run any more, wherever the focus is', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const { page } = ada;
  const discarded = { error: 'no tax rate for ord_day77' };
  const { id } = await previewBulk(site.inbox, 'discard', discarded, { actor: 'grace' });
  await ada.open(`/bulks/${id}`);
  await page.locator('#run input[name=reason]:focus').waitFor();
  await runBulk(site.inbox, id, { actor: 'grace' });
  await page.locator('#outcome').waitFor();
  await page.locator('#progress').waitFor({ state: 'detached' });
  expect(await page.locator('main').innerText()).not.toContain('Run it?');
});

it('that a run has begun gives way to what became of it, and the list says so too, without JavaScript', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce', javaScriptEnabled: false });
  const { page } = ada;
  await ada.open('/dead');
  await page.getByRole('row').filter({ hasText: 'TaxError' }).getByRole('button', { name: 'Rerun group…' }).click();
  await page.locator('#run').getByLabel('Reason').fill('the rate is there');
  await page.locator('#run').getByRole('button').click();
  const { pathname } = new URL(page.url());
  const id = Number(pathname.split('/').at(-1));
  await expect.poll(async () => (await getBulk(site.inbox, id))?.state).toBe('done');
  await page.reload();
  expect(await page.locator('main').innerText()).not.toContain('has begun');
  expect(await page.locator('#outcome').innerText()).toMatch(/Of \d+ events rerun, \d+ are waiting/);

  await ada.open('/bulks');
  const row = await page.locator(`#bulk-${id}`).innerText();
  expect(row).toMatch(/\d+ waiting to be handled/);
  expect(row).toContain('the rate is there');
  expect(row).toContain('ada');
  await using seeing = await visitor(browser, site, { reducedMotion: 'reduce' });
  await seeing.open('/bulks');
  expect(await looksFaults(seeing.page, 390, 1280)).toEqual([]);
});
