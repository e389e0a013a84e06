import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Installed } from '../installed.ts';
import { run } from '../run.ts';

const ALLOWED = [
  /^(?:(?:README|AGENTS)\.md|llms\.txt|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|package\.json)$/,
  /^dist\/(?:src|adapters)\/.*\.(?:js|d\.ts)$/,
  /^docs\/(?:(?:api|decisions|monitoring)\/)?[\w-]+\.md$/,
  /^docs\/monitoring\/(?:alerts\.yml|grafana-dashboard\.json)$/,
  /^docs\/images\/[\w-]+\.png$/,
  /^examples\/(?:.*\.(?:mjs|js|ts|jsonc|md)|[\w-]+\/package\.json)$/,
  /^fixtures\/.*\.(?:json|md)$/,
];

const RUN_ON_INSTALL = /^(?:pre|post)?(?:install|prepare)$|^prepublish$/;

/** What is in the tarball, and how it installs. */
export function contentsSuite(installed: () => Installed): void {
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => statSync(join(folder, file)).isFile())
      .map((file) => file.replaceAll('\\', '/'));

  it('is code, documents and fixtures, and nothing else', () => {
    const files = filesIn(installed().package);
    expect(files.filter((file) => !ALLOWED.some((pattern) => pattern.test(file)))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'CHANGELOG.md', 'docs/states.md', 'fixtures/README.md']),
    );
    expect(files.filter((file) => /\.test\.|\/test\//.test(file))).toEqual([]);
  });

  it('has no code that nothing in the package can reach', () => {
    const { package: folder, manifest } = installed();
    const targets = [...Object.values(manifest.exports), ...Object.values(manifest.bin ?? {})];
    const entries = targets.flatMap((target) => (typeof target === 'string' ? target : Object.values(target)));
    const reached = reachedFrom(entries.filter((file) => file.endsWith('.js')).map((file) => join(folder, file)));
    const code = globSync('dist/**/*.js', { cwd: folder });
    expect(code.filter((file) => !reached.has(join(folder, file)))).toEqual([]);
    expect([...reached].filter((file) => !existsSync(file)).map((file) => relative(folder, file))).toEqual([]);
  });

  it('has documents that link only to what is there', () => {
    const folder = installed().package;
    const broken = globSync('**/*.md', { cwd: folder }).flatMap((document) => {
      const text = readFileSync(join(folder, document), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to = '']) => to);
      const missing = links.filter((to) => !existsSync(join(folder, dirname(document), to)));
      return missing.map((to) => `${document}: ${to}`);
    });
    expect(broken).toEqual([]);
  });

  it('runs no script when it is installed', () => {
    expect(Object.keys(installed().manifest.scripts ?? {}).filter((name) => RUN_ON_INSTALL.test(name))).toEqual([]);
  });

  describe('installing it', () => {
    it('warns of nothing in a project without frameworks', () => {
      expect(installed().plain.warnings).toEqual([]);
      for (const peer of ['express', 'fastify']) {
        expect(existsSync(join(installed().plain.folder, 'node_modules', peer))).toBe(false);
      }
    });

    it('warns of no peer in a project with all of them', () => {
      expect(installed().frameworks.warnings.filter((line) => /peer|ERESOLVE|hookbox/i.test(line))).toEqual([]);
    });

    it.each(['plain', 'frameworks'] as const)('leaves a tree that npm finds whole: %s', async (project) => {
      const { code, stdout } = await run('npm', ['ls', '--all', '--silent'], installed()[project].folder);
      expect(stdout).toContain('hookbox@');
      expect(code).toBe(0);
    });
  });
}

/** Follows relative imports of modules, and of their declarations where types alone are imported. */
function reachedFrom(entries: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const follow = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const source of [file, file.replace(/\.js$/, '.d.ts')]) {
      // It holds what browsers are given, which has imports of its own.
      const isCode = existsSync(source) && !source.endsWith('/asset-texts.js');
      const text = isCode ? readFileSync(source, 'utf8') : '';
      for (const [, to = ''] of text.matchAll(/(?:from|import\(?|:)\s*'(\.[^']+\.[jt]s)'/g)) {
        follow(join(dirname(file), to.replace(/\.ts$/, '.js')));
      }
    }
  };
  for (const entry of entries) follow(entry);
  return reached;
}
