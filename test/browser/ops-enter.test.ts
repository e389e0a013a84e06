// @module-tag long
// @module-tag dear
/** Enter, pressed again and again, confirms nothing that is lost: on every screen, in every form, on whatever has the focus. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  acknowledgeGroup,
  auditLines,
  deadGroups,
  discardEvents,
  getBulk,
  listBulks,
  pauseBulk,
  pausedTypes,
  pauseType,
  previewBulk,
} from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { FAILED, failure, handled } from '../ops/events-in-states.ts';
import { openBrowser, ofFile } from './browser.ts';
import { opsSite, type OpsSite } from './ops-site.ts';
import { visitor, type Visitor } from './visitor.ts';

const browser = await ofFile(openBrowser());

const BY = { actor: 'grace', reason: 'a reason of grace' };

const RUNNING = 4;

/** Everything that can be acted on, in every state in which the page offers another act. */
async function shop(): Promise<OpsSite> {
  const site = await opsSite({ handlers: {} });
  const { inbox } = site;
  const dies = (message: string, ...ids: readonly string[]): Promise<void> =>
    handled(inbox, { ...FAILED, error: { ...failure, message } }, ...ids.map((id) => orderEvent(id)));
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt_processed'));
  await dies('down', 'evt_dead', 'evt_discarded');
  await dies('known', 'evt_known');
  await dies('of a bulk', 'evt_1', 'evt_2', 'evt_3');
  await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_discarded' }], BY);
  const later = { outcome: 'retry', error: failure, dueAt: Date.now() + 3_600_000 } as const;
  await handled(inbox, later, orderEvent('evt_later'));
  await store(inbox, orderEvent('evt_paused', { type: 'order.ready' }));
  await pauseType(inbox, 'order.ready', BY);
  const known = (await deadGroups(inbox)).find(({ sample }) => sample?.message === 'known');
  await acknowledgeGroup(inbox, known?.fingerprint ?? '', BY);
  await previewBulk(inbox, 'discard', { states: ['dead'] }, BY);
  await previewBulk(inbox, 'rerun', { states: ['dead'] }, BY);
  await previewBulk(inbox, 'rerun', { states: ['processed'] }, BY, { force: true });
  for (const act of ['rerun', 'discard'] as const) {
    const { id } = await previewBulk(inbox, act, { states: ['dead'], error: 'of a bulk' }, BY);
    await operationsOf(inbox).advanceBulk(id, 1, BY, {});
    if (act === 'discard') await pauseBulk(inbox, id, BY);
  }
  return site;
}

const STATES = ['dead', 'processed', 'discarded', 'later', 'paused'];
const SCREENS: Readonly<Record<string, string | ((page: Page) => Promise<void>)>> = {
  ...Object.fromEntries(
    [
      '',
      ...['', '?state=dead', '?state=pending', '?state=processed'].map((query) => `/events${query}`),
      ...STATES.map((state) => `/events/default/evt_${state}`),
      '/dead',
      '/dead?by=type',
      '/rejected',
      '/bulks',
      '/paused',
      '/audit',
      '/health',
      '/maintenance',
      ...[1, 2, 3, 4, 5].map((id) => `/bulks/${id}`),
    ].map((path) => [path, path]),
  ),
  'a prune': preview('prune', 'olderThanDays', '0'),
  'an erasure': preview('erase', 'entity', 'evt_dead'),
};

function preview(form: string, field: string, value: string) {
  return async (page: Page): Promise<void> => {
    await page.goto(`${new URL(page.url()).origin}/ops/maintenance`);
    await page.locator(`#${form} [name=${field}]`).fill(value);
    await page.locator(`#${form} [type=submit]`).click();
    await page.locator('#preview').waitFor();
  };
}

/** What Enter may do: it takes nothing away, and its dialog or preview has been read. */
async function isHarmless({ inbox }: OpsSite, path: string, fields: URLSearchParams): Promise<boolean> {
  if (fields.has('format')) return true; // an export
  if (/\/(?:retry-now|replay|export|backup)$|^\/ops\/dead\//.test(path)) return true;
  if (path.endsWith('/rerun')) return !fields.has('force');
  const [, id] = /^\/ops\/bulks\/(\d+)\/run$/.exec(path) ?? [];
  const bulk = id === undefined ? null : await getBulk(inbox, Number(id));
  return bulk !== null && bulk.act !== 'discard' && !bulk.force;
}

async function standing({ inbox }: OpsSite): Promise<unknown> {
  const [events, pauses, bulks, { lines }] = await Promise.all([
    inbox.list(),
    pausedTypes(inbox),
    listBulks(inbox),
    auditLines(inbox),
  ]);
  return [
    events.map(({ id, state, body }) => [id, state, body !== null]),
    pauses.map(({ type }) => type),
    // A preview does nothing.
    bulks.filter(({ actor }) => actor === BY.actor).map(({ id, state }) => [id, state]),
    lines.map(({ at, act }) => [at, act]),
  ];
}

interface Control {
  readonly at: number;
  /** of its form, without the names in it */
  readonly action: string;
  readonly name: string;
  /** whether it is the button that alone confirms what its form does */
  readonly confirms: boolean;
  readonly dialog: string | null;
}

const CONTROLS = `[...document.querySelectorAll('main :is(form[method=post] :is(input, select, textarea, button), summary, [name=ask])')]
  .filter((control) => control.type !== 'hidden' && !control.disabled)`;

const controlsOf = (page: Page): Promise<readonly Control[]> =>
  page.evaluate(`${CONTROLS}.map((control, at) => ({
    at,
    action: (control.form?.method === 'post' ? control.form.getAttribute('action') : '')
      .replace(/^\\/ops/, '').replace(/\\/\\d+\\//, '/:id/').replace(/events\\/[^/]+\\/[^/]+/, 'events/:endpoint/:id'),
    name: [control.form?.elements.namedItem('act')?.value, control.name, control.type, control.type === 'submit' ? control.value : ''].join(' '),
    confirms: control.type === 'submit' && control.form?.querySelector('[type=submit]')?.disabled === true,
    dialog: control.closest('dialog')?.id ?? null,
  }))`);

/** Each form is as far as it can be: the next press would do it. */
const FILLED = `
  for (const folded of document.querySelectorAll('main details')) folded.open = true;
  const typed = { type: 'order.created', entity: 'evt_dead', link: 'https://wiki.example', to: 'http://127.0.0.1:9/' };
  for (const form of document.querySelectorAll('form[method=post]')) {
    for (const input of form.elements) {
      if (input.type === 'checkbox') input.checked = true;
      if (input.name === 'typed') input.value = form.elements.entity?.value ?? form.elements.confirm.value;
      else if (input.name in typed) input.value ||= typed[input.name];
      else if (input.name === 'reason') input.value = 'a reason';
      else if (input.name === 'olderThanDays') input.value = '0';
    }
  }`;

/** The page does not change by what may be done, so that all can be tried there. */
async function answerHarmless(page: Page, site: OpsSite): Promise<void> {
  await page.route('**', async (route: Route) => {
    const request = route.request();
    if (request.method() !== 'POST') return route.fallback();
    const fields = new URLSearchParams(request.postData() ?? '');
    const { pathname } = new URL(request.url());
    return (await isHarmless(site, pathname, fields)) ? route.fulfill({ status: 204 }) : route.fallback();
  });
}

/** What was pressed last may still lead away. */
async function openAgain({ open }: Visitor, path: string): Promise<void> {
  for (let left = 5; ; left -= 1) {
    try {
      return await open(path);
    } catch (failure) {
      if (left === 0) throw failure;
      await sleep(100);
    }
  }
}

async function pressEnter(page: Page): Promise<void> {
  for (let n = 0; n < 2; n += 1) {
    // The second one comes while the page loads.
    for (let again = 0; again < 2; again += 1) await page.keyboard.press('Enter');
    // A second request that ends the first may leave it loading.
    await page.waitForLoadState('load', { timeout: 3_000 }).catch(() => {});
    await sleep(30);
  }
}

describe.each([
  ['with the script', true],
  ['without the script', false],
])('%s, Enter', (_, javaScriptEnabled) => {
  const known = new Set<string>();
  const actions = new Set<string>();
  const shops = ofFile(shop());

  it.each(Object.entries(SCREENS))('does nothing that is lost on %s', async (_, screen) => {
    const site = await shops;
    await using ada = await visitor(browser, site, { javaScriptEnabled, mayDownload: true, reducedMotion: 'reduce' });
    const { page } = ada;
    // Otherwise it would be stopped after a while.
    await operationsOf(site.inbox).reportBulk(RUNNING, false);
    await answerHarmless(page, site);
    const open = async (): Promise<void> => {
      const path = typeof screen === 'string' ? screen : '';
      await openAgain(ada, path);
      if (typeof screen !== 'string') await screen(page);
    };
    const before = await standing(site);
    await open();
    const controls = await controlsOf(page);
    await pressEnter(page);
    expect(await standing(site), 'when it opens').toEqual(before);

    for (const { at, action, name, confirms, dialog } of controls) {
      actions.add(action);
      const key = `${action} ${name}`;
      if (confirms || known.has(key)) continue;
      known.add(key);
      await open();
      if (dialog !== null && !javaScriptEnabled) await page.goto(`${page.url()}?ask=${dialog}`);
      if (dialog !== null && javaScriptEnabled) await page.evaluate(`document.getElementById('${dialog}').showModal()`);
      await page.evaluate(FILLED);
      const [file] = await page.locator('main [type=file]').all();
      await file?.setInputFiles({ name: 'events.ndjson', mimeType: 'text/plain', buffer: Buffer.from('{}') });
      await page.evaluate(`${CONTROLS}[${at}].focus()`);
      await pressEnter(page);
      expect(await standing(site), key).toEqual(before);
    }
  });

  it('is tried in the form of each act', () => {
    expect([...actions].filter((action) => action !== '').toSorted()).toEqual(postRoutes());
  });
});

it.each([
  '/events?state=dead',
  '/events?state=processed',
  '/events/default/evt_dead',
  '/events/default/evt_processed',
  '/dead',
  '/bulks',
])('after the keys for rows and acts, Enter does nothing that is lost on %s', async (path) => {
  await using site = await shop();
  await using ada = await visitor(browser, site, { reducedMotion: 'reduce' });
  const { page } = ada;
  await answerHarmless(page, site);
  const before = await standing(site);
  for (const keys of ['j', 'd', 'r', 'jd', 'jr', 'jjd', 'jxd', 'jxr']) {
    await openAgain(ada, path);
    for (const key of keys) await page.keyboard.press(key);
    await pressEnter(page);
    expect(await standing(site), keys).toEqual(before);
  }
});

function postRoutes(): readonly string[] {
  const folder = new URL('../../src/page/acts/', import.meta.url);
  const texts = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const routes = texts.flatMap((text) => [...text.matchAll(/\.post\(['`]([^'`]+)/g)].map(([, route = '']) => route));
  return routes
    .map((route) => route.replace('{[0-9]{1,15}}', ''))
    .flatMap((route) => {
      const [name, acts = ''] = /:act\{(.*)\}/.exec(route.replace('${act}', ':act{rerun|discard|retry-now}')) ?? [];
      return name === undefined ? [route] : acts.split('|').map((act) => route.replace(/:act\{.*\}|\$\{act\}/, act));
    })
    .toSorted();
}
