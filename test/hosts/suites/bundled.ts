import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { it } from 'vitest';
import { requirePart } from '../../helpers/parts.ts';
import { example } from '../page.ts';
import type { Project } from '../project.ts';
import { expectNoThread, expectThread, tellingOfThreads } from '../ready-threads.ts';
import { startServer } from '../server.ts';

const SERVER = 'node-http/server.mjs';

/** The part of esbuild that is used here. */
interface Esbuild {
  readonly build: (options: object) => Promise<unknown>;
}

interface Bundling {
  readonly input: string;
  readonly output: string;
  readonly format: 'esm' | 'cjs';
  /** packages that stay in node_modules */
  readonly external: readonly string[];
}

const BUNDLERS = {
  async rolldown({ input, output, format, external }: Bundling): Promise<void> {
    const isExternal = (id: string): boolean => external.includes(id.split('/', 1).join());
    const bundle = await rolldown({ input, platform: 'node', external: isExternal, logLevel: 'silent' });
    await bundle.write({ file: output, format });
    await bundle.close();
  },
  async esbuild({ input, output, format, external }: Bundling): Promise<void> {
    const { build } = requirePart('esbuild') as Esbuild;
    const entry = { entryPoints: [input], outfile: output, absWorkingDir: join(input, '..') };
    // Its CommonJS has an empty import.meta.url, of which it warns.
    await build({ ...entry, bundle: true, platform: 'node', format, external, logLevel: 'silent' });
  },
};

/** Servers in one file: the thread of the inbox has one of its own, which is lost where hookbox is put into the bundle. */
export function bundled(project: () => Project): void {
  const bundlers = ['rolldown', 'esbuild'] as const;
  const formats = ['esm', 'cjs'] as const;
  const cases = bundlers.flatMap((bundler) => formats.map((format) => ({ bundler, format })));

  async function started(bundler: keyof typeof BUNDLERS, format: 'esm' | 'cjs', external: readonly string[]) {
    const input = project().write(SERVER, example(SERVER));
    const name = `bundled/${bundler}-${external.length}.${format === 'esm' ? 'mjs' : 'cjs'}`;
    const output = join(project().folder, name);
    await BUNDLERS[bundler]({ input, output, format, external });
    return startServer(project(), [process.execPath, name], { env: tellingOfThreads(project()) });
  }

  it.each(cases)('with hookbox, by $bundler as $format: on the event loop, and said once', async (how) => {
    await using server = await started(how.bundler, how.format, ['better-sqlite3']);
    await expectNoThread(server);
  });

  it.each(cases)('without hookbox, by $bundler as $format: in its thread', async (how) => {
    await using server = await started(how.bundler, how.format, ['better-sqlite3', 'hookbox']);
    await expectThread(server);
  });
}
