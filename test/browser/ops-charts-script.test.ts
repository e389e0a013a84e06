// @module-tag long
import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { listEvents } from '../../src/ops/find.ts';
import { rerunEvents } from '../../src/ops/act-on-events.ts';
import { looksFaults } from './accessibility.ts';
import { openBrowser, ofFile } from './browser.ts';
import { outageDay } from './inboxes/outage-day.ts';
import { OPERATOR, opsSite } from './ops-site.ts';
import { visitor } from './visitor.ts';

const browser = await ofFile(openBrowser());
const site = await ofFile(opsSite({ handlers: {} }));

it('an empty inbox shows the three steps to the first event, and then the event without a reload', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  await ada.open('');
  expect(await ada.page.locator('#first-steps li').count()).toBe(3);
  expect(await looksFaults(ada.page, 390, 1280)).toEqual([]);
  await ada.page.locator('#live-state[data-state=live]').waitFor();
  await outageDay(site.inbox, systemClock);
  await ada.page.locator('#headline').waitFor();
  expect(await ada.page.locator('#first-steps').count()).toBe(0);
});

it('the pointer shows the figures of a step, a drag zooms, and the legend switches a series', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce', viewport: { width: 1280, height: 1600 } });
  const { page } = ada;
  await ada.open('');
  const box = await page.locator('#outcomes svg[data-since]').boundingBox();
  if (box === null) throw new Error('no chart');
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  const shown = await page.locator('.readout').innerText();
  expect(shown).toMatch(/^\d+ \w+ \d\d:\d\d – \d\d:\d\d\n[^]*received\s+\d+[^]*dead\s+\d+/);

  const dead = page.getByRole('button', { name: /^dead \d+/ });
  await dead.focus();
  await page.keyboard.press('Enter');
  expect(await dead.getAttribute('aria-pressed')).toBe('false');
  expect(await page.locator('#outcomes svg:not(.key) rect.dead').first().isVisible()).toBe(false);
  await page.mouse.move(box.x + box.width * 0.5, box.y + 61);
  expect(await page.locator('.readout').innerText()).not.toContain('dead');
  expect(await looksFaults(page, 1280)).toEqual([]);

  await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 80, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/range=\d{4}-/);
  expect(await page.locator('#within').innerText()).toMatch(/^From .+ to .+/);
  expect(await page.locator('#tile-received .figure').innerText()).toMatch(/^\d/);
});

it('a range can be typed, is kept if it cannot be read, and is in the time of the visitor', async () => {
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce', timezoneId: 'Asia/Tokyo' });
  const { page } = ada;
  await ada.open('/preferences?times=local&to=/ops');
  const field = page.getByLabel('Other time range');
  await field.fill('someday');
  await page.keyboard.press('Enter');
  await page.locator('#unread').waitFor();
  expect(await field.inputValue()).toBe('someday');
  await field.fill('yesterday 9-11');
  await page.keyboard.press('Enter');
  await page.waitForURL(/zone=540/);
  // The script of the page writes the times that the server has sent.
  const within = page.locator('#within');
  await expect.poll(() => within.innerText()).toMatch(/ 09:00:00.* 11:00:00/);
  expect(await within.locator('time').first().getAttribute('datetime')).toMatch(/T00:00:00/);
  await ada.open('?range=24h');
  const tick = page.locator('#outcomes .axis text', { hasText: ':' }).first();
  const at = new Date((await tick.getAttribute('data-at')) ?? '');
  const inTokyo = at.toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo', hour: '2-digit', minute: '2-digit' });
  await expect.poll(() => tick.textContent()).toBe(inTokyo);
});

it('without a connection the page is grey and says since when; what was typed outlives an error', async () => {
  const context = await browser.newContext({ httpCredentials: OPERATOR });
  const page = await context.newPage();
  await page.route('**/ops/live', (route) => route.abort());
  const { events } = await listEvents(site.inbox, { states: ['dead'] }, { limit: 1 });
  const [key] = events;
  if (key === undefined) throw new Error('no dead event');
  const { pathname } = new URL(`/ops/events/${key.endpoint}/${key.id}`, site.origin);
  await page.goto(`${site.origin}${pathname}#discard`);
  await page.getByText(/^No connection since \d\d:\d\d UTC$/).waitFor();
  expect(await page.evaluate('getComputedStyle(document.getElementById("live")).opacity')).toBe('0.6');
  await rerunEvents(site.inbox, [key], { actor: 'grace' });
  await page.locator('#discard input[name=reason]').fill('a long story');
  await page.locator('#discard .confirm button').click();
  await page.getByText('The event changed from dead').waitFor();
  expect(await page.locator('.typed').innerText()).toBe('You entered this reason: a long story');
  await page.goBack();
  await page.locator('h1').waitFor();
  expect(await page.evaluate('Object.keys(sessionStorage).length')).toBeLessThan(2);
  await context.close();
});
