import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

let folder: string | undefined;

/** The folder of the fixtures. The package finds itself by its own name, so the path is right from the sources and from dist. */
export function fixturesFolder(): string {
  folder ??= join(dirname(createRequire(import.meta.url).resolve('hookbox/package.json')), 'fixtures');
  return folder;
}

/** The exact bytes of a fixture, such as `order.created` or `edge/unknown-type`. */
export function fixture(name: string): Buffer {
  return readFileSync(join(fixturesFolder(), `${name}.json`));
}
