// @module-tag long
/** What an operator comes for, from the overview on, each in at most four actions; docs/operations.md lists them. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { auditLines, countEvents, deadGroups, findEvents, pausedTypes } from '../../src/ops/index.ts';
import { openBrowser, ofFile } from './browser.ts';
import { countedActions, type CountedActions } from './counted-actions.ts';
import {
  BLOCKED_ORDER,
  CHANGED_ORDER,
  outageDayAndMore,
  RELEASE,
  YESTERDAYS,
  OUTAGE_BEGAN_AGO,
} from './inboxes/outage-day.ts';
import { MINUTE } from './inboxes/passed-time.ts';
import { silentShop } from './inboxes/silent-shop.ts';
import { opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const MOST = 4;

const TOLD = new Map(
  readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    .split('\n')
    .map((line) => /^- \*\*(.+[?.])\*\* .+ \((\d+)\)$/.exec(line))
    .flatMap((row) => (row === null ? [] : [[row[1] ?? '', Number(row[2])] as const])),
);
const tried = new Set<string>();

const browser = await ofFile(openBrowser());
const silent = await ofFile(opsSite({ handlers: {} }));
await silentShop(silent.inbox, systemClock);
// Last, since its handlers run from then on, and those before let time pass.
const site = await ofFile(opsSite({ handlers: { '*': () => {} } }));
await outageDayAndMore(site, systemClock);
// Names are indexed after the events are stored; until then, a search finds texts.
while ((await findEvents(site.inbox, 'ord_day77')).takenFor !== 'entity') await delay(50);
await site.receiver.start();

interface Task {
  readonly page: Page;
  readonly does: CountedActions;
  readonly sees: (text: string | RegExp, within?: string) => Promise<void>;
  readonly find: (text: string) => Promise<void>;
}

function task(name: string, work: (task: Task) => Promise<void>, ofSite = site): void {
  tried.add(name);
  it(name, async () => {
    await using ada = await visitor(browser, ofSite, { mayDownload: true });
    const { page } = ada;
    await ada.open('');
    const does = countedActions(page);
    await work({
      page,
      does,
      async sees(text, within = 'main') {
        await page.locator(within).filter({ hasText: text }).first().waitFor();
      },
      async find(text) {
        await page.waitForLoadState();
        await does.press('/');
        await does.write(text);
        await does.press('Enter');
        await page.waitForURL('**/events?q=*');
      },
    });
    expect(does.count()).toBe(TOLD.get(name));
    expect(does.count()).toBeLessThanOrEqual(MOST);
  });
}

function newestOf(page: Page, error: string): Locator {
  const incident = page.locator('#headline > li').filter({ hasText: error });
  return incident.getByRole('link', { name: 'Show newest event' });
}

task('Why has this order not shipped?', async ({ page, does, sees, find }) => {
  await find('ord_day77');
  await does.click(page.getByRole('link', { name: 'order.created', exact: true }));
  await sees('no tax rate for ord_day77');
});

task('Which events are about this customer?', async ({ page, does, sees }) => {
  await page.waitForLoadState();
  await does.press('/');
  await does.write('DAY77@mail.example');
  await page.getByRole('option', { name: 'Search bodies' }).waitFor();
  await does.press('ArrowDown');
  await does.press('Enter');
  await page.waitForURL('**/events?bodyText=*');
  await sees('ord_day77', 'main tbody tr');
});

task('Show these events to a colleague.', async ({ page, does, sees }) => {
  await does.click(page.getByRole('link', { name: 'Events', exact: true }));
  await does.click(page.locator('#states').getByRole('link', { name: 'dead' }));
  await page.waitForURL('**/events?state=dead');
  await sees('dead (failed)', 'main tbody tr');
});

task('What began to fail at 14:00?', async ({ page, does, sees }) => {
  const began = Math.ceil((Date.now() - OUTAGE_BEGAN_AGO) / (30 * MINUTE)) * 30 * MINUTE;
  const step = new Date(began).toISOString().slice(11, 16);
  await does.click(page.locator(`#outcomes a[data-says*='${step}: '][data-says*=dead]`));
  await sees('Error: connect ECONNREFUSED 10.0.3.14:5432', 'main tbody');
  expect(await page.locator('main .state-dead').count()).toBeGreaterThan(20);
});

task('What blocks this order?', async ({ page, does, sees, find }) => {
  await find(BLOCKED_ORDER);
  await does.click(page.getByRole('link', { name: 'order.ready', exact: true }));
  await sees(
    /It is waiting behind\s+evt_blocker, which has failed once: Error: the stock system answered 503/,
    '#headline',
  );
});

task('Retry the blocker.', async ({ page, does, sees }) => {
  const blocked = page.locator('#headline > li').filter({ hasText: 'evt_blocker' });
  await does.click(blocked.getByRole('link', { name: 'Open' }));
  await does.click(page.getByRole('button', { name: 'Retry now…', exact: true }));
  await does.write('the stock system is back');
  await does.press('Enter');
  await sees('The event is due now.');
  const [line] = (await auditLines(site.inbox)).lines;
  expect(line).toMatchObject({ act: 'retry-now', actor: 'ada', counts: { done: 1 } });
});

task("How do a conflict's bodies differ?", async ({ page, does, sees, find }) => {
  await find(CHANGED_ORDER);
  await does.click(page.getByRole('link', { name: 'order.created', exact: true }));
  await sees('EUR', '#diff');
  await sees('CHF', '#diff');
});

task('Did the deployment break something?', async ({ sees }) => {
  await sees(new RegExp(`order\\.created.* since release ${RELEASE}`), '#watch');
});

task('Who reran something yesterday?', async ({ page, does, sees }) => {
  await does.click(page.getByRole('link', { name: 'Audit', exact: true }));
  await sees(YESTERDAYS.reason, 'main tbody');
});

task('Export the dead events.', async ({ page, does }) => {
  await does.click(page.getByRole('link', { name: 'Dead events', exact: true }));
  await does.click(page.getByText('Export all dead events…'));
  const download = page.waitForEvent('download');
  await does.click(page.locator('#export-all').getByRole('link', { name: 'CSV for a spreadsheet' }));
  expect((await download).suggestedFilename()).toMatch(/^hookbox-events-.*\.csv$/);
  const dead = await countEvents(site.inbox, { states: ['dead'] });
  await expect
    .poll(async () => (await auditLines(site.inbox)).lines[0])
    .toMatchObject({ act: 'export', actor: 'ada', counts: { events: dead.count } });
});

task('Discard a group of dead events.', async ({ page, does, sees }) => {
  const poison = (await deadGroups(site.inbox)).find(({ sample }) => sample?.name === 'TaxError');
  const count = poison?.count ?? 0;
  expect(count).toBeGreaterThan(3);
  await does.click(page.getByRole('link', { name: 'Dead events', exact: true }));
  const group = page.getByRole('row').filter({ hasText: 'TaxError' });
  await does.click(group.getByRole('button', { name: 'Discard…' }));
  await sees(`Will discard ${count} events`);
  expect(await countEvents(site.inbox, { states: ['discarded'] })).toMatchObject({ count: 0 });
  await does.write('test orders without a tax rate');
  await does.click(page.getByRole('button', { name: `Discard ${count} events` }));
  await sees(`Of ${count} events discarded, ${count} are still discarded.`);
});

task('Discard one event.', async ({ page, does, sees }) => {
  await does.click(newestOf(page, 'ECONNREFUSED'));
  await does.click(page.getByRole('button', { name: 'Discard…', exact: true }));
  await does.write('its order was cancelled');
  await does.click(page.getByRole('button', { name: 'Discard this event' }));
  await sees('The event is discarded');
  await sees('its order was cancelled', '#timeline');
});

task('Replay an event to your own machine.', async ({ page, does, sees }) => {
  await does.click(newestOf(page, 'ECONNREFUSED'));
  await does.click(page.getByRole('button', { name: 'Replay…', exact: true }));
  await does.write(`${site.origin}/webhooks`);
  await does.press('Enter');
  await sees('accepted', '#replayed');
});

task('Acknowledge a group.', async ({ page, does, sees }) => {
  await does.click(page.getByRole('link', { name: 'Dead events', exact: true }));
  const group = page.locator('#groups').getByRole('row').filter({ hasText: 'ECONNREFUSED' });
  await does.click(group.locator('.menu > summary'));
  await does.write('the database is being moved');
  await does.press('Enter');
  await sees(/Acknowledged by ada.*the database is being moved/s, '#groups tr:last-child');
  expect((await deadGroups(site.inbox)).at(-1)).toMatchObject({ open: false, acknowledged: { actor: 'ada' } });
});

task('Pause a type without a typo.', async ({ page, does, sees }) => {
  await does.click(page.getByRole('link', { name: 'Paused types', exact: true }));
  await does.click(page.locator('#pause label').filter({ hasText: 'order.completed' }));
  await page.locator('#pause [name=reason]:focus').waitFor();
  await does.write('the till prints everything twice');
  await does.click(page.getByRole('button', { name: 'Pause type', exact: true }));
  await sees('the till prints everything twice', '#pauses');
  expect(await pausedTypes(site.inbox)).toMatchObject([{ type: 'order.completed', actor: 'ada' }]);
});

task('Rerun only the events of the outage.', async ({ page, does, sees }) => {
  const dead = await countEvents(site.inbox, { states: ['dead'] });
  await does.click(page.getByRole('link', { name: 'Dead events', exact: true }));
  const group = page.getByRole('row').filter({ hasText: 'ECONNREFUSED' });
  await does.click(group.getByRole('button', { name: 'Rerun…' }));
  await sees(/Will rerun \d+ events/);
  await does.write('the database is back');
  await does.press('Enter');
  await sees(/Of (\d+) events rerun, \1 are processed\./);
  const [line] = (await auditLines(site.inbox)).lines;
  expect(line).toMatchObject({ act: 'rerun', actor: 'ada', reason: 'the database is back' });
  const left = await countEvents(site.inbox, { states: ['dead'] });
  expect(dead.count - left.count).toBe(line?.counts['done']);
});

task('Did the rerun succeed?', async ({ page, does, sees }) => {
  await does.click(page.getByRole('link', { name: 'Bulk actions', exact: true }));
  await sees(/the database is back.*processed|processed.*the database is back/, 'main tbody tr');
});

task(
  'Has nothing been received for two hours?',
  async ({ sees }) => {
    await sees(
      /No delivery has arrived since .*\(2 h\); at this hour, a delivery usually arrives every 8 s\./,
      '#headline > li',
    );
  },
  silent,
);

it('all that the docs tell of is tried', () => {
  expect([...TOLD.keys()]).toEqual([...tried]);
});
