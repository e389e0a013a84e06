import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { part, requirePart } from '../../helpers/parts.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';
import { expectConsole } from '../console.ts';
import { example } from '../page.ts';
import { ROOT, type Project } from '../project.ts';
import { expectNoThread, expectThread, tellingOfThreads } from '../ready-threads.ts';
import { run, startServer, type RunningServer } from '../server.ts';
import { expectOps, OPS_PASSWORD, read } from './shops.ts';

const SERVER = 'bundled/server.mjs';
const EXTERNAL = ['better-sqlite3'];

type Format = 'esm' | 'cjs';

type Bundle = (input: string, out: string) => Promise<string>;

type Webpack = (
  options: object,
  done: (failure: Error | null, stats?: { toString(options: object): string }) => void,
) => void;
interface Nft {
  readonly nodeFileTrace: (files: readonly string[], options: object) => Promise<{ fileList: ReadonlySet<string> }>;
}

/** As docs/typescript.md shows; for CommonJS without the parts for ES modules. */
async function esbuild(
  input: string,
  out: string,
  format: Format,
  changes: readonly (readonly [string | RegExp, string])[] = [],
) {
  const FOR_CJS = [
    ['=esm', '=cjs'],
    [' --out-extension:.js=.mjs', ''],
    [/ --banner:js=".*"/, ''],
  ] as const;
  let command = example('bundle it with esbuild')
    .trim()
    .replace(/^npx /, '')
    .replace('--outdir=bundle', `--outdir='${out}'`);
  for (const [from, to] of [...(format === 'cjs' ? FOR_CJS : []), ...changes]) command = command.replace(from, to);
  const PATH = [dirname(part('.bin/esbuild')), process.env['PATH']].join(delimiter);
  const ended = await run(['sh', '-c', `${command} --log-level=error`], dirname(input), { PATH });
  expect(ended).toEqual({ code: 0, output: '' });
  return format === 'esm' ? 'server.mjs' : 'server.js';
}

async function byRolldown(input: string, out: string, format: Format): Promise<string> {
  const entries = { server: input, 'hookbox-thread': 'hookbox/sqlite/thread' };
  const bundle = await rolldown({ input: entries, cwd: dirname(input), platform: 'node', external: EXTERNAL });
  await bundle.write({ dir: out, format });
  await bundle.close();
  return 'server.js';
}

async function byWebpack(input: string, path: string, format: Format, publicPath = ''): Promise<string> {
  const webpack = requirePart('webpack') as Webpack;
  const filename = format === 'esm' ? 'server.mjs' : 'server.cjs';
  const options = {
    context: dirname(input),
    entry: input,
    target: 'node22',
    mode: 'production',
    ...(format === 'esm' && { experiments: { outputModule: true } }),
    optimization: { minimize: false },
    externals: { 'better-sqlite3': `${format === 'esm' ? 'module' : 'commonjs'} better-sqlite3` },
    output: { path, filename, publicPath, ...(format === 'esm' && { module: true, chunkFormat: 'module' }) },
  };
  const said = await new Promise<string>((resolve, reject) => {
    webpack(options, (failure, stats) => {
      if (failure === null) resolve(stats?.toString({ all: false, errors: true, warnings: true }) ?? 'nothing');
      else reject(failure);
    });
  });
  expect(said).toBe('');
  return filename;
}

const BUNDLERS: readonly (readonly [name: string, bundle: Bundle])[] = [
  ['esbuild as ES modules', (input, out) => esbuild(input, out, 'esm')],
  ['esbuild as CommonJS', (input, out) => esbuild(input, out, 'cjs')],
  [
    'esbuild as files that end in .cjs',
    async (input, out) => {
      await esbuild(input, out, 'cjs', [['--bundle', '--bundle --out-extension:.js=.cjs']]);
      return 'server.cjs';
    },
  ],
  ['rolldown as ES modules', (input, out) => byRolldown(input, out, 'esm')],
  ['rolldown as CommonJS', (input, out) => byRolldown(input, out, 'cjs')],
  ['webpack as ES modules', (input, out) => byWebpack(input, out, 'esm')],
  ['webpack as CommonJS', (input, out) => byWebpack(input, out, 'cjs')],
];

async function expectWhole(server: RunningServer): Promise<void> {
  await expectThread(server);
  await expectOps(server);
  await expectConsole(server).toContain('hookbox operators-thread says that it is ready');
}

/** Runs where nothing else of the project exists. */
export async function expectStandalone(project: Project, built: string): Promise<void> {
  const folder = scratchFolder();
  cpSync(join(built, '.next/standalone'), folder, { recursive: true });
  const env = { ...tellingOfThreads(project), ...OPS_PASSWORD, HOSTNAME: '127.0.0.1' };
  await withoutPackage(project, async () => {
    const cwd = join(folder, relative(ROOT, built));
    await using server = await startServer(project, [process.execPath, 'server.js'], { cwd, env });
    await expectWhole(server);
  });
}

export function bundled(project: () => Project): void {
  const input = (): string =>
    project().write(SERVER, readFileSync(new URL('../bundled-server.mjs', import.meta.url), 'utf8'));
  const start = (folder: string, file: string): Promise<RunningServer> =>
    startServer(project(), [process.execPath, file], {
      cwd: folder,
      env: { ...tellingOfThreads(project()), ...OPS_PASSWORD },
    });

  async function expectAllOfIt(server: RunningServer): Promise<void> {
    await expectWhole(server);
    expect(JSON.parse(await read(server, '/backup'))).toMatchObject({ file: `${server.database}.copy` });
    expect(await read(server, '/metrics')).toContain(`hookbox_build_info{version="${VERSION}"} 1`);
    expect(JSON.parse(await read(server, '/event'))).toMatchObject({
      type: 'order.created',
      data: { object: 'order' },
    });
  }

  function elsewhere(): string {
    const folder = scratchFolder();
    for (const name of EXTERNAL) link(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    return folder;
  }

  it.each(BUNDLERS)('by %s', async (_, bundle) => {
    const folder = elsewhere();
    const file = await bundle(input(), folder);
    await withoutPackage(project(), async () => {
      await using server = await start(folder, file);
      await expectAllOfIt(server);
    });
  });

  it('by esbuild without the second entry: on the event loop, and said once', async () => {
    const folder = elsewhere();
    const file = await esbuild(input(), folder, 'cjs', [['hookbox-thread=hookbox/sqlite/thread ', '']]);
    await using server = await start(folder, file);
    await expectNoThread(server);
  });

  it('by webpack for paths that browsers ask for, as in Next.js: with the threads of the package beside it', async () => {
    const out = join(project().folder, 'bundled/for-browsers');
    const file = await byWebpack(input(), out, 'cjs', '/_next/');
    await using server = await start(out, file);
    await expectAllOfIt(server);
  });

  it('by esbuild without hookbox', async () => {
    const out = join(project().folder, 'bundled/out');
    const external = ['--external:better-sqlite3', '--external:better-sqlite3 --external:hookbox'] as const;
    const file = await esbuild(input(), out, 'esm', [['hookbox-thread=hookbox/sqlite/thread ', ''], external]);
    await using server = await start(out, file);
    await expectAllOfIt(server);
  });

  describe('@vercel/nft', () => {
    it('finds all files in the node_modules that pnpm makes', async () => {
      const root = dirname(input());
      pnpmInstall(project(), root);
      const folder = scratchFolder();
      const { nodeFileTrace } = requirePart('@vercel/nft') as Nft;
      const { fileList } = await nodeFileTrace([join(root, 'server.mjs')], { base: root });
      for (const file of fileList) copy(join(root, file), join(folder, file));
      await using server = await start(folder, 'server.mjs');
      await expectAllOfIt(server);
    });
  });
}

/** A path into the installed package would fail. */
async function withoutPackage(project: Project, work: () => Promise<void>): Promise<void> {
  const hookbox = join(project.folder, 'node_modules/hookbox');
  renameSync(hookbox, `${hookbox}.away`);
  try {
    await work();
  } finally {
    renameSync(`${hookbox}.away`, hookbox);
  }
}

/** As pnpm does: each package beside links to its own dependencies only. */
function pnpmInstall(project: Project, root: string): void {
  const store = join(root, 'node_modules/.pnpm');
  const put = (name: string, from: string): string => {
    const modules = join(store, name.replace('/', '+'), 'node_modules');
    const own = join(modules, name);
    if (existsSync(own)) return own;
    // Node reads none of it, and thousands of files are copied.
    const needless = /\/node_modules\/(?:better-sqlite3\/(?:deps|src)|zod\/src)$|\.(?:map|md|png|d\.[cm]?ts)$/;
    cpSync(from, own, { recursive: true, filter: (path) => !needless.test(path) });
    const manifest = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as Record<string, object | undefined>;
    const peers = Object.keys(manifest['peerDependencies'] ?? {}).filter((peer) => peer === 'hono' || peer === 'zod');
    for (const needed of [...Object.keys(manifest['dependencies'] ?? {}), ...peers]) {
      link(put(needed, join(ROOT, 'node_modules', needed)), join(modules, needed));
    }
    return own;
  };
  link(put('hookbox', join(project.folder, 'node_modules/hookbox')), join(root, 'node_modules/hookbox'));
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target.startsWith(join(ROOT, 'node_modules')) ? target : relative(dirname(path), target), path);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else cpSync(from, to);
}
