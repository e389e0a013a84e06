import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, type Installed } from '../installed.ts';
import { run, succeed, type Ended } from '../run.ts';

/** What README and docs/adapters.md tell merchants to put into their package.json. */
const ADVICE = '"allowScripts": { "better-sqlite3": false }';
/** The first npm that heeds it. */
const HEEDING = [11, 16] as const;
const OPTIONS = ['--prefer-offline', '--no-audit', '--no-fund'];

/**
 * npm leaves out of a lock file that better-sqlite3 has nothing to compile, finds its binding.gyp and compiles it, on a machine
 * that has no compiler. What is compiled is in the package already.
 */
export function lockFileSuite(installed: () => Installed): void {
  /** The plain project as a colleague checks it out: its package.json and its lock file. */
  const checkedOut = (name: string, more: object): string => {
    const { folder } = installed().plain;
    const copy = join(dirname(folder), name);
    for (const part of ['package-lock.json', 'run']) cpSync(join(folder, part), join(copy, part), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object;
    writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, ...more }));
    return copy;
  };
  const opens = async (project: string): Promise<boolean> => {
    await succeed(process.execPath, ['run/open-inbox.mjs', 'shop.db'], project);
    return existsSync(join(project, 'shop.db'));
  };

  it('is installed without Python and a compiler, with the line that the docs name', async () => {
    const project = checkedOut('locked', JSON.parse(`{ ${ADVICE} }`) as object);
    const ended = await installedBare(project);
    const major = (await succeed('npm', ['--version'], project)).stdout.trim().split('.').map(Number);
    const heeds = (major[0] ?? 0) > HEEDING[0] || (major[0] === HEEDING[0] && (major[1] ?? 0) >= HEEDING[1]);
    expect(ended.code === 0, ended.stderr).toBe(heeds);
    if (heeds) expect(await opens(project)).toBe(true);
  });

  it('is installed on every npm with --ignore-scripts, as the docs say', async () => {
    const project = checkedOut('locked-without-scripts', {});
    expect(await installedBare(project, '--ignore-scripts')).toMatchObject({ code: 0 });
    expect(await opens(project)).toBe(true);
  });

  it('needs one of both: npm would compile it otherwise', async () => {
    expect((await installedBare(checkedOut('locked-bare', {}))).code).not.toBe(0);
  });

  it.each([
    ['README.md', 'npm pkg set --json allowScripts.better-sqlite3=false'],
    ['docs/adapters.md', ADVICE],
  ])('%s says so', (file, advice) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(advice);
  });

  it('this repository heeds it', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { allowScripts?: unknown };
    expect(manifest.allowScripts).toMatchObject({ 'better-sqlite3': false });
  });
}

/** `npm ci` where the PATH leads to node and npm and to nothing else. */
async function installedBare(project: string, ...options: readonly string[]): Promise<Ended> {
  const bin = join(project, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  symlinkSync(npm(), join(bin, 'npm'));
  try {
    return await run('npm', ['ci', ...OPTIONS, ...options], project, bin);
  } finally {
    rmSync(bin, { recursive: true });
  }
}

function npm(): string {
  const folders = [dirname(process.execPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, 'npm')).find((file) => existsSync(file));
  if (found === undefined) throw new Error('there is no npm in the PATH');
  return realpathSync(found);
}
