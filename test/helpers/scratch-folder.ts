import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new folder for a suite, which removes it itself with `using`. */
export function ownFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'hookbox-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A new folder for the tests of a file or a `describe`, gone after them. */
export function suiteFolder(): string {
  const folder = ownFolder();
  afterAll(() => folder[Symbol.dispose]());
  return folder.path;
}

/** A new folder that is gone after the running test. */
export function scratchFolder(): string {
  const folder = ownFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  return folder.path;
}

/** The path of a file that is not there yet, in a folder of its own that is gone after the running test. */
export function scratchFile(name = 'shop.db'): string {
  return join(scratchFolder(), name);
}
