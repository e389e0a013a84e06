import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OLDEST_HONO, type Installed } from '../installed.ts';
import { succeed } from '../run.ts';

/** A project with an older Hono than the one that hookbox brings, beside it. Its types are compiled with those of the project. */
export function olderHonoSuite(installed: () => Installed): void {
  const versionIn = (folder: string): string =>
    (JSON.parse(readFileSync(join(folder, 'node_modules/hono/package.json'), 'utf8')) as { version: string }).version;

  it('takes handlers, verifiers and pages, routed or handled', async () => {
    const { folder } = installed().frameworks;
    expect(versionIn(folder)).toBe(OLDEST_HONO);
    expect(versionIn(join(folder, 'node_modules/hookbox'))).not.toBe(OLDEST_HONO);
    const { stdout } = await succeed(process.execPath, ['run/hono.mjs'], folder);
    const page = (base: string) => [
      [base, 200, `${base}/events`],
      [`${base}/events`, 200, `${base}/events`],
      [`${base}/assets/keys.js`, 200, null],
      [`${base}/none`, 404, `${base}/events`],
    ];
    expect(JSON.parse(stdout)).toEqual([
      ['/webhooks', 200, '{"received":true,"duplicate":false,"id":"evt_1"}'],
      ['/webhooks', 401, null],
      ['/webhooks', 405, null],
      ['/checked', 200, 'evt_1 order.ready'],
      ...page('/routed'),
      ...page('/handled'),
    ]);
  });

  it('is named in the docs', () => {
    const page = readFileSync(join(installed().package, 'docs/adapters.md'), 'utf8');
    expect(page).toContain(`Hono ${OLDEST_HONO.replace(/\.\d+$/, '')} or newer`);
  });
}
