/**
 * The last step of `npm run build`: puts into `dist`, in place of each module that reads files, what it has read. A bundler takes
 * modules along, and no files that they read.
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
