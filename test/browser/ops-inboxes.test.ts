// @module-tag repeated
// @module-tag long
// @module-tag dear
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { times } from '../helpers/times.ts';
import { looksFaults } from './accessibility.ts';
import { openBrowser, ofFile } from './browser.ts';
import { cutColumns } from './cut-columns.ts';
import { NINE_INBOXES } from './inboxes/nine-inboxes.ts';
import { layoutFaults } from './layout-faults.ts';
import { visitor } from './visitor.ts';

const WIDTHS = [390, 768, 1024, 1280, 1440, 1920, 2560];
const SCREENS = ['', '/events', '/dead', '/rejected', '/bulks', '/paused', '/audit', '/health', '/maintenance'];
const OVERVIEW_BYTES = 150 * 1024;
const SCREEN_BYTES = 300 * 1024;
/** A fraction of a pixel is no movement. */
const LEAST_SHIFT = 0.0003;

const browser = await ofFile(openBrowser());

// The fullest come first.
it.each(Object.entries(NINE_INBOXES).slice(0, times(9, 2)))(
  '%s: each screen reads well at seven widths, light and dark, and nothing moves while it loads',
  async (name, open) => {
    const { site, screens = [] } = await open();
    await using stack = new AsyncDisposableStack();
    stack.use(site);
    await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
    // What is brought up to date is no part of the load.
    await ada.page.route('**/live', () => {});
    const faults: string[] = [];
    for (const path of [...SCREENS, ...screens]) {
      await ada.open(path);
      const { bytes, shift } = await costOf(ada.page);
      if (bytes > (path === '' ? OVERVIEW_BYTES : SCREEN_BYTES)) faults.push(`${path} has ${bytes} bytes`);
      if (shift > LEAST_SHIFT) faults.push(`${path} shifts by ${shift}`);
      for (const width of WIDTHS) {
        const here = [
          // Words of attackers break anywhere.
          ...(name === 'hostile texts' ? [] : await cutColumns(ada.page, width)),
          ...(await layoutFaults(ada.page)),
          ...(await cutTexts(ada.page)),
        ];
        faults.push(...here.map((fault) => `${path} at ${width}: ${fault}`));
      }
      faults.push(...(await looksFaults(ada.page, 1440)));
    }
    expect([...new Set(faults)]).toEqual([]);
  },
);

function costOf(page: Page): Promise<{ readonly bytes: number; readonly shift: number }> {
  return page.evaluate(`new Promise((resolve) => {
    let shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    const [{ decodedBodySize }] = performance.getEntriesByType('navigation');
    setTimeout(() => resolve({ bytes: decodedBodySize, shift }), 150);
  })`);
}

/** Texts that are wider or higher than their box, of which the rest can be neither scrolled to, opened nor read in a title. */
function cutTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(String.raw`(() => {
    const faults = [];
    const isClipped = (element) => element !== null && (element.getBoundingClientRect().width <= 1 || isClipped(element.parentElement));
    for (const element of document.querySelectorAll('header *, main *, footer *')) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      if (!hasText || !element.checkVisibility({ visibilityProperty: true })) continue;
      if (isClipped(element) || element.closest('svg, option, [title]') || /\p{M}{20}/u.test(element.textContent)) continue;
      const style = getComputedStyle(element);
      if (style.display === 'inline' || /auto|scroll/.test(style.overflowX + style.overflowY)) continue;
      const isWide = element.scrollWidth > element.clientWidth + 1 && style.overflowX !== 'visible';
      const isHigh = element.scrollHeight > element.clientHeight + 3 && style.overflowY !== 'visible';
      if (isWide || isHigh) faults.push('cut: ' + element.tagName.toLowerCase() + '.' + element.className + ': ' + element.textContent.trim().slice(0, 60));
    }
    return faults;
  })()`);
}
