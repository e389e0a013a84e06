import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, type Manifest } from '../installed.ts';
import { succeed } from '../run.ts';

const BUILD = `require('fs').mkdirSync('dist/src', { recursive: true }); require('fs').writeFileSync('dist/src/index.js', '')`;

/** What `npm pack` does in a clone, where nothing is built: the same scripts, but for the compiler, which takes long. */
export function packingSuite(): void {
  const packed = async (...options: string[]): Promise<string[]> => {
    const clone = mkdtempSync(join(tmpdir(), 'hookbox-clone-'));
    try {
      const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
      const scripts = { ...manifest.scripts, build: `node -e "${BUILD}"` };
      writeFileSync(join(clone, 'package.json'), JSON.stringify({ ...manifest, scripts }));
      const { stdout } = await succeed('npm', ['pack', '--dry-run', '--json', ...options], clone);
      const [{ files } = { files: [] }] = Object.values(JSON.parse(stdout) as Record<string, Packed>);
      return files.map(({ path }) => path);
    } finally {
      rmSync(clone, { recursive: true });
    }
  };

  it('a clone is built before it is packed', async () => {
    expect(await packed()).toContain('dist/src/index.js');
  });

  it('what is built already is not built again for npm run check', async () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
    const [, options = ''] = /npm pack ([^)]*)\)/.exec(scripts?.['check:package'] ?? '') ?? [];
    expect(await packed(...options.split(' ').filter((option) => option === '--ignore-scripts'))).not.toContain(
      'dist/src/index.js',
    );
  });
}

interface Packed {
  readonly files: readonly { readonly path: string }[];
}
