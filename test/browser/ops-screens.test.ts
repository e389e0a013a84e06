// @module-tag long
// @module-tag dear
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { openBrowser, ofFile } from './browser.ts';
import { hostileScreens, hostileSite } from './hostile-site.ts';
import { hostileTexts } from './hostile-texts.ts';
import { LEFT_WAITING, silentShop } from './inboxes/silent-shop.ts';
import { layoutFaults } from './layout-faults.ts';
import { opsSite, type OpsSite } from './ops-site.ts';
import { visitor, type Visitor } from './visitor.ts';
import { looksFaults } from './accessibility.ts';

const PHONE = { width: 375, height: 740 };

const browser = await ofFile(openBrowser());

it('reads well with the list of keys open', async () => {
  await using site = await opsSite({ handlers: {} });
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce', viewport: PHONE });
  await ada.open('/audit');
  await ada.page.keyboard.press('?');
  await ada.page.getByRole('dialog').waitFor();
  expect(await looksFaults(ada.page, 375)).toEqual([]);
});

describe('a silent shop', () => {
  it('leads from its headline to the events that wait', async () => {
    await using site = await opsSite({ handlers: {} });
    await silentShop(site.inbox, systemClock);
    await using ada = await visitor(browser, site, { reducedMotion: 'reduce', viewport: PHONE });
    const { page } = ada;
    await ada.open('');
    await page.locator('#headline').getByRole('link', { name: 'Show', exact: true }).click();
    expect(await page.locator('main tbody .state-pending').count()).toBe(LEFT_WAITING);
  });
});

const site = await ofFile(hostileSite());

describe('hostile texts in every field that is stored', () => {
  it('do nothing, on every screen and at every width', async () => {
    const screens = hostileScreens();
    const faults: string[] = [];
    await lookAt(site, Object.values(screens), async ({ page }, path) => {
      const name = Object.keys(screens).find((name) => screens[name] === path);
      expect(await page.locator('h1').textContent(), name).not.toMatch(/^(?:No such|Nothing|That did not)/);
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 800 });
        faults.push(...(await layoutFaults(page)).map((fault) => `${name} at ${width} px: ${fault}`));
      }
    });
    expect(faults).toEqual([]);
  });

  it('are there to read, as they are', async () => {
    const { script } = hostileTexts;
    await using ada = await visitor(browser, site);
    await ada.open(`/events/${encodeURIComponent(script)}/${encodeURIComponent(script)}`);
    const shown = await ada.page.locator('main').innerText();
    for (const place of [`"${script}"`, `${script}: ${script}`]) expect(shown).toContain(place);
  });

  it('do nothing either when they arrive while somebody looks', async () => {
    const arriving = `${hostileTexts['event handler']} now`;
    await using ada = await visitor(browser, site);
    await ada.open('/events');
    const created = '2026-03-14T08:02:11Z';
    await site.deliver(JSON.stringify({ id: arriving, type: hostileTexts.script, created, data: {} }));
    await ada.page.getByRole('button', { name: '1 new' }).click();
    await ada.page.locator('#live').getByTitle(arriving).waitFor();
  });
});

async function lookAt(
  site: OpsSite,
  paths: readonly string[],
  look: (visitor: Visitor, path: string) => Promise<void>,
): Promise<void> {
  const left = paths.values();
  await Promise.all(
    [1, 2].map(async () => {
      // Colours that are still on their way would be measured there.
      await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
      for (const path of left) {
        await ada.open(path);
        await ada.page.evaluate(`for (const folded of document.querySelectorAll('details')) folded.open = true`);
        await look(ada, path);
      }
    }),
  );
}
