import { appendFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Installed } from '../installed.ts';
import { ADAPTERS, PUBLIC_NAMES } from '../public-names.ts';
import { succeed } from '../run.ts';

/** The packages in a project without frameworks, and hookbox's own files among what was loaded. */
interface Loaded {
  readonly packages: readonly string[];
  readonly files: readonly string[];
}

/** Which files an import loads. */
export function loadingSuite(installed: () => Installed): void {
  const load = async (folder: string, path: string): Promise<Loaded> => {
    const { stdout } = await succeed(process.execPath, ['run/loaded-files.mjs', path], folder);
    const urls = JSON.parse(stdout) as string[];
    const inModules = urls.flatMap((url) => url.split('/node_modules/').slice(1).slice(-1));
    const packages = new Set(inModules.map((path) => path.split('/')[0] ?? ''));
    const files = inModules.filter((path) => path.startsWith('hookbox/')).map((path) => path.replace('hookbox/', ''));
    return { packages: [...packages].toSorted(), files };
  };
  const known = new Map<string, Promise<Loaded>>();
  const loadedBy = (folder: string, path: string): Promise<Loaded> => {
    const key = `${folder}\n${path}`;
    const loading = known.get(key) ?? load(folder, path);
    known.set(key, loading);
    return loading;
  };
  const plain = (): string => installed().plain.folder;

  const onHono = ['hookbox/ops/page', 'hookbox/sandbox', 'hookbox/sandbox/page'];
  const onSqlite = ['hookbox/sqlite', 'hookbox/sandbox'];

  it.each(Object.keys(PUBLIC_NAMES).filter((path) => ![...onHono, ...onSqlite].includes(path)))(
    '%s loads zod and no other package',
    async (path) => {
      const { packages } = await loadedBy(plain(), path);
      expect(['hookbox', 'zod']).toEqual(expect.arrayContaining([...packages]));
    },
  );

  it.each(onHono)('%s loads what it is made with', async (path) => {
    const { packages } = await loadedBy(plain(), path);
    expect(packages).toContain('hono');
    expect(packages.includes('better-sqlite3')).toBe(onSqlite.includes(path));
  });

  it('hookbox/sqlite loads zod and better-sqlite3, whose native part waits until an inbox is opened', async () => {
    const { packages } = await loadedBy(plain(), 'hookbox/sqlite');
    expect(packages).toEqual(['better-sqlite3', 'hookbox', 'zod']);
    const loads = "await import('hookbox/sqlite'); console.log(process.report.getReport().sharedObjects.join());";
    const libraries = await succeed(process.execPath, ['--input-type=module', '-e', loads], plain());
    expect(libraries.stdout).not.toMatch(/better[-_]sqlite3/);
  });

  it('hookbox loads nothing of the inboxes for SQLite, Postgres and memory', async () => {
    const { files } = await loadedBy(plain(), 'hookbox');
    expect(files).toContain('dist/src/receive/receiver.js');
    expect(files.filter((file) => /inbox\/(?:sqlite|postgres|memory)|adapters|src\/page/.test(file))).toEqual([]);
  });

  it.each(ADAPTERS)('%s loads itself and what hookbox loads', async (path) => {
    const { exports } = installed().manifest;
    const entries = new Set(Object.values(exports).map(fileOf));
    const own = fileOf(exports[path.replace('hookbox', '.')] ?? '');
    const core = await loadedBy(plain(), 'hookbox');
    const { files } = await loadedBy(plain(), path);

    const beyondCore = files.filter((file) => !core.files.includes(file));
    expect(beyondCore).toContain(own);
    expect(beyondCore.filter((file) => !file.startsWith('dist/adapters/'))).toEqual([]);
    expect(beyondCore.filter((file) => file !== own && entries.has(file))).toEqual([]);
  });

  describe('what shows that these tests would notice', () => {
    it('opening an inbox loads the native part of better-sqlite3', async () => {
      const opens = `
        const { sqliteInbox } = await import('hookbox/sqlite');
        await sqliteInbox('loading.db').close();
        console.log(process.report.getReport().sharedObjects.join());`;
      const libraries = await succeed(process.execPath, ['--input-type=module', '-e', opens], plain());
      expect(libraries.stdout).toMatch(/better[-_]sqlite3/);
    });

    it('a copy of hookbox that imports better-sqlite3 loads it', async () => {
      const copy = join(plain(), 'mutated');
      cpSync(installed().package, join(copy, 'node_modules/hookbox'), { recursive: true });
      cpSync(join(plain(), 'run'), join(copy, 'run'), { recursive: true });
      appendFileSync(join(copy, 'node_modules/hookbox/dist/src/index.js'), "\nimport 'better-sqlite3';\n");
      const { packages } = await loadedBy(copy, 'hookbox');
      expect(packages).toContain('better-sqlite3');
    });
  });
}

function fileOf(entry: string | { readonly default: string }): string {
  return (typeof entry === 'string' ? entry : entry.default).replace('./', '');
}
