import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const SOURCE = new URL('../../src/', import.meta.url);
const THREAD = fileURLToPath(new URL('inbox/sqlite/threads/hookbox-thread.ts', SOURCE));
/** Below node_modules, so that what is not bundled is found. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/hookbox-bundled/', import.meta.url));

/** src/version.ts asks for its own package by name. */
const MANIFEST = {
  name: 'hookbox',
  version: '0.0.0',
  type: 'module',
  exports: { './package.json': './package.json' },
};

/**
 * A script of these tests with what it imports in a few files, and what the threads of an inbox begin with beside it: what is started
 * dozens of times should not load hundreds of modules each time.
 *
 * @returns the path to start
 */
export function bundledScript(script: URL): Promise<string> {
  const bundled = known.get(script.href) ?? bundle(script);
  known.set(script.href, bundled);
  return bundled;
}

const known = new Map<string, Promise<string>>();

async function bundle(script: URL): Promise<string> {
  const made = await rolldown({
    input: { script: fileURLToPath(script), 'hookbox-thread': THREAD },
    platform: 'node',
    external: ['better-sqlite3', 'pg'],
    logLevel: 'silent',
  });
  const { output } = await made.generate({ format: 'esm', chunkFileNames: '[name]-[hash].js' });
  await made.close();
  const files = [
    ...output.flatMap((one) => (one.type === 'chunk' ? [[one.fileName, one.code] as const] : [])),
    ['package.json', JSON.stringify(MANIFEST)] as const,
  ];
  // Where it was made before, what Node has compiled of it is there too.
  const folder = join(CACHE, createHash('sha256').update(JSON.stringify(files)).digest('hex'));
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true });
    const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
    for (const [name, text] of files) writeFileSync(join(unfinished, name), text);
    try {
      renameSync(unfinished, folder);
    } catch (failure) {
      rmSync(unfinished, { recursive: true });
      if (!existsSync(folder)) throw failure; // or somebody else has made it
    }
  }
  return join(folder, 'script.js');
}
