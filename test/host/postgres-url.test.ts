import { expect, it } from 'vitest';
import { shownDatabase } from '../../src/host/postgres-url.ts';

it.each([
  ['shop.db', 'shop.db'],
  ['/srv/ada@shop/shop.db', '/srv/ada@shop/shop.db'],
  ['postgres://db.example/shop', 'postgres://db.example/shop'],
  ['postgresql://ada:secret@db.example:6432/shop', 'postgresql://db.example:6432/shop'],
  ['postgres://ada@[::1]:5432/shop', 'postgres://[::1]:5432/shop'],
  ['postgres://db.example/shop?user=ada&password=secret', 'postgres://db.example/shop'],
  ['postgres://ada:sec@ret@db.example/shop', 'postgres://db.example/shop'],
])('%s is shown as %s', (name, shown) => {
  expect(shownDatabase(name)).toBe(shown);
});

it.each([
  'postgres://ada:12/secret@db.example/shop',
  'postgres://ada:12?secret@db.example/shop',
  'postgres://ada:12#secret@db.example/shop',
  'postgres://ada:secret/@db.example/shop',
  'postgres://ada:secret@/shop',
])('nothing is shown of what only seems to have its parts where they belong: %s', (name) => {
  expect(shownDatabase(name)).toBe('postgres://…');
});
