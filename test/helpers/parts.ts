import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const PARTS = new URL('../parts/', import.meta.url);
const requireFrom = createRequire(new URL('package.json', PARTS));

/** A file of `test/parts`, a package of its own that brings the runtimes and hosts hookbox is tested on. */
export function part(path: string): string {
  const file = fileURLToPath(new URL(`node_modules/${path}`, PARTS));
  if (!existsSync(file)) throw missing(path);
  return file;
}

/** A package of `test/parts`. */
export function requirePart(name: string): unknown {
  part(name);
  return requireFrom(name);
}

function missing(what: string): Error {
  return new Error(`${what} is not installed in test/parts. Run: npm ci --prefix test/parts`);
}
