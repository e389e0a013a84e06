import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

let folder: string | undefined;

/** The package resolves its own name, so the path is correct from the sources and from dist. */
export function fixturesFolder(): string {
  folder ??= join(dirname(createRequire(import.meta.url).resolve('hookbox/package.json')), 'fixtures');
  return folder;
}

export function fixture(name: string): Buffer {
  return readFileSync(join(fixturesFolder(), `${name}.json`));
}
