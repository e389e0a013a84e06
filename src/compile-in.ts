/**
 * The last step of `npm run build`: replaces in `dist` each module that reads files with the contents that it read. A
 * bundler includes modules, but not the files that they read.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';

const READERS = ['version', 'page/asset-texts', 'page/icon-texts', 'testing/event-bodies'];

for (const name of READERS) {
  const read = (await import(`./${name}.ts`)) as Readonly<Record<string, unknown>>;
  const lines = Object.entries(read).map(
    ([key, value]) => `export const ${key} = ${JSON.stringify(value, null, 2)};\n`,
  );
  writeFileSync(new URL(`../dist/src/${name}.js`, import.meta.url), lines.join(''));
}
