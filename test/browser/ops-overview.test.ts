// @module-tag long
import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { listEvents } from '../../src/ops/find.ts';
import { previewBulk, runBulk } from '../../src/ops/bulks.ts';
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

it('the first incident says of what most died, how many and since when, and leads to them', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const { page } = ada;
  await ada.open('');
  const [dead = '', poison = ''] = await page.locator('#headline > li').allInnerTexts();
  expect(dead).toMatch(/Error: connect ECONNREFUSED[^]+\d+ dead[^]+ – [^]+Rerun…/);
  expect(poison).toContain('TaxError');
  expect(await page.locator('#no-release').innerText()).toContain('option release');
  expect(await looksFaults(ada.page, 390, 1280)).toEqual([]);
  const [count = 0, others = 0] = [dead, poison].map((text) => Number(/(\d+) dead/.exec(text)?.[1]));
  const { events } = await listEvents(site.inbox, { states: ['dead'] }, { limit: 500 });
  expect(events).toHaveLength(count + others);
  // A phone shows all incidents without scrolling.
  await page.setViewportSize({ width: 390, height: 800 });
  const last = await page.locator('#headline > li').last().boundingBox();
  expect((last?.y ?? Infinity) + (last?.height ?? Infinity)).toBeLessThan(800);
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
