import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OLDEST_HONO, ROOT, type Installed } from '../installed.ts';
import { succeed } from '../run.ts';

/** An app whose Hono is older than the one that hookbox has, in the same project under another name. */
export function olderHonoSuite(installed: () => Installed): void {
  const folder = (): string => installed().frameworks.folder;

  it('takes handlers, verifiers and pages, routed or handled', async () => {
    const manifest = readFileSync(join(folder(), 'node_modules/hono4/package.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ version: OLDEST_HONO });
    const { stdout } = await succeed(process.execPath, ['run/hono.mjs'], folder());
    const page = (base: string) => [
      [base, 200, `${base}/events`],
      [`${base}/events`, 200, `${base}/events`],
      [`${base}/assets/lists.js`, 200, null],
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

  it('has types that fit', async () => {
    const code = readFileSync(join(folder(), 'src/hono.ts'), 'utf8').replace("from 'hono'", "from 'hono4'");
    mkdirSync(join(folder(), 'older'), { recursive: true });
    writeFileSync(join(folder(), 'older/hono.ts'), code);
    // Its own types do not compile without those of browsers.
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--lib',
      'es2023,dom',
      '--types',
      'node',
    ];
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await succeed(process.execPath, [tsc, ...flags, '--ignoreConfig', 'older/hono.ts'], folder());
  });

  it('is named in the docs', () => {
    const page = readFileSync(join(installed().package, 'docs/adapters.md'), 'utf8');
    expect(page).toContain(`Hono ${OLDEST_HONO.replace(/\.\d+$/, '')} or newer`);
  });
}
