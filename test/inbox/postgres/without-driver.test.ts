import { mkdirSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { InboxOpenError } from '../../../src/errors.ts';
import { assertDriver } from '../../../src/inbox/postgres/driver/connections.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';

const URL_OF_SHOP = 'postgres://shop:a-password@localhost/shop';
const WORDS = 'hookbox/postgres needs the package pg. Run: npm install pg';

/** Node looks packages up with this private function. */
const LOOKUP = '_resolveFilename';
type Lookup = Record<typeof LOOKUP, (request: string, ...rest: readonly unknown[]) => string>;

/** As if `pg` were not installed. */
function withoutDriver(): void {
  const lookup = Module as unknown as Lookup;
  const found = lookup[LOOKUP].bind(lookup);
  const spy = vi.spyOn(lookup, LOOKUP).mockImplementation((request, ...rest) => {
    if (request !== 'pg') return found(request, ...rest);
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
  });
  onTestFinished(() => spy.mockRestore());
}

it('a URL without pg is refused where the inbox is made, and not when the first delivery comes', async () => {
  await postgresInbox(URL_OF_SHOP).close();
  withoutDriver();
  expect(() => postgresInbox(URL_OF_SHOP)).toThrow(InboxOpenError);
  expect(() => postgresInbox(URL_OF_SHOP)).toThrow(WORDS);
});

it('connections that are given need no pg beside hookbox', async () => {
  withoutDriver();
  const connect = () => Promise.reject(new Error('nobody is there'));
  await postgresInbox({ connect }).close();
  await postgresInbox({ pool: { connect } }).close();
});

it('only what lies in its package tells that pg is missing: a bundle may hold it, or have been moved', () => {
  const folder = join(scratchFolder(), 'driver');
  mkdirSync(folder);
  const at = (name: string): string => pathToFileURL(join(folder, name)).href;
  for (const name of ['connections.js', 'server.js']) writeFileSync(join(folder, name), '');
  expect(() => assertDriver(at('connections.js'))).toThrow(WORDS);
  expect(() => assertDriver(at('server.js'))).not.toThrow();
  expect(() => assertDriver(at('not-there/driver/connections.js'))).not.toThrow();
});
