import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const THREADS = new URL('../../../src/inbox/sqlite/threads/', import.meta.url);

function loadedBy(module: URL, loaded = new Set<string>()): ReadonlySet<string> {
  loaded.add(module.href);
  const text = readFileSync(module, 'utf8');
  for (const [, name = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?'([^']+)';$/gm)) {
    const next = name.startsWith('.') ? new URL(name, module) : null;
    if (next === null) loaded.add(name);
    else if (!loaded.has(next.href)) loadedBy(next, loaded);
  }
  return loaded;
}

it('the thread that writes does without the schemas, which take as long to load as all the rest', () => {
  expect([...loadedBy(new URL('writer-thread.ts', THREADS))].filter((name) => name.includes('zod'))).toEqual([]);
  // Otherwise the test could not fail.
  const { size } = loadedBy(new URL('writer-thread.ts', THREADS));
  expect(size).toBeGreaterThan(20);
  expect(loadedBy(new URL('operators-thread.ts', THREADS))).toContain('zod');
});
