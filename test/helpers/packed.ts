import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm run check` leaves behind: the package as it has just been looked through. */
const FROM_CHECK = 'node_modules/.cache';

/** Beside what package.json lists, npm packs these. */
const ALWAYS = ['package.json', 'README.md', 'LICENSE'];

/** Puts the packed package into a folder and answers its name: that of `npm run check`, unless anything is newer. */
export function packInto(folder: string): string {
  if (!existsSync(join(ROOT, 'dist/src/index.js'))) {
    throw new Error('dist is missing: the package is packed from it; npm run build');
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const name = `${manifest.name}-${manifest.version}.tgz`;
  const made = join(ROOT, FROM_CHECK, name);
  if (existsSync(made) && statSync(made).mtimeMs > lastChange(manifest.files)) {
    copyFileSync(made, join(folder, name));
    return name;
  }
  // Built it is already, and other tests read dist.
  return execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
}

/** When something that is packed was last written, put there or taken away. */
function lastChange(files: readonly string[]): number {
  const packed = files.filter((file) => !file.startsWith('!'));
  // Examples are tried in a folder of dist that is not packed.
  const exclude = ['dist/examples'];
  const paths = packed.flatMap((file) => [file, ...globSync(`${file}/**`, { cwd: ROOT, exclude })]);
  return Math.max(...[...ALWAYS, ...paths].map((path) => changed(join(ROOT, path))));
}

/** Of two times the later: files that are copied or unpacked bring an older one with them. */
function changed(path: string): number {
  const { mtimeMs, ctimeMs } = statSync(path);
  return Math.max(mtimeMs, ctimeMs);
}
