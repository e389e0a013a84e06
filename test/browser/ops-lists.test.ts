// @module-tag long
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { pauseType } from '../../src/ops/index.ts';
import { openBrowser, ofFile } from './browser.ts';
import { MINUTE, passTime } from './inboxes/passed-time.ts';
import { layoutFaults } from './layout-faults.ts';
import { opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const WIDTHS = [1600, 1280, 1279, 1100, 1000, 800, 641, 640, 390, 320];
const LONG = '01JDB7Q4XKZ8M3TNVRWCEF5H';

const browser = await ofFile(openBrowser());
const site = await ofFile(opsSite({ handlers: {} }));
const { inbox } = site;
const now = Date.now();
const sent = (type: string) =>
  ['X1', 'X2'].map((end, n) => {
    const id = `evt_${LONG}${type.slice(-3)}${end}`;
    return { at: now - (3 - n) * MINUTE, id, type, order: `ord_${LONG}${type.slice(-3)}${end}` };
  });
const error = { name: 'StockUnavailable', message: 'POST https://stock.shop.internal/v2 answered 503', stack: null };
await passTime(inbox, sent('order.cancelled'), MINUTE, () => ({ outcome: 'processed' }));
await passTime(inbox, sent('order.ready'), MINUTE, () => ({ outcome: 'dead', reason: 'invalid', error }));
await passTime(inbox, sent('order.created'), MINUTE, () => ({ outcome: 'retry', error, dueAt: now + 9 * MINUTE }));
const behind = { at: now - 30_000, id: `evt_${LONG}behind`, type: 'order.ready', order: `ord_${LONG}tedX1` };
await passTime(inbox, [behind], MINUTE, () => null);
await passTime(inbox, sent('order.completed'), MINUTE, () => null);
await pauseType(inbox, 'order.completed', { actor: 'ada' });

/**
 * Runs in the page. What of a row is cut or out of the window: the end of an id or of what it is about, a state, a type, a time.
 * An ellipsis within a name is none.
 */
const FIND = String.raw`(() => {
  const faults = [];
  const isSeen = ({ width }) => width > 1;
  const table = document.querySelector('table.events');
  for (const row of table.querySelectorAll('tbody tr')) {
    for (const cell of row.querySelectorAll('th, td')) {
      const { col } = cell.dataset;
      const text = (col === 'waits' ? cell.querySelector('a') : cell.querySelector('.id')) ?? cell.querySelector('a, .state, span.muted') ?? cell;
      if (!['event', 'id', 'state', 'about', 'received'].includes(col) && !(col === 'waits' && cell.querySelector('a')) || !isSeen(cell.getBoundingClientRect())) continue;
      const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
      let last = null;
      while (walk.nextNode()) if (walk.currentNode.data.trim() !== '') last = walk.currentNode;
      if (last === null) continue;
      const range = document.createRange();
      range.setStart(last, Math.max(0, last.data.length - 4));
      range.setEnd(last, last.data.length);
      const { left, right } = range.getBoundingClientRect();
      let clip = { left: 0, right: document.documentElement.clientWidth };
      for (let box = last.parentElement; box !== null; box = box.parentElement) {
        if (getComputedStyle(box).overflowX === 'visible') continue;
        const rect = box.getBoundingClientRect();
        clip = { left: Math.max(clip.left, rect.left), right: Math.min(clip.right, rect.right) };
      }
      if (left < clip.left - 1 || right > clip.right + 1) faults.push(col + ': ' + text.textContent.trim());
      else if (left > right - 4) faults.push(col + ' without an end: ' + text.textContent.trim());
    }
  }
  const { right } = table.getBoundingClientRect();
  if (right > document.documentElement.clientWidth) faults.push('the table ends at ' + Math.round(right));
  return [...new Set(faults)];
})()`;

async function faultsAt(page: Page, width: number): Promise<readonly string[]> {
  await page.setViewportSize({ width, height: 800 });
  const faults = [...(await page.evaluate<string[]>(FIND)), ...(await layoutFaults(page))];
  return faults.map((fault) => `at ${width} px: ${fault}`);
}

it.each(['/events', '/events?state=dead', '/events?state=processed', '/events?retrying=yes'])(
  '%s: at no width is the end of an id cut, nor a type, a state or a time, nor a column out of the window',
  async (path) => {
    await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
    await ada.open(path);
    const faults: string[] = [];
    for (const width of WIDTHS) faults.push(...(await faultsAt(ada.page, width)));
    expect(faults).toEqual([]);
  },
);

it('names the event that another waits behind with its end, as two of an order begin alike', async () => {
  await using ada = await visitor(browser, site, { viewport: { width: 390, height: 800 } });
  await ada.open('');
  const oldest = await ada.page.locator('#tile-oldest-pending').innerText();
  expect(oldest).toMatch(/^evt_\w+(?:…\w*)?X1$/m);
});

it.each([1280, 800, 390])('at %i px, the actions on selected events are in sight at once', async (width) => {
  await using ada = await visitor(browser, site, { viewport: { width, height: 700 } });
  await ada.open('/events');
  const { page } = ada;
  await page.locator('td[data-col=choose] input').first().check();
  const end = `document.getElementById('chosen').getBoundingClientRect().bottom`;
  await expect.poll(() => page.evaluate(end)).toBeLessThanOrEqual(700);
});
