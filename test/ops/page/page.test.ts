import * as fc from 'fast-check';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError, InboxUnavailableError } from '../../../src/errors.ts';
import { createReceiver } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory/memory-inbox.ts';
import type { Operations } from '../../../src/inbox/contract.ts';
import { opsPage } from '../../../src/page/operators-page.tsx';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { eventHref } from '../../../src/page/parts/filter-fields.ts';
import { ADA, openedPage, signedIn, tokenIn, VIC, expectAnswer } from './opened-page.ts';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';

const SCREENS = ['', '/events', '/dead', '/rejected', '/bulks', '/paused', '/audit', '/health', '/maintenance'];
const PATHS = [
  ...SCREENS,
  '/events/default/evt_1',
  '/events/default/evt_1/raw',
  '/bulks/1',
  '/live',
  '/metrics',
  '/maintenance/export',
];

describe('mounted', () => {
  test('shows each screen where it was mounted, with links that stay there', async () => {
    const { html } = openedPage();
    for (const path of SCREENS) {
      const page = await html(path);
      expect(page).toMatch(/^<!doctype html><html lang="en" data-theme="system" data-times="UTC">/);
      const current = tagsOf(page).filter(
        ({ name, attributes }) => name === 'a' && attributes['aria-current'] === 'page',
      );
      expect(current.map(({ attributes }) => attributes['href'])).toEqual([`/ops${path}`]);
      for (const { attributes } of tagsOf(page)) {
        for (const to of [attributes['href'], attributes['src'], attributes['action']]) {
          expect(to ?? '/ops').toMatch(/^(?:\/ops(?:[/?#]|$)|\?|#main$|#icon-|data:,$)/);
        }
      }
    }
  });

  test('has what assistive technology goes by', async () => {
    const { html } = openedPage({ title: 'Ada’s shop' });
    const page = await html('/dead');
    expect(textIn(page, 'main')).toMatch(/^Dead events/);
    expect(page).toContain('<title>Dead events · Ada’s shop</title>');
    const skip = tagsOf(page).find(({ name }) => name === 'a');
    expect(skip?.attributes['href']).toBe('#main');
    for (const landmark of ['header', 'nav', 'main', 'footer', 'h1']) {
      expect(tagsOf(page).filter(({ name }) => name === landmark).length, landmark).toBe(1);
    }
  });

  test.for([
    ['/t/:tenant/ops', '/t/7/ops', '/t/7/ops'],
    ['/t/:tenant/ops', '/t/a%22b%2F/ops', '/t/a%22b%2F/ops'],
    ['/', '', ''],
    ['/:host/ops', '//evil.example/ops', null],
    // Two slashes would be the name of a host.
    ['/:path{.*}/ops', '//evil.example/ops', '/evil.example/ops'],
  ] as const)('at %s, asked as %s, links begin with %s', async ([at, asked, base]) => {
    const { inbox } = openedPage();
    const app = new Hono().route(at, opsPage({ inbox }, { basic: [ADA] }));
    const answer = await app.request(`http://shop.example${asked}/dead`, { headers: signedIn(ADA) });
    if (base === null) {
      expect(answer.status).toBe(404);
      return;
    }
    expect(answer.status).toBe(200);
    const links = tagsOf(await answer.text()).flatMap(({ name, attributes }) =>
      name === 'link' ? (attributes['href'] ?? []) : [],
    );
    expect(links).toContain(`${base}/assets/page.css`);
  });

  test('goes by the base that it is told where a proxy takes a part of the path away', async () => {
    const { inbox } = openedPage();
    const app = opsPage({ inbox }, { basic: [ADA], base: '/admin/hooks/' });
    const page = await (await app.request('http://shop.example/dead', { headers: signedIn(ADA) })).text();
    expect(page).toContain('href="/admin/hooks/events"');
  });

  test('is found with a slash at the end, too', async () => {
    const { get } = openedPage();
    expect((await get('/')).status).toBe(200);
  });

  test('takes a receiver as it is', async () => {
    const { inbox } = openedPage();
    const receiver = createReceiver({ secret: 'a signing secret', inbox });
    onTestFinished(() => receiver.close());
    expect((await opsPage(receiver, { basic: [ADA] }).request('/health/live')).status).toBe(200);
  });

  test('refuses to be made of what cannot work', () => {
    const { inbox } = openedPage();
    expect(() => opsPage({ inbox })).toThrow(ConfigurationError);
    expect(() => opsPage({ inbox: memoryInbox() }, { basic: [ADA] })).toThrow(/does not support operations/);
    expect(() => opsPage({ inbox }, { basic: [ADA], mask: ['a..b'] })).toThrow(/mask/);
    expect(() => opsPage({ inbox }, { basic: [ADA], hosts: [] })).toThrow(/hosts/);
    for (const secret of ['', '  ', 'undefined']) {
      expect(() => opsPage({ inbox }, { basic: [ADA], secret })).toThrow('secret must not be empty');
    }
  });
});

describe('the id of an event', () => {
  const ids = [
    ...Object.values<string>(hostileTexts),
    '.',
    '..',
    '~',
    '~~',
    '~.',
    '%2e%2e',
    '/',
    '?',
    '#',
    '%',
    '%00',
    '\\',
    ';',
    '\n',
    '\u0000',
    'ä'.repeat(255),
  ];

  test('leads to it through its link, whatever it is', async () => {
    const { app, inbox } = openedPage();
    const seen = vi.spyOn(inbox, 'get');
    const reaches = async (endpoint: string, id: string): Promise<void> => {
      seen.mockClear();
      const answer = await app.request(`http://shop.example${eventHref('/ops', { endpoint, id })}/raw`, {
        headers: signedIn(ADA),
      });
      expect(answer.status).toBe(404);
      expect(seen).toHaveBeenCalledExactlyOnceWith({ endpoint, id });
    };
    for (const id of ids) await reaches(id, id);
    const text = fc.string({ minLength: 1, maxLength: 255, unit: anyCharacter });
    await fc.assert(fc.asyncProperty(text, text, reaches), { numRuns: 60 });
  });

  test('is shown as text', async () => {
    const { html, inbox } = openedPage();
    for (const id of ids) await inbox.accept(incoming({ id, type: id, entity: id, endpoint: id }), later());
    const tags = tagsOf(await html('/events'));
    expect(tags.filter(({ name, attributes }) => name === 'svg' && attributes['aria-hidden'] !== 'true')).toEqual([]);
    const foreign = new Set(['img', 'iframe', 'base', 'style', 'textarea']);
    expect(tags.filter(({ name }) => foreign.has(name))).toEqual([]);
    expect(tags.filter(({ name }) => name === 'script' || name === 'meta').length).toBe(5);
    expect(
      tags.flatMap(({ attributes }) => Object.keys(attributes).filter((name) => /^on|^style$/.test(name))),
    ).toEqual([]);
    const page = await html(eventHref('', { endpoint: hostileTexts.script, id: hostileTexts.script }));
    expect(textIn(page, 'main')).toContain(hostileTexts.script);
  });
});

describe('who is let in', () => {
  test.for([
    ['nobody', {}, 401],
    ['a wrong password', signedIn({ ...ADA, password: 'wrong' }), 401],
    ['a viewer', signedIn(VIC), 200],
  ] as const)('%s', async ([, headers, status]) => {
    const { get } = openedPage();
    for (const path of PATHS.filter(
      (each) => each !== '/maintenance/export' && each !== '/bulks/1' && !each.includes('evt_1'),
    )) {
      const answer = await get(path, headers);
      expect(status === 401 ? [401, 429] : [status], path).toContain(answer.status);
      if (answer.status === 401)
        expect(answer.headers.get('www-authenticate')).toBe('Basic realm="hookbox", charset="UTF-8"');
      await answer.body?.cancel();
    }
  });

  test('those whom your own login does not let in are told so, in words and without anything else', async () => {
    const { get } = openedPage({ authorize: () => null });
    for (const path of PATHS) {
      const answer = await get(path, {});
      expect([answer.status, answer.headers.get('www-authenticate')], path).toEqual([403, null]);
      expect(textOf(await answer.text()), path).toBe(
        'Not allowed Not allowed Your account has no access to this page. Ask an administrator of your application for access.',
      );
    }
  });

  test('nobody, when your login fails; and its error is not shown', async () => {
    const { get } = openedPage({
      authorize: () => {
        throw new Error('the session of ada is s3cret');
      },
    });
    const answer = await get('', {});
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toMatch(/s3cret|ada|Overview/);
  });

  test('your login is asked with the request itself', async () => {
    const { get } = openedPage({
      authorize: (request) =>
        request.headers.get('cookie') === 'session=ada' ? { role: 'viewer', name: 'ada' } : null,
    });
    expect((await get('', { cookie: 'session=ada' })).status).toBe(200);
    expect((await get('', { cookie: 'session=eve' })).status).toBe(403);
  });

  test('a viewer is offered nothing that changes something, and may not do it either', async () => {
    const { app, get, html } = openedPage();
    const token = tokenIn(await html('/maintenance'));
    for (const path of SCREENS) {
      const page = await (await get(path, signedIn(VIC))).text();
      expect(tagsOf(page).filter(({ name, attributes }) => name === 'form' && attributes['method'] === 'post')).toEqual(
        [],
      );
    }
    await expectAnswer(
      await app.request('http://shop.example/ops/bulks', {
        method: 'POST',
        headers: { ...signedIn(VIC), origin: 'http://shop.example' },
        body: new URLSearchParams({ csrf: token, act: 'rerun' }),
      }),
      403,
      'Only operators can do this.',
    );
    expect((await get('/maintenance/export', signedIn(VIC))).status).toBe(403);
  });
});

describe('every answer', () => {
  test('carries what keeps it safe, whoever asks and whatever becomes of it', async () => {
    const { get, app, inbox } = openedPage();
    vi.spyOn(inbox.operations as Operations, 'deadGroups').mockRejectedValue(new Error('broken'));
    const answers = await Promise.all([
      ...[...PATHS, '/', '/none', '/assets/page.js', '/assets/page.css', '/health/live', '/health/ready'].map((path) =>
        get(path),
      ),
      ...PATHS.map((path) => get(path, {})),
      get('', { ...signedIn(ADA), 'sec-fetch-site': 'cross-site' }),
      app.request('http://shop.example/ops/bulks', { method: 'POST', headers: signedIn(ADA) }),
      app.request('http://shop.example/ops/bulks', { method: 'OPTIONS', headers: { origin: 'http://evil.example' } }),
      app.request('http://shop.example/ops/dead', { method: 'HEAD', headers: signedIn(ADA) }),
    ]);
    for (const answer of answers) {
      const { headers, url, status } = answer;
      const about = `${url} ${status}`;
      expect(headers.get('content-security-policy'), about).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('x-content-type-options'), about).toBe('nosniff');
      expect(headers.get('referrer-policy'), about).toBe('same-origin');
      expect(headers.get('cache-control'), about).toBe('no-store');
      expect(headers.get('cross-origin-opener-policy'), about).toBe('same-origin');
      expect(headers.get('cross-origin-resource-policy'), about).toBe('same-origin');
      expect(
        [...headers.keys()].filter((name) => name.startsWith('access-control')),
        about,
      ).toEqual([]);
      await answer.body?.cancel();
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401, 403, 404, 500]));
  });

  test.for([
    [new Error('the body says s3cret'), 500, 'The request failed with Error.'],
    [new InboxUnavailableError('OVERLOADED', 'too much to do'), 503, 'too much to do'],
    [new ConfigurationError('INVALID_OPTION', 'no such thing'), 500, 'no such thing'],
  ] as const)('of a failure says no more than it may: %s', async ([failure, status, said]) => {
    const { get, inbox } = openedPage();
    vi.spyOn(inbox.operations as Operations, 'deadGroups').mockRejectedValue(failure);
    const answer = await get('/dead');
    const text = await answer.text();
    expect([answer.status, textIn(text, 'main')]).toEqual([status, expect.stringContaining(said)]);
    expect(text).not.toContain('s3cret');
  });

  test('has no inline script and no inline style', async () => {
    const { html } = openedPage();
    for (const path of SCREENS) {
      const tags = tagsOf(await html(path));
      expect(tags.filter(({ name }) => name === 'style')).toEqual([]);
      expect(tags.filter(({ name }) => name === 'script').map(({ attributes }) => attributes['src'])).toEqual([
        '/ops/assets/page.js',
      ]);
      expect(
        tags.flatMap(({ attributes }) => Object.keys(attributes).filter((name) => /^on|^style$/.test(name))),
      ).toEqual([]);
    }
  });

  test('is the same for HEAD, without a body', async () => {
    const { app } = openedPage();
    for (const path of [...SCREENS, '/live', '/maintenance/export']) {
      const answer = await app.request(`http://shop.example/ops${path}`, { method: 'HEAD', headers: signedIn(ADA) });
      expect([answer.status, await answer.text()], path).toEqual([200, '']);
    }
  });
});

describe('a flash', () => {
  test('says what was done, from a code and figures', async () => {
    const { says } = openedPage();
    const said = async (query: string): Promise<string> => await says(`/maintenance?${query}`, 'flash');
    expect(await said('done=rerun')).toContain('The event is pending again.');
    expect(await said('done=imported&figures=12.3.1')).toBe(
      '12 events were imported; 3 more were already in the inbox with the same body, and 1 with a different body. Those did not change.',
    );
    expect(await said('done=events-pruned&figures=1234')).toContain('1,234 events were pruned');
    expect(await said('done=erased&figures=1.2.0')).toContain('1 event was erased. 2 events were being processed');
    expect(await said('done=erased&figures=1.2.0')).not.toContain('log');
    expect(await said('done=erased&figures=1.0.1')).toContain('The write-ahead log still holds the erased data');
  });

  test.for([
    'done=You+are+hacked',
    'done=constructor',
    'done=__proto__',
    'done=erased&figures=a',
    'done=erased&figures=1<b>',
  ])('says nothing of its own: %s', async (query) => {
    const { html } = openedPage();
    expect(partOf(await html(`/maintenance?${query}`), 'flash')).toBe('');
  });
});

describe('open to all', () => {
  test.for([true, { name: 'ada@shop-1' }])(
    'as %j it is still no page of a site whose name leads here',
    async (unsafeOpen) => {
      const { app } = openedPage({ unsafeOpen });
      const env = { incoming: { socket: { remoteAddress: '127.0.0.1' } } };
      expect((await app.request('http://127.0.0.1:3223/ops/events', {}, env)).status).toBe(200);
      expect((await app.request('http://evil.example/ops/events', {}, env)).status).toBe(403);
    },
  );
});

describe('for monitoring', () => {
  test('anybody hears that it lives, and whether it is ready, under any name, and no more', async () => {
    const { app, inbox } = openedPage({ hosts: ['ops.shop.example'] });
    const ask = async (path: string): Promise<unknown> => {
      const answer = await app.request(`http://10.0.0.7:9/ops/health/${path}`);
      return [answer.status, await answer.json()];
    };
    expect(await ask('live')).toEqual([200, { live: true }]);
    expect(await ask('ready')).toEqual([200, { ready: true }]);
    await inbox.close();
  });

  test('says with a code why it is not ready, without a path', async () => {
    const { app, inbox } = openedPage();
    await inbox.close();
    const answer = await app.request('http://shop.example/ops/health/ready');
    expect([answer.status, await answer.json()]).toEqual([503, { ready: false, code: 'CLOSED' }]);
  });

  test('is ready though nobody could look for warnings, and says no more of it than that', async () => {
    const { app, inbox } = openedPage();
    vi.spyOn(inbox.operations as Operations, 'totals').mockRejectedValue(new Error('/var/shop.db is slow'));
    const answer = await app.request('http://shop.example/ops/health/ready');
    expect([answer.status, await answer.json()]).toEqual([200, { ready: true, watched: false }]);
  });

  test('many who ask at once are answered by one write', async () => {
    const { app, inbox } = openedPage();
    const ping = vi.spyOn(inbox.operations as Operations, 'ping');
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => app.request('http://shop.example/ops/health/ready')),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(ping).toHaveBeenCalledOnce();
  });

  test('metrics are for those who are let in, by a token too', async () => {
    const { app } = openedPage({ bearer: [{ token: 'a-token', name: 'prometheus' }] });
    const ask = (authorization: string): Promise<Response> | Response =>
      app.request('http://shop.example/ops/metrics', { headers: { authorization } });
    const answer = await ask('Bearer a-token');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('hookbox_events{');
    expect((await ask('Bearer another')).status).toBe(401);
  });
});
