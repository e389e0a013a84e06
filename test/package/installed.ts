import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packInto } from '../helpers/packed.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { succeed } from './run.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROJECTS = fileURLToPath(new URL('projects', import.meta.url));

const NEEDED = ['@types/node'];
const FRAMEWORKS = ['express', '@types/express', 'fastify', '@types/better-sqlite3'];
/** The oldest TypeScript that hookbox's types are for, as docs/typescript.md says; the repository's own is the newest. */
export const OLDEST_TYPESCRIPT = '5.8';
/** The oldest Hono that apps may have, as docs/adapters.md says; hookbox has a newer one beside it. */
export const OLDEST_HONO = '4.6.0';
/** What the repository itself does not have. */
const OTHERS = ['@types/aws-lambda@8.10.164', `typescript@${OLDEST_TYPESCRIPT}`, `hono4@npm:hono@${OLDEST_HONO}`];

/** What is read of the packed package.json. */
export interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** A merchant's project with hookbox in its node_modules. */
export interface Project {
  readonly folder: string;
  /** what npm warned of */
  readonly warnings: readonly string[];
}

/** The packed package, installed. */
export interface Installed {
  /** with neither express nor fastify, nor their types */
  readonly plain: Project;
  /** with all of them, and the programs of the plain one too */
  readonly frameworks: Project;
  /** hookbox in the node_modules of the plain project */
  readonly package: string;
  readonly manifest: Manifest;
  remove(): void;
}

/** Packs what is in dist and installs it as merchants do, into two projects in a temporary folder. */
export async function packAndInstall(): Promise<Installed> {
  // Thousands of files: on a disk they would cost more than what is done with them.
  const own = ownFolder();
  const folder = realpathSync(own.path);
  const remove = (): void => own[Symbol.dispose]();
  try {
    const tarball = packInto(folder);
    const [plain, frameworks] = await Promise.all([
      install(join(folder, 'plain'), [`../${tarball}`, ...NEEDED.map(asHere)]),
      install(join(folder, 'frameworks'), [`../${tarball}`, ...[...NEEDED, ...FRAMEWORKS].map(asHere), ...OTHERS]),
    ]);
    cpSync(join(plain.folder, 'src'), join(frameworks.folder, 'src/plain'), { recursive: true });

    const packed = join(plain.folder, 'node_modules/hookbox');
    const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')) as Manifest;
    return { plain, frameworks, package: packed, manifest, remove };
  } catch (failure) {
    remove();
    throw failure;
  }
}

async function install(folder: string, packages: readonly string[]): Promise<Project> {
  cpSync(join(PROJECTS, basename(folder)), folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: basename(folder), private: true }));
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=warn', ...cacheBeside(folder)];
  const { stderr } = await succeed('npm', ['install', ...options, ...packages], folder);
  const warnings = stderr.split('\n').filter((line) => line.startsWith('npm warn') && !isAboutThisMachine(line));
  return { folder, warnings };
}

/**
 * npm's own cache, but for the folder into which npm first unpacks what it installs, only to remove that again: this one is in
 * memory, where a file costs a tenth of one on a disk.
 */
function cacheBeside(folder: string): readonly string[] {
  const cache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
  const kept = ['content-v2', 'index-v5'].map((name) => join(cache, '_cacache', name));
  if (!kept.every((path) => existsSync(path))) return [];
  const beside = `${folder}-npm-cache`;
  mkdirSync(join(beside, '_cacache'), { recursive: true });
  for (const path of kept) symlinkSync(path, join(beside, '_cacache', basename(path)), 'junction');
  return [`--cache=${beside}`];
}

/** The version the repository has, which npm has in its cache. */
function asHere(name: string): string {
  const manifest = readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  return `${name}@${version}`;
}

/** npm also warns of what somebody has put into their own .npmrc. */
function isAboutThisMachine(warning: string): boolean {
  return /^npm warn Unknown \w+ config /.test(warning);
}
