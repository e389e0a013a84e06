// @module-tag long
// @module-tag dear
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { part } from '../helpers/parts.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { PLACEMENTS } from './inbox-checks.ts';
import { bundleSuites } from './suites/bundle.ts';

const run = promisify(execFile);
/** Deno needs packages below the package that has them, and no file of the project within node_modules. */
const BUNDLES = fileURLToPath(new URL('../../.vitest', import.meta.url));
const RUN_LIMIT_MS = 240_000;
const caseLine = z.object({ name: z.string(), failure: z.string().nullable() });

/** vitest runs them on the project's own Node. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  'Node 22': [part('node22/bin/node')],
  'Node 26': [part('node26/bin/node')],
  Bun: [part('.bin/bun')],
  // For processes and files in /dev, Deno needs every permission.
  Deno: [part('.bin/deno'), 'run', '--no-prompt', '--allow-all'],
};

/** The cases are known after the run. */
const ran: { readonly runtime: string; readonly cases: readonly z.infer<typeof caseLine>[] }[] = [];
{
  mkdirSync(BUNDLES, { recursive: true });
  using folder = ownFolder(BUNDLES);
  const module = await bundleSuites(folder.path);
  for (const [runtime, [binary = '', ...given]] of Object.entries(RUNTIMES)) {
    // It ends by itself.
    const { stdout } = await run(binary, [...given, module], { timeout: RUN_LIMIT_MS, maxBuffer: 2 ** 24 });
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    ran.push({ runtime, cases: lines.map((line) => caseLine.parse(JSON.parse(line))) });
  }
}

describe.each(ran)('the suites of the inbox on $runtime', ({ cases }) => {
  it('have as many cases as on every runtime, and on both placements', () => {
    const names = cases.map(({ name }) => name);
    expect(names).toEqual(ran[0]?.cases.map(({ name }) => name));
    const [thread = [], loop = []] = PLACEMENTS.map((placement) =>
      names.flatMap((name) => (name.startsWith(`${placement} > `) ? [name.slice(placement.length)] : [])),
    );
    expect(thread).toEqual(loop);
    expect(thread.length).toBeGreaterThanOrEqual(190);
    expect(names.length - 2 * thread.length).toBeGreaterThanOrEqual(45);
  });

  it.each(cases)('$name', ({ failure }) => {
    expect(failure).toBeNull();
  });
});
