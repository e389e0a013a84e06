import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const IN_TEST = join(ROOT, 'test') + sep;
const IN_SOURCE = join(ROOT, 'src') + sep;
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** Replacements for modules of the suites. */
const PLACES: Readonly<Record<string, string>> = {
  vitest: here('stand-in.ts'),
  'node:module': here('node-module.ts'),
  [join(IN_TEST, 'helpers/bundled-script.ts')]: here('bundled-script.ts'),
  [join(IN_TEST, 'helpers/often-copied.ts')]: here('often-copied.ts'),
  [join(IN_TEST, 'helpers/times.ts')]: here('few-times.ts'),
};
const PROCESSES = 'processes';
const THREAD = { 'hookbox-thread': builtOf(`${IN_SOURCE}inbox/sqlite/threads/hookbox-thread.ts`) };
const OWN_PROCESS = /new URL\('([^']+)\.ts', import\.meta\.url\)/g;
const OPTIONS = { platform: 'node', transform: { target: 'node22' }, logLevel: 'silent' } as const;

/** The suites test `dist`, as users run it; the scripts that they start are bundled, because dozens of processes load them. */
export async function bundleSuites(folder: string): Promise<string> {
  const scripts = new Map<string, string>();
  const suites = await rolldown({
    ...OPTIONS,
    input: { suites: here('suites.ts') },
    plugins: [places((built) => ({ id: pathToFileURL(built).href, external: true })), ownProcesses(scripts)],
  });
  await suites.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await suites.close();
  const processes = await rolldown({
    ...OPTIONS,
    input: { ...Object.fromEntries(scripts), ...THREAD },
    plugins: [places((built) => built)],
  });
  // The inbox looks for its thread beside it, under this name.
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };
  await processes.write({ dir: join(folder, PROCESSES), format: 'esm', ...names });
  await processes.close();
  return join(folder, 'suites.mjs');
}

function places(builtAt: (path: string) => string | { id: string; external: true }): Plugin {
  return {
    name: 'places',
    resolveId(source, importer = here('suites.ts')) {
      const file = source.startsWith('.') ? resolve(dirname(importer), source) : source;
      if (file in PLACES && importer !== PLACES[file]) return PLACES[file];
      if (source === 'vitest' || source === 'better-sqlite3')
        return { id: import.meta.resolve(source), external: true };
      return file.startsWith(IN_SOURCE) ? builtAt(builtOf(file)) : null;
    },
  };
}

function ownProcesses(scripts: Map<string, string>): Plugin {
  return {
    name: 'own-processes',
    transform(code, id) {
      if (!id.startsWith(IN_TEST)) return null;
      return code.replaceAll(OWN_PROCESS, (_, script: string) => {
        const name = basename(script);
        scripts.set(name, join(dirname(id), `${script}.ts`));
        return `new URL('${PROCESSES}/${name}.js', import.meta.url)`;
      });
    },
  };
}

function builtOf(source: string): string {
  return join(ROOT, 'dist/src', source.slice(IN_SOURCE.length)).replace(/\.ts$/, '.js');
}
