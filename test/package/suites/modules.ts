import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Installed } from '../installed.ts';
import { NODES } from '../nodes.ts';
import { PUBLIC_NAMES } from '../public-names.ts';
import { run } from '../run.ts';

const SYSTEMS = [
  { name: 'import', all: 'run/import-all.mjs', deliver: 'run/deliver.mjs' },
  { name: 'require', all: 'run/require-all.cjs', deliver: 'run/deliver.cjs' },
];

/** Every export path, from ES modules and from CommonJS, on the oldest Node and the newest. */
export function modulesSuite(installed: () => Installed): void {
  it('has public names for each export path', () => {
    const paths = Object.keys(installed().manifest.exports).filter((path) => path !== './package.json');
    expect(paths.map((path) => path.replace(/^\./, 'hookbox')).toSorted()).toEqual(
      Object.keys(PUBLIC_NAMES).toSorted(),
    );
  });

  it('has commands that say their version', async () => {
    const { manifest, plain } = installed();
    for (const command of Object.keys(manifest.bin ?? {})) {
      const ended = await run(join(plain.folder, 'node_modules/.bin', command), ['--version'], plain.folder);
      expect(ended).toEqual({ code: 0, signal: null, stdout: `${manifest.version}\n`, stderr: '' });
    }
  });

  describe.each(NODES)('$name', ({ executable }) => {
    const succeeds = async (...args: string[]): Promise<unknown> => {
      const { stdout, ...ended } = await run(executable(), args, installed().plain.folder);
      expect(ended).toEqual({ code: 0, signal: null, stderr: '' });
      return JSON.parse(stdout);
    };

    it.each(SYSTEMS)('has every export path with its names, by $name', async ({ all }) => {
      const names = (await succeeds(all, ...Object.keys(PUBLIC_NAMES))) as Record<string, string[]>;
      for (const exported of Object.values(names)) exported.sort();
      expect(names).toEqual(PUBLIC_NAMES);
    });

    it.each(SYSTEMS)('has its package.json, by $name', async ({ all }) => {
      const names = (await succeeds(all, 'hookbox/package.json')) as Record<string, string[]>;
      expect(names['hookbox/package.json']).toContain('version');
    });

    it.each(SYSTEMS)('stores a delivery in SQLite, by $name', async ({ name, deliver }) => {
      const file = join(installed().plain.folder, `${name}-${Date.now()}.db`);
      expect(await succeeds(deliver, file)).toEqual({
        status: 200,
        stored: [{ id: 'evt_1', type: 'order.created', state: 'pending' }],
      });
    });
  });
}
