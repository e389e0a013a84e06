import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const IN_TEST = join(ROOT, 'test') + sep;
const IN_SOURCE = join(ROOT, 'src') + sep;
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** What stands in the place of a module of the suites. */
const PLACES: Readonly<Record<string, string>> = {
  vitest: here('stand-in.ts'),
  'node:module': here('node-module.ts'),
  [join(IN_TEST, 'helpers/bundled-script.ts')]: here('bundled-script.ts'),
  [join(IN_TEST, 'helpers/times.ts')]: here('few-times.ts'),
};
const OWN_PROCESS = /new URL\('([^']+)\.ts', import\.meta\.url\)/g;

/**
 * Writes the suites as JavaScript that every runtime takes, with the scripts that they start in processes of their own.
 * What they test is `dist`, as users run it.
 *
 * @returns the module to run
 */
export async function bundleSuites(folder: string): Promise<string> {
  const bundle = await rolldown({
    input: { suites: here('suites.ts') },
    platform: 'node',
    transform: { target: 'node22' },
    logLevel: 'silent',
    plugins: [places(), ownProcesses()],
  });
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await bundle.close();
  return join(folder, 'suites.mjs');
}

function places(): Plugin {
  const outside = (url: string) => ({ id: url, external: true });
  return {
    name: 'places',
    resolveId(source, importer = here('suites.ts')) {
      const file = source.startsWith('.') ? resolve(dirname(importer), source) : source;
      if (file in PLACES && importer !== PLACES[file]) return PLACES[file];
      if (source === 'vitest' || source === 'better-sqlite3') return outside(import.meta.resolve(source));
      if (!file.startsWith(IN_SOURCE)) return null;
      const built = join(ROOT, 'dist/src', file.slice(IN_SOURCE.length)).replace(/\.ts$/, '.js');
      return outside(pathToFileURL(built).href);
    },
  };
}

function ownProcesses(): Plugin {
  return {
    name: 'own-processes',
    transform(code, id) {
      if (!id.startsWith(IN_TEST)) return null;
      return code.replaceAll(OWN_PROCESS, (_, script: string) => {
        const fileName = `${basename(script)}.mjs`;
        this.emitFile({ type: 'chunk', id: join(dirname(id), `${script}.ts`), fileName });
        return `new URL('${fileName}', import.meta.url)`;
      });
    },
  };
}
