// @module-tag long
import { expect, it, onTestFinished } from 'vitest';
import { getEvent } from '../../src/ops/index.ts';
import { openBrowser, ofFile } from './browser.ts';
import { orderEvent } from './broken-shop.ts';
import { HOUR, MINUTE, passTime } from './inboxes/passed-time.ts';
import { opsSite, type OpsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const browser = await ofFile(openBrowser());

async function siteAfterFailures(): Promise<OpsSite> {
  const site = await opsSite({ handlers: { '*': () => {} } });
  onTestFinished(() => site[Symbol.asyncDispose]());
  const now = Date.now();
  const sent = [1, 2, 3].map((n) => ({ at: now - MINUTE, id: `evt_${n}`, type: 'order.created', order: `ord_${n}` }));
  const error = { name: 'Error', message: 'the stock system answered 503', stack: null };
  await passTime(site.inbox, sent, MINUTE, () => ({ outcome: 'retry', error, dueAt: now + HOUR }));
  await site.receiver.start();
  return site;
}

async function stateOf({ inbox }: OpsSite, id: string): Promise<string | undefined> {
  return (await getEvent(inbox, { endpoint: 'default', id }))?.summary.state;
}

it('one event is retried now, and its timeline says who had it retried, and why', async () => {
  const site = await siteAfterFailures();
  await using ada = await visitor(browser, site);
  const { page } = ada;
  await ada.open('/events/default/evt_1');
  await page.getByRole('button', { name: 'Retry now…', exact: true }).click();
  await page
    .locator('#retry-now')
    .getByLabel(/^Reason/)
    .fill('the stock system is back');
  await page.keyboard.press('Enter');
  await page.locator('h1 .state-processed').waitFor();
  expect(await page.locator('#timeline').innerText()).toMatch(/ada.*the stock system is back/);
  expect(await stateOf(site, 'evt_2')).toBe('pending');
});

it('a paused type is stored and waits, says by whom and why, and goes on once it is resumed', async () => {
  const site = await siteAfterFailures();
  await using ada = await visitor(browser, site);
  const { page } = ada;
  await ada.open('/paused');
  const form = page.locator('#pause');
  await form.getByRole('radio', { name: 'order.ready' }).check();
  await form
    .getByLabel(/^Reason/)
    .first()
    .fill('the printer has no paper');
  await page.keyboard.press('Control+Enter');
  const row = page.getByRole('row').filter({ hasText: 'order.ready' });
  await row.filter({ hasText: 'ada' }).filter({ hasText: 'the printer has no paper' }).waitFor();
  await site.deliver(orderEvent('ord_9', 'order.ready', 'EUR'));
  await row.getByRole('link', { name: '1', exact: true }).click();
  await page
    .getByRole('row')
    .filter({ hasText: 'order.ready' })
    .filter({ hasText: /paused/i })
    .waitFor();
  const [{ id } = { id: '' }] = await site.inbox.list({ after: 3 });
  expect(await stateOf(site, id)).toBe('pending');
  await ada.open('/paused');
  await row.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Resume this type' }).click();
  await expect.poll(() => stateOf(site, id)).toBe('processed');
});
