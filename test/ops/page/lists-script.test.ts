// @module-tag long
import type { Request } from 'playwright-core';
import { expect, test, vi } from 'vitest';
import type { Operations } from '../../../src/inbox/contract.ts';
import type { EventPage } from '../../../src/inbox/operator/search.ts';
import { discardEvents } from '../../../src/ops/index.ts';
import { openBrowser, ofFile } from '../../browser/browser.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { FAILED, handled } from '../events-in-states.ts';
import { asks, openedIn, type Opened } from './page-in-browser.ts';

const browser = await ofFile(openBrowser());

const idOf = (n: number): string =>
  `evt_7Kx9mQ2vT4bW8yZ1cD3fG5hJ${String(n).padStart(3, '0')}${n === 7 ? 'x'.repeat(220) : ''}`;

async function longList(): Promise<Opened> {
  const opened = await openedIn(browser);
  for (let n = 0; n < 60; n += 1) {
    const order = orderEvent(idOf(n), { order: `ord_9mQ2vT4bW8yZ1cD3fG5h${n}`, merchant: 'mer_2vT4bW8yZ1cD3' });
    await (n % 3 === 0 ? store(opened.inbox, order) : handled(opened.inbox, FAILED, order));
  }
  return opened;
}

test('twenty events are on a first screen, a line each; on a phone each is a card of two lines', async () => {
  const { page, origin } = await longList();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${origin}/ops/events`);
  const rows = '[...document.querySelectorAll("#events tbody tr")].map((row) => row.getBoundingClientRect())';
  const within = `${rows}.filter(({ bottom }) => bottom <= innerHeight).length`;
  if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/wide.png` });
  expect(await asks<number>(page, within)).toBeGreaterThanOrEqual(20);
  const heights = `new Set(${rows}.map(({ height }) => Math.round(height))).size`;
  expect(await asks<number>(page, heights)).toBe(1);
  expect(await page.locator('#events tbody tr', { hasText: 'evt_7Kx9mQ2vT4' }).count()).toBe(50);
  expect(await page.locator(`#events [title="${idOf(55)}"]`).count()).toBe(1);
  expect(await page.getByRole('columnheader', { name: 'endpoint' }).count()).toBe(0);
  expect(await page.getByRole('columnheader', { name: 'entity' }).count()).toBe(1);

  await page.setViewportSize({ width: 390, height: 844 });
  if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/phone.png` });
  const lines = `[...document.querySelectorAll("#events tbody tr")].map((row) => new Set(
    [...row.children].filter((cell) => cell.offsetParent !== null).map((cell) => {
      const { top, height } = cell.getBoundingClientRect();
      return Math.round((top + height / 2 - row.getBoundingClientRect().top) / 12);
    })).size)`;
  expect(await asks<number[]>(page, lines)).toEqual(Array.from({ length: 50 }, () => 2));
  expect(await asks<number>(page, `Math.max(...${rows}.map(({ height }) => height))`)).toBeLessThan(64);
});

test('what is chosen stays chosen while the list lives, and goes through a preview', async () => {
  const { page, inbox, origin } = await openedIn(browser, 'evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5');
  await page.goto(`${origin}/ops/events?state=dead`);
  await page.locator('#live-state[data-state=live]').waitFor();
  expect(await page.locator('#chosen').isHidden()).toBe(true);
  const box = (n: number) => page.locator(`tr[data-event="default/evt_${n}"] input`);
  await box(4).click();
  await box(2).click({ modifiers: ['Shift'] });
  expect(await page.locator('#chosen-count').textContent()).toBe('3 selected:');
  await handled(inbox, FAILED, orderEvent('evt_6'));
  await page.getByRole('button', { name: '1 new' }).click();
  await page.locator('tr[data-event="default/evt_6"]').waitFor();
  expect(await page.locator('#chosen-count').textContent()).toBe('3 selected:');
  await page.keyboard.press('x');
  expect(await page.locator('#chosen-count').textContent()).toBe('4 selected:');
  await box(3).click();
  await page.locator('#chosen').getByRole('button', { name: 'Rerun…' }).click();
  await page.waitForURL('**/bulks/*');
  expect(await page.locator('#sentence').textContent()).toContain('rerun 3 events');
  expect((await inbox.operations?.bulk(1))?.filter).toEqual({
    events: ['evt_6', 'evt_4', 'evt_2'].map((id) => ({ endpoint: 'default', id })),
  });
});

function slowly(inbox: Opened['inbox'], step: (before: number) => Promise<void>): void {
  const operations = inbox.operations as Operations;
  const real = operations.search.bind(operations);
  vi.spyOn(operations, 'countFound').mockResolvedValue({ count: 2, more: false, cut: true });
  vi.spyOn(operations, 'search').mockImplementation(async (filter, page): Promise<EventPage> => {
    if (filter.error === undefined) return real(filter, page);
    const before = page.before ?? 1_000;
    await step(before);
    const { events } = before % 300 === 0 ? await real({ id: `evt_${before}` }, { limit: 1 }) : { events: [] };
    return { events, next: before > 100 ? before - 100 : null, examined: 100 };
  });
}

test('a search goes on by itself to the end of the file; it can be stopped, and a fault is said', async () => {
  const { page, inbox, origin } = await openedIn(browser, 'evt_300', 'evt_600', 'evt_900');
  const gates = new Map([[700, Promise.withResolvers<void>()]]);
  const failing = new Set([400]);
  const asked: number[] = [];
  slowly(inbox, async (before) => {
    asked.push(before);
    await gates.get(before)?.promise;
    if (failing.delete(before)) throw new Error('the disk hangs');
  });
  await page.goto(`${origin}/ops/events?error=down`);
  await page.locator('tr[data-event="default/evt_900"]').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('#looked', { hasText: '300 events searched, 1 found. Search stopped.' }).waitFor();
  gates.get(700)?.resolve();
  expect(page.url()).toBe(`${origin}/ops/events?error=down`);

  await page.getByRole('link', { name: 'Search further' }).click();
  await page.locator('#looked', { hasText: 'Search failed' }).waitFor();
  expect(await page.locator('#events tbody tr').count()).toBe(2);
  await page.getByRole('link', { name: 'Search further' }).click();
  await page.locator('tr[data-event="default/evt_300"]').waitFor();
  await page.locator('#older').waitFor({ state: 'detached' });
  // Each step once, but for what was stopped, what failed, and looks at the first page.
  expect(asked.filter((before) => before < 1_000)).toEqual([900, 800, 700, 700, 600, 500, 400, 400, 300, 200, 100]);
});

const LOOK = `(async () => {
  const html = await (await fetch(location.href)).text();
  const to = new DOMParser().parseFromString(html, 'text/html').getElementById('live');
  const morph = (row, next) => [...row.children].forEach((cell, n) => {
    if (cell.querySelector('input') === null) cell.innerHTML = next.children[n].innerHTML;
  });
  document.getElementById('live').dispatchEvent(new CustomEvent('bring', { cancelable: true, detail: { to, morph } }));
})()`;

test('a list that grows keeps four pages and what is chosen, and asks for them one round at a time', async () => {
  const { page, inbox, origin } = await openedIn(browser);
  await store(inbox, ...Array.from({ length: 60 }, (_, n) => orderEvent(`evt_${n}`)));
  // In a tab that nobody sees the page does not look by itself.
  await page.addInitScript(`Object.defineProperty(document, 'hidden', { value: true })`);
  await page.goto(`${origin}/ops/events`);
  await page.locator('tr[data-event="default/evt_20"] input').click();
  const rows = page.locator('#events tbody tr');
  const named = { begun: 0, over: 0 };
  const isNamed = (request: Request): boolean => request.url().includes('?event=');
  page.on('request', (request) => void (isNamed(request) && (named.begun += 1)));
  page.on('requestfinished', (request) => void (isNamed(request) && (named.over += 1)));
  for (let n = 60; n < 260; n += 40) {
    await store(inbox, ...Array.from({ length: 40 }, (_, k) => orderEvent(`evt_${n + k}`)));
    await asks(page, LOOK);
    await page.getByRole('button', { name: '40 new' }).click();
  }
  expect(await rows.count()).toBe(201);
  expect(await rows.last().getAttribute('data-event')).toBe('default/evt_20');
  expect(await rows.first().getAttribute('data-event')).toBe('default/evt_259');
  expect(await page.locator('#older a').getAttribute('href')).toBe('?before=211');

  await expect
    .poll(async () => {
      const { begun } = named;
      await asks(page, 'new Promise((later) => setTimeout(later, 200))');
      return begun === named.begun && begun === named.over;
    })
    .toBe(true);
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  await page.route('**/ops/events?event=*', async (route) => {
    asked += 1;
    await gate.promise;
    await route.continue();
  });
  for (let n = 0; n < 3; n += 1) await asks(page, LOOK);
  await expect.poll(() => asked).toBe(1);
  await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_20' }], { actor: 'ada' });
  gate.resolve();
  await rows.last().locator('.state-discarded').waitFor();
  // 151 rows that are not on the first page, twenty at a time: of the three rounds one was made.
  expect(asked).toBe(8);
});

test('the search box suggests with the keyboard, and what is chosen is the filter', async () => {
  const { page, origin } = await openedIn(browser, 'evt_1', 'evt_2');
  await page.goto(`${origin}/ops`);
  await page.keyboard.press('/');
  await page.keyboard.type('sta');
  const option = (name: string) => page.getByRole('option', { name });
  await option('state:').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await option('state:dead').waitFor();
  expect(await option('state:dead').innerText()).toMatch(/^state:dead\s+2$/);
  expect(await page.getByRole('combobox').getAttribute('aria-expanded')).toBe('true');
  await page.keyboard.press('Escape');
  expect(await page.getByRole('option').count()).toBe(0);
  await page.keyboard.type('dea');
  await option('state:dead').click();
  await page.waitForURL('**/events?state=dead');
  expect(await page.getByRole('combobox').inputValue()).toBe('state:dead');

  await page.getByRole('combobox').fill('state:dead EVT_2');
  await option('Search bodies for “EVT_2”').click();
  await page.waitForURL('**/events?state=dead&bodyText=EVT_2');
  expect(await page.locator('#events tbody tr').count()).toBe(1);
  await page.getByRole('link', { name: 'Remove body contains EVT_2' }).click();
  await page.waitForURL('**/events?state=dead');
});

test('views are kept by name in the browser, as their URLs', async () => {
  const { page, origin } = await openedIn(browser, 'evt_1');
  await page.goto(`${origin}/ops/events?state=dead&type=order.created`);
  const views = page.locator('#views');
  await views.locator('summary').click();
  await page.getByLabel('Name of the view').fill('<b>Dead</b> orders');
  await page.keyboard.press('Enter');
  await views.getByRole('link', { name: '<b>Dead</b> orders' }).waitFor();
  await page.goto(`${origin}/ops/events`);
  await views.locator('summary').click();
  await views.getByRole('link').click();
  await page.waitForURL('**/events?state=dead&type=order.created');
  await views.locator('summary').click();
  expect(await views.getByRole('link').getAttribute('aria-current')).toBe('true');
  await views.getByRole('button', { name: 'Remove the view <b>Dead</b> orders' }).click();
  await views.getByText('No saved views yet').waitFor();
});

test('a row is a link as a whole, but for its box', async () => {
  const { page, origin } = await openedIn(browser, 'evt_1');
  await page.setViewportSize({ width: 1280, height: 600 });
  await page.goto(`${origin}/ops/events`);
  await page.locator('td[data-col="choose"]').click({ position: { x: 2, y: 2 } });
  expect(await page.locator('input[name="event"]').isChecked()).toBe(true);
  await page.locator('td[data-col="state"]').click({ force: true });
  await page.waitForURL('**/events/default/evt_1');
});
