// @module-tag long
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { openBrowser, ofFile } from './browser.ts';
import { outageDay } from './inboxes/outage-day.ts';
import { HOUR, MINUTE, operationsIn } from './inboxes/passed-time.ts';
import { opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const WIDTHS = [1280, 900, 390, 320];
const RANGES = ['1h', '24h', '7d', '30d'];

const browser = await ofFile(openBrowser());
const site = await ofFile(opsSite({ handlers: {} }));
await outageDay(site.inbox, systemClock);

/**
 * Runs in the page. Of each chart which of its texts touch another one, stand out of it, or have the line or the dot of a mark
 * run through them. A line may pass behind the name of a level which is drawn later, with a margin of its own.
 */
const FIND = String.raw`(() => {
  const faults = [];
  const charts = [...document.querySelectorAll('main svg.chart')];
  for (const chart of charts) {
    const whole = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll('text')].map((text) => ({ says: text.textContent, inMargin: text.closest('.level, .axis') !== null, box: text.getBoundingClientRect() })).filter(({ box }) => box.width > 0);
    for (const mark of chart.querySelectorAll('.began line, .began circle')) {
      const { left, right, top, bottom } = mark.getBoundingClientRect();
      for (const text of chart.querySelectorAll('text')) {
        const box = text.getBoundingClientRect();
        if (right < box.left || left > box.right || bottom <= box.top + 1 || top >= box.bottom - 1) continue;
        const isBehind = (mark.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
        const { paintOrder, strokeWidth, stroke } = getComputedStyle(text);
        const hasMargin = paintOrder.startsWith('stroke') && parseFloat(strokeWidth) >= 3 && stroke !== 'none';
        if (mark.matches('line') && text.matches('.plot, .level text') && isBehind && hasMargin) continue;
        faults.push('a mark runs through ' + JSON.stringify(text.textContent));
      }
    }
    for (const [n, { says, inMargin, box }] of texts.entries()) {
      if (box.left < whole.left - (inMargin ? 52 : 1) || box.right > whole.right + 1 || box.top < whole.top - 3 || box.bottom > whole.bottom + 3) {
        faults.push(JSON.stringify(says) + ' stands out of its chart');
      }
      for (const other of texts.slice(n + 1)) {
        const apart = box.right <= other.box.left || other.box.right <= box.left || box.bottom <= other.box.top || other.box.bottom <= box.top;
        if (!apart) faults.push(JSON.stringify(says) + ' touches ' + JSON.stringify(other.says));
      }
    }
  }
  return { faults, texts: charts.reduce((sum, chart) => sum + chart.querySelectorAll('text').length, 0) };
})()`;

const WITH_LONG_TIMES = String.raw`(() => {
  for (const text of document.querySelectorAll('main .axis text')) text.textContent = text.textContent.includes(':') ? '20:08' : '30 Nov';
})()`;

interface Found {
  readonly faults: readonly string[];
  readonly texts: number;
}

async function faultsAt(
  page: Page,
  open: (range: string) => Promise<void>,
  ranges: readonly string[] = RANGES,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const range of ranges) {
    await open(range);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(WITH_LONG_TIMES);
      const found = await page.evaluate<Found>(FIND);
      expect(found.texts, range).toBeGreaterThan(9);
      faults.push(...found.faults.map((fault) => `${range} at ${width} px: ${fault}`));
    }
  }
  return faults;
}

// The newest has its name in the chart, so each of these comes after the one before.
it.each([
  ['nothing began', []],
  ['a release began at the left of 30 days', [29.5 * 24 * HOUR]],
  ['releases began at the left of 7 days, and in the middle of 30', [15 * 24 * HOUR, 6.9 * 24 * HOUR]],
  ['a release began at the left of a day', [23.7 * HOUR]],
  ['a release began in the middle of a day', [12 * HOUR]],
  ['a release began at the left of an hour', [58 * MINUTE]],
  ['releases began in the middle of an hour', [31 * MINUTE, 30 * MINUTE, 29 * MINUTE]],
  ['a release began just now', [0]],
])('never touch one another, at any range, at a desk and on a phone: %s', async (what, ago) => {
  const now = Date.now();
  for (const [n, each] of ago.entries()) {
    const name = `2026.11.${n}-${what}`;
    await operationsIn(site.inbox).noteRelease({ name, endpoint: 'default', at: now - each, what: 'began' });
  }
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const { page } = ada;
  expect(await faultsAt(page, (range) => ada.open(`?range=${range}`))).toEqual([]);
});

it('have their times inside, at any time of a day', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const now = Date.now();
  for (let hours = 0; hours < 24; hours += 3) {
    vi.useFakeTimers({ toFake: ['Date'], now: now + hours * HOUR });
    onTestFinished(() => void vi.useRealTimers());
    const faults = await faultsAt(ada.page, (range) => ada.open(`?range=${range}`), ['24h', '7d', '30d']);
    expect(faults, `${hours} h from now`).toEqual([]);
  }
});

it('say what an axis is in, with five to seven times', async () => {
  await using ada = await visitor(browser, site);
  const { page } = ada;
  for (const [range, step] of [
    ['1h', '1 min'],
    ['24h', '30 min'],
    ['7d', '3 h'],
    ['30d', '12 h'],
  ] as const) {
    await ada.open(`?range=${range}`);
    const levels = await page.locator('#outcomes .level text').allTextContents();
    expect(levels.length).toBeGreaterThan(3);
    for (const level of levels) expect(level).toMatch(/^[\d,]+$/);
    const plots = await page.locator('#outcomes .plot').allTextContents();
    expect(plots.slice(0, 2)).toEqual(['received and processed', 'failed and dead']);
    for (const chart of ['#outcomes', '#latency']) {
      expect(await page.locator(`${chart} h2`).innerText()).toContain(`every ${step}, UTC`);
      const times = await page.locator(`${chart} .axis text`).allTextContents();
      expect(times.length).toBeGreaterThan(4);
      expect(times.length).toBeLessThan(9);
    }
  }
});
