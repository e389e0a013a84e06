import { describe, expect, it, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { type Outcome, onceEach } from '../../src/sandbox/page/forms.ts';
import { sandboxPage } from '../../src/sandbox/page/sandbox-page.tsx';
import { hostileTexts } from '../browser/hostile-texts.ts';
import { tagsOf } from '../ops/page/read-html.ts';
import { FormUser, ORIGIN, readForm, type ReadForm } from './dashboard-forms.ts';
import { NEW_ORDER, placeOrder, Service } from './service.ts';

const SCREENS = [
  '',
  '/orders',
  '/deliveries',
  '/webhooks',
  '/keys',
  '/stock',
  '/clock',
  '/faults',
  '/place-order',
  '/send-event',
];
const ADA = { user: 'ada', password: 'a password of ada', role: 'operator' } as const;
const VIC = { user: 'vic', password: 'a password of vic' } as const;

const TAGS: ReadonlySet<string> = new Set(
  (
    'html head meta title link script body a header nav ul li span main h1 h2 p section div dl dt dd table thead tbody tr th td ' +
    'form input button label fieldset legend select option details summary bdi code pre time strong ol kbd dialog footer svg rect path symbol use textarea'
  ).split(' '),
);

function signedIn({ user, password }: { readonly user: string; readonly password: string }): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

describe('a form that the dashboard has not sent', () => {
  const forged: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['from another origin', { origin: 'http://evil.example' }],
    ['from another port', { origin: 'http://localhost:4001' }],
    ['from nowhere', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['from another site, says the browser', { 'sec-fetch-site': 'cross-site' }],
    ['under another name', { host: 'evil.example', origin: 'http://evil.example' }],
    ['through a proxy', { 'x-forwarded-for': '192.0.2.7' }],
  ];

  it.each(forged)('is refused %s, and nothing is done', async (_, headers) => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const forms = await formsOf(user);
    expect(forms.length).toBeGreaterThan(8);
    const before = standing(sandbox);
    for (const form of forms) {
      expect([form.action, (await user.post(form, headers)).status]).toEqual([form.action, 403]);
    }
    expect(standing(sandbox)).toEqual(before);
  });

  it('is refused without its token or its sight, and by GET', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    const before = standing(sandbox);
    for (const { action, body } of await formsOf(user)) {
      const without = (name: string) => body.filter(([field]) => field !== name);
      expect((await user.post({ action, body: without('csrf') })).status).toBe(403);
      expect((await user.post({ action, body: [...without('csrf'), ['csrf', 'A'.repeat(43)]] })).status).toBe(403);
      expect((await user.post({ action, body: without('sight') })).status).toBe(400);
      await user.ask(`${action}?${new URLSearchParams(body).toString()}`);
    }
    expect(standing(sandbox)).toEqual(before);
  });
});

describe('who is let in', () => {
  it('only this machine where there is no login', async () => {
    await using sandbox = createSandbox();
    const page = sandboxPage(sandbox);
    const from = async (url: string, remoteAddress?: string): Promise<number> => {
      const env = remoteAddress === undefined ? {} : { incoming: { socket: { remoteAddress } } };
      return (await page.request(url, {}, env)).status;
    };
    expect(await from(`${ORIGIN}/`, '127.0.0.1')).toBe(200);
    expect(await from('http://[::1]:4000/', '::1')).toBe(200);
    expect(await from(`${ORIGIN}/`, '192.0.2.7')).toBe(403);
    expect(await from('http://shop.example/', '127.0.0.1')).toBe(403);
    expect(await from(`${ORIGIN}/`)).toBe(403);
    expect(await from(`${ORIGIN}/assets/page.js`, '192.0.2.7')).toBe(403);
    expect(await from(`${ORIGIN}/live`, '192.0.2.7')).toBe(403);
  });

  it('those with a login where there is one, from anywhere; a viewer reads and gets no form', async () => {
    await using service = new Service();
    await placeOrder(service);
    const page = sandboxPage(service.sandbox, { basic: [ADA, VIC] });
    const far = { incoming: { socket: { remoteAddress: '192.0.2.7' } } };
    const ask = async (path: string, headers: Record<string, string>, method = 'GET') =>
      page.request(
        `http://sandbox.example${path}`,
        { method, headers: { origin: 'http://sandbox.example', ...headers } },
        far,
      );
    expect((await ask('/', {})).status).toBe(401);
    for (const path of SCREENS) {
      const read = await ask(path === '' ? '/' : path, signedIn(VIC));
      expect([path, read.status]).toEqual([path, 200]);
      expect(await read.text()).not.toMatch(/<form|<button(?! type="button")|href="[^"]*\/(?:place-order|send-event)/);
    }
    expect(await (await ask('/keys', signedIn(ADA))).text()).toContain('<form method="post" action="/keys"');
    expect((await ask('/keys', signedIn(VIC), 'POST')).status).toBe(403);
    expect(() => sandboxPage(service.sandbox, { basic: [{ user: 'ada', password: undefined }] })).toThrow('empty');
    expect(() => sandboxPage(service.sandbox, { unsafeOpen: false })).toThrow('authorize, basic or bearer');
  });
});

describe('what others wrote', () => {
  it('is text and nothing else, on every screen', async () => {
    await using service = new Service({ allowRemote: true });
    const { sandbox } = service;
    const texts = Object.values<string>(hostileTexts).map((text) => text.toWellFormed());
    for (const name of texts) {
      const customer = {
        ...NEW_ORDER.customer,
        id: name,
        name,
        address: { ...NEW_ORDER.customer.address, city: name },
      };
      await service.data('POST', '/order', {
        ...NEW_ORDER,
        items: [{ ...NEW_ORDER.items[0], quantity: 1 }],
        customer,
        dropoff_instructions: name,
      });
      sandbox.keys.create({ name });
      sandbox.webhooks.add({
        url: `https://shop.example/${name}?${encodeURIComponent(name)}`,
        secret: 'x',
        events: null,
      });
    }
    const user = new FormUser(sandbox);
    const queries = texts
      .slice(0, 8)
      .map(
        (text) =>
          `/deliveries?${new URLSearchParams({ state: text, endpoint: text, done: text, before: text }).toString()}`,
      );
    const ids = sandbox.orders.list(200).map(({ id }) => `/orders/${id}`);
    const raw = ids.map((path) => `${path}?view=raw`);
    const deliveries = sandbox.deliveries
      .list()
      .slice(0, 3)
      .map(({ id }) => `/deliveries/${id}`);
    const endpoints = sandbox.webhooks.list().map(({ id }) => `/webhooks/${id}`);
    for (const path of [...SCREENS, ...queries, ...ids, ...raw, ...deliveries, ...endpoints]) {
      const { status, html } = await user.open(path);
      expect([path, status]).toEqual([path, 200]);
      const tags = tagsOf(html);
      expect(
        tags.filter(({ name }) => !TAGS.has(name)).map(({ name }) => name),
        path,
      ).toEqual([]);
      const attributes = tags.flatMap((tag) => Object.keys(tag.attributes));
      expect(
        attributes.filter((name) => /^(?:on|style$|srcdoc$|http-equiv$)/.test(name)),
        path,
      ).toEqual([]);
      expect(
        tags.filter(({ name }) => name === 'script'),
        path,
      ).toHaveLength(1);
      for (const { attributes } of tags) {
        for (const to of [attributes['href'], attributes['src'], attributes['action']]) {
          expect(to ?? '/dashboard', path).toMatch(/^(?:\/dashboard(?:[/?#]|$)|#main$|#icon-\w+$|data:,$)/);
        }
      }
    }
  });

  it('comes with the strict policy, and no secret in any address', async () => {
    await using sandbox = createSandbox();
    const user = new FormUser(sandbox);
    for (const path of [...SCREENS, '/nowhere', '/assets/page.css', '/assets/sandbox.css', '/assets/page.js']) {
      const { headers } = await user.open(path);
      expect(headers.get('content-security-policy'), path).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect([headers.get('cache-control'), headers.get('x-frame-options')], path).toEqual(['no-store', 'DENY']);
    }
    const form = readForm((await user.open('/keys')).html, 'Create a key');
    const made = await user.ask(form.action, { method: 'POST', body: new URLSearchParams(form.body) });
    expect([made.status, made.headers.get('location'), made.headers.get('cache-control')]).toEqual([
      200,
      null,
      'no-store',
    ]);
    const html = await made.text();
    const [key = ''] = /sbx_[\w-]{32}/.exec(html) ?? [];
    expect(key).not.toBe('');
    for (const { attributes } of tagsOf(html)) expect(Object.values(attributes).join(' ')).not.toContain(key);
  });
});

describe('a thousand of everything', () => {
  it('is shown page by page, each once', async () => {
    await using service = new Service({ webhooks: [{ to: async () => new Response(), as: 'fetch' }] });
    const { sandbox } = service;
    const { locationId, productId } = sandbox.stock.list()[0] ?? { locationId: '', productId: '' };
    sandbox.stock.set(locationId, productId, 5_000);
    const order = { ...NEW_ORDER, location_id: locationId, items: [{ product_id: productId, quantity: 1 }] };
    for (let n = 0; n < 1_000; n += 1) await service.data('POST', '/order', order);
    for (let n = 0; n < 120; n += 1) sandbox.keys.create({ name: `key ${n}` });
    const user = new FormUser(sandbox);

    const board = await user.open('');
    expect(board.html.match(/class="card"/g)).toHaveLength(10);
    expect(board.text).toContain('All 1,000 created');
    expect(await rowsOf(user, '/orders?status=created', /id="order-(ord_\w+)"/g)).toEqual([1_000, 20]);
    expect(await rowsOf(user, '/deliveries?state=waiting', /id="delivery-(\d+)"/g)).toEqual([1_001, 21]);
    expect(await rowsOf(user, '/keys', /id="key-(key_\w+)"/g)).toEqual([121, 3]);
    expect((await user.open('/clock')).html.match(/id="due-/g)).toHaveLength(20);
  });
});

async function rowsOf(user: FormUser, first: string, id: RegExp): Promise<readonly [number, number]> {
  const seen = new Set<string | undefined>();
  let rows = 0;
  let pages = 0;
  for (let path: string | undefined = first; path !== undefined;) {
    const { html } = await user.open(path);
    const found = Array.from(html.matchAll(id), ([, one]) => one);
    found.forEach((one) => seen.add(one));
    rows += found.length;
    pages += 1;
    path = tagsOf(html)
      .find(({ attributes }) => attributes['rel'] === 'next')
      ?.attributes['href']?.replace('/dashboard', '');
  }
  expect(seen.size).toBe(rows);
  return [rows, pages];
}

/** Every form of every screen, filled in so that it would do something. */
async function formsOf(user: FormUser): Promise<readonly ReadForm[]> {
  const forms: ReadForm[] = [];
  for (const path of SCREENS) {
    const { html } = await user.open(path);
    for (const { name, attributes } of tagsOf(html)) {
      if (name !== 'form' || attributes['method'] !== 'post') continue;
      const { action, body } = readForm(html, attributes['aria-label'] ?? '');
      forms.push({ action, body: body.map(([field, value]) => [field, value === '' ? (FILLED[field] ?? '') : value]) });
    }
  }
  return forms;
}

const FILLED: Readonly<Record<string, string>> = { url: 'http://localhost:3000/hooks', by: '1 h' };

function standing(sandbox: ReturnType<typeof createSandbox>): unknown {
  const { keys, webhooks, stock, faults } = sandbox;
  return [sandbox.version(), sandbox.now(), keys.list(), webhooks.list(), stock.list(), faults.list()];
}

const DONE: Outcome = { to: '/keys', said: 'key-made' };

function formOf(sight: string): FormData {
  const form = new FormData();
  form.set('sight', sight);
  return form;
}

it('forms that come twice are known by their path and all of their fields', async () => {
  const once = onceEach();
  const work = vi.fn(() => DONE);
  for (const [path, sight] of ['a1', 'a1', 'a2', 'b1'].map((name) => [`/${name[0]}`, name[1] ?? ''] as const)) {
    await once(path, formOf(sight), work);
  }
  expect(work).toHaveBeenCalledTimes(3);
});

it('forms that come twice wait for the first one, and hear what it came to', async () => {
  const once = onceEach();
  const first = Promise.withResolvers<Outcome>();
  const work = vi.fn(async () => first.promise);
  const both = [once('/a', formOf('1'), work), once('/a', formOf('1'), work)];
  first.resolve(DONE);
  expect(await Promise.all(both)).toEqual([
    { ...DONE, isAgain: false },
    { ...DONE, isAgain: true },
  ]);
  expect(work).toHaveBeenCalledTimes(1);
});

it('forms that come twice are done when the first one has failed', async () => {
  const once = onceEach();
  const failing = () => {
    throw new Error('not now');
  };
  await expect(once('/a', formOf('1'), failing)).rejects.toThrow('not now');
  expect(await once('/a', formOf('1'), () => DONE)).toEqual({ ...DONE, isAgain: false });
});

it('forms that come twice show a secret again for a moment, and then never, and do nothing all the same', async () => {
  const once = onceEach(20);
  const shown = () => ({ title: 'A secret', current: '/keys', content: Promise.reject(new Error('not rendered')) });
  const work = vi.fn(() => ({ ...DONE, once: shown }));
  await once('/a', formOf('1'), work);
  expect((await once('/a', formOf('1'), work)).once).toBe(shown);
  await expect.poll(async () => (await once('/a', formOf('1'), work)).once).toBeUndefined();
  expect(await once('/a', formOf('1'), work)).toEqual({ ...DONE, isAgain: true });
  expect(work).toHaveBeenCalledTimes(1);
});

it('forms that come twice are forgotten, the oldest first, before they take up memory', async () => {
  const once = onceEach();
  const work = vi.fn(() => DONE);
  for (let n = 0; n < 1_001; n += 1) await once('/a', formOf(String(n)), work);
  expect((await once('/a', formOf('1000'), work)).isAgain).toBe(true);
  expect((await once('/a', formOf('0'), work)).isAgain).toBe(false);
});
