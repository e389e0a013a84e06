import { expect, it } from 'vitest';
import { openBrowser, ofFile } from './browser.ts';
import { cutColumns } from './cut-columns.ts';
import { manyTypes } from './inboxes/many-types.ts';
import { layoutFaults } from './layout-faults.ts';
import { opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const WIDTHS = [390, 768, 1024, 1280, 1440, 1920, 2560];

const browser = await ofFile(openBrowser());
const site = await ofFile(opsSite({ handlers: {} }));
await manyTypes(site.inbox, Date.now());

it.each([
  '',
  '/events',
  '/events?state=pending',
  '/events?state=dead',
  '/events?endpoint=marketplace-eu-west',
  '/dead',
  '/rejected',
  '/bulks',
  '/paused',
  '/audit',
  '/health',
])('%s: at no width does a column lie outside of the page, nor is a text cut to nothing', async (path) => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  await ada.open(path);
  const faults: string[] = [];
  for (const width of WIDTHS) {
    faults.push(...(await cutColumns(ada.page, width)), ...(await layoutFaults(ada.page)));
  }
  expect(faults).toEqual([]);
});
