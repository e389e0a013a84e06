// @module-tag long
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { requirePart } from '../helpers/parts.ts';
import { openBrowser } from './browser.ts';
import { opsSite } from './ops-site.ts';
import { BLOCKED_ORDER, outageDayAndMore } from './inboxes/outage-day.ts';
import { visitor } from './visitor.ts';

const DOCS = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const MIN_BYTES = 8_000;
const MAX_BYTES = 64 * 1024;

/** The package has the pictures: 256 colours take a third of the bytes. */
const OF_256_COLOURS = { palette: true, colours: 256, quality: 100, effort: 10, dither: 0 };

const sharp = requirePart('sharp') as (picture: Buffer) => {
  readonly png: (options: typeof OF_256_COLOURS) => { readonly toBuffer: () => Promise<Buffer> };
};

it('can be made, and are there (-u makes them anew)', async () => {
  const pictures = await takePictures();
  if (expect.getState().snapshotState.snapshotUpdateState === 'all') {
    mkdirSync(DOCS, { recursive: true });
    for (const [name, picture] of pictures) writeFileSync(join(DOCS, name), picture);
  }
  for (const [name, picture] of pictures) {
    expect(picture.subarray(0, 8).toString('latin1'), name).toBe('\x89PNG\r\n\x1a\n');
    expect(picture.byteLength, name).toBeGreaterThan(MIN_BYTES);
    expect(picture.byteLength, name).toBeLessThan(MAX_BYTES);
    expect(existsSync(join(DOCS, name)), `docs/images/${name}: npm run docs makes it`).toBe(true);
  }
});

async function takePictures(): Promise<ReadonlyMap<string, Buffer>> {
  await using browser = await openBrowser();
  await using site = await opsSite({ handlers: {} });
  await outageDayAndMore(site, systemClock);
  await site.inbox.announce({ endpoints: '*', types: '*' }, Date.now(), null);
  await using ada = await visitor(browser, site);
  const { page } = ada;
  const pictures = new Map<string, Buffer>();
  const take = async (name: string): Promise<void> => {
    await settled(page);
    const picture = await page.screenshot({ animations: 'disabled' });
    pictures.set(`ops-${name}.png`, await sharp(picture).png(OF_256_COLOURS).toBuffer());
  };

  await ada.open('?range=24h');
  await take('overview');
  await page.emulateMedia({ colorScheme: 'dark' });
  await take('overview-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await ada.open(`/events?entity=${BLOCKED_ORDER}`);
  await take('events');
  await ada.open('/dead');
  await take('dead-events');
  const group = page.getByRole('row').filter({ hasText: 'ECONNREFUSED' });
  await group.getByRole('link', { name: 'Show newest event' }).click();
  await take('event');
  await page.goBack();
  await group.getByRole('button', { name: 'Rerun…' }).click();
  await take('bulk');
  await page.setViewportSize({ width: 375, height: 740 });
  await ada.open('/events?state=dead');
  await page.evaluate(`document.querySelector('table.list').scrollIntoView()`);
  await take('phone');
  return pictures;
}

async function settled(page: Page): Promise<void> {
  await page.locator('#live-state[data-state=live]').waitFor();
  await page.evaluate('document.fonts.ready');
}
