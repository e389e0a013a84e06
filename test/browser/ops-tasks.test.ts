import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { auditLines, countEvents, deadGroups } from '../../src/ops/index.ts';
import { openBrowser } from './browser.ts';
import { countedActions, type CountedActions } from './counted-actions.ts';
import { outageDay } from './inboxes/outage-day.ts';
import { opsSite, type OpsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

/** As many actions as an operator shall need, from the overview to the outcome. */
const MOST = 5;
const WHY = 'test orders without a tax rate';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** A day with an outage, at its overview. */
async function afterOutage(task: (site: OpsSite, page: Page, does: CountedActions) => Promise<void>): Promise<void> {
  await using site = await opsSite({ handlers: { '*': () => {} } });
  await outageDay(site.inbox, systemClock);
  await using ada = await visitor(browser, site);
  await ada.open('');
  await task(site, ada.page, countedActions(ada.page));
  expect(ada.troubles.filter((trouble) => !trouble.startsWith('a download: '))).toEqual([]);
}

async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.locator('main').getByText(text).first().waitFor();
}

describe('after an outage an operator', () => {
  it('discards the poison, with a reason and after a preview, in five actions', async () => {
    await afterOutage(async (site, page, does) => {
      const poison = (await deadGroups(site.inbox)).find(({ sample }) => sample?.name === 'TaxError');
      const count = poison?.count ?? 0;
      await does.click(page.getByRole('link', { name: 'Dead letters' }));
      const group = page.getByRole('row').filter({ hasText: 'TaxError' });
      await does.click(group.getByRole('button', { name: 'Discard group…' }));
      await sees(page, `Will discard ${count} events`);
      expect(await countEvents(site.inbox, { states: ['ignored'] })).toMatchObject({ count: 0 });
      await does.click(page.getByLabel(/^Reason/));
      await does.write(WHY);
      await does.press('Enter');
      await sees(page, `Of ${count} events that were discarded, ${count} are ignored.`);
      expect(does.count()).toBeLessThanOrEqual(MOST);
      expect(count).toBeGreaterThan(3);
      expect((await auditLines(site.inbox)).lines).toMatchObject([
        { act: 'discard', actor: 'ada', reason: WHY, counts: { done: count } },
      ]);
    });
  });

  it('discards one event of it from its own screen, in five', async () => {
    await afterOutage(async (site, page, does) => {
      await does.click(page.getByRole('link', { name: 'Dead letters' }));
      const group = page.getByRole('row').filter({ hasText: 'TaxError' });
      await does.click(group.getByRole('link', { name: 'see the newest' }));
      await does.click(page.locator('#discard > summary'));
      await does.write(WHY);
      await does.press('Enter');
      await sees(page, 'The event is put away');
      await page.locator('#timeline').getByText(WHY).waitFor();
      expect(does.count()).toBeLessThanOrEqual(MOST);
      expect(await countEvents(site.inbox, { states: ['ignored'] })).toMatchObject({ count: 1 });
    });
  });

  it('reruns what the outage has killed, and sees that all of it was processed, in five', async () => {
    await afterOutage(async (site, page, does) => {
      const outage = (await deadGroups(site.inbox)).find(({ sample }) => sample?.message.includes('ECONNREFUSED'));
      const count = outage?.count ?? 0;
      await site.receiver.start();
      await does.click(page.getByRole('link', { name: 'Dead letters' }));
      const group = page.getByRole('row').filter({ hasText: 'ECONNREFUSED' });
      await does.click(group.getByRole('button', { name: 'Rerun group…' }));
      await sees(page, `Will rerun ${count} events`);
      await does.click(page.getByLabel(/^Reason/));
      await does.write('the database is back');
      await does.press('Enter');
      await sees(page, `Of ${count} events that were rerun, ${count} are processed.`);
      expect(does.count()).toBeLessThanOrEqual(MOST);
      expect(count).toBeGreaterThan(50);
    });
  });

  it('gives the dead to a colleague in three', async () => {
    await afterOutage(async (site, page, does) => {
      await does.click(page.getByRole('link', { name: 'Dead letters' }));
      await does.click(page.getByText('Export all dead events…'));
      const download = page.waitForEvent('download');
      await does.click(page.locator('#export-all').getByRole('link', { name: 'CSV for a spreadsheet' }));
      expect((await download).suggestedFilename()).toMatch(/^hookbox-events-.*\.csv$/);
      expect(does.count()).toBe(3);
      const dead = await countEvents(site.inbox, { states: ['dead'] });
      await expect
        .poll(async () => (await auditLines(site.inbox)).lines)
        .toMatchObject([{ act: 'export', actor: 'ada', counts: { events: dead.count } }]);
    });
  });
});
