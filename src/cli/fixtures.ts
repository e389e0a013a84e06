import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// The package finds itself by its own name, so the path is right from the sources and from dist.
const root = dirname(createRequire(import.meta.url).resolve('hookbox/package.json'));

/** The exact bytes of a fixture, such as `order.created` or `edge/unknown-type`. */
export function fixture(name: string): Buffer {
  return readFileSync(join(root, 'fixtures', `${name}.json`));
}
