import { expect, it } from 'vitest';
import { returnPath } from '../../../src/page/preferences.ts';
import { ADA, openedPage, signedIn } from './opened-page.ts';

it('keeps a theme and the kind of times in a cookie of the page, one without the other', async () => {
  const { get } = openedPage();
  const dark = await get('/preferences?theme=dark&to=%2Fops%2Fdead%3Fq%3D1');
  expect([dark.status, dark.headers.get('location')]).toEqual([302, '/ops/dead?q=1']);
  const [cookie = ''] = dark.headers.getSetCookie();
  expect(cookie).toMatch(/; Max-Age=\d+; Path=\/ops; HttpOnly; SameSite=Lax$/);
  const local = await get('/preferences?times=local', { ...signedIn(ADA), cookie: cookie.split(';', 1)[0] ?? '' });
  const both = local.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  expect(await (await get('/dead', { ...signedIn(ADA), cookie: both })).text()).toContain(
    'data-theme="dark" data-times="local"',
  );
  const unknown = await get('/dead', {
    ...signedIn(ADA),
    cookie: 'hookbox-preferences=theme%3D%22%3E%3Cscript%3E%26times%3D7',
  });
  expect(await unknown.text()).toContain('<html lang="en" data-theme="system" data-times="UTC">');
});

it.each([
  ['/ops', '/ops/events?state=dead', '/ops/events?state=dead'],
  ['/ops', '/ops', '/ops'],
  ['', '/events', '/events'],
  ['/ops', undefined, '/ops'],
  ['', undefined, '/'],
  ['/ops', '/elsewhere', '/ops'],
  ['/ops', '/opsx', '/ops'],
  ['/ops', '/ops/../admin', '/ops'],
  ['', '//evil.example/', '/'],
  ['', '/\\evil.example/', '/'],
  ['', 'https://evil.example/', '/'],
  ['', '/.//evil.example/', '/'],
])('under %s, %s leads to %s', (base, to, path) => {
  expect(returnPath(base, to)).toBe(path);
});

it('signs out who has signed in with a password, and links to the application’s own way', async () => {
  const { get } = openedPage();
  expect(await (await get('/dead')).text()).toContain('href="/ops/signout"');
  const out = await get('/signout');
  expect([out.status, out.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')]);
  const own = openedPage({ authorize: () => ({ role: 'viewer', name: 'vic' }), basic: [], signOut: '/logout' });
  expect(await (await own.get('/dead', {})).text()).toContain('href="/logout"');
});
