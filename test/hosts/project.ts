import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packInto } from '../helpers/packed.ts';
import { part } from '../helpers/parts.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Git and the linters skip folders of this name, and TypeScript those that begin with a dot. */
const FOLDERS = fileURLToPath(new URL('../parts/dist', import.meta.url));

const OF_THE_ROOT = ['better-sqlite3', 'zod', 'express', 'fastify', 'hono', '@hono/node-server', 'pg'];
const OF_THE_PARTS = [
  '@google-cloud/functions-framework',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
  'koa',
  'next',
  'react',
  'react-dom',
  'reflect-metadata',
  'rxjs',
];
/** Each writes what it gets into QUEUE_FILE, or throws while QUEUE_FILE.down exists. */
const FAKES = { '@aws-sdk/client-sqs': 'sqs', '@google-cloud/pubsub': 'pubsub', '@vercel/functions': 'vercel' };

export interface Project {
  readonly folder: string;
  write(name: string, content: string): string;
  /** Makes `import 'as'` in a folder import another package of test/parts. */
  alias(folder: string, as: string, name: string): void;
  remove(): void;
}

export function createProject(): Project {
  mkdirSync(FOLDERS, { recursive: true });
  const folder = mkdtempSync(join(FOLDERS, '.hosts-'));
  // The cache of compiled modules is removed with the project.
  const compiled = ownFolder();
  process.env['NODE_COMPILE_CACHE'] = compiled.path;
  const project: Project = {
    folder,
    write(name, content) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    alias(from, as, name) {
      link(dirname(part(`${name}/package.json`)), join(folder, from, 'node_modules', as));
    },
    remove() {
      compiled[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  project.write('package.json', '{ "private": true, "type": "module" }');
  installHookbox(folder);
  for (const name of OF_THE_ROOT) link(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  for (const name of OF_THE_PARTS) project.alias('.', name, name);
  project.alias('express4', 'express', 'express4');
  for (const [name, file] of Object.entries(FAKES)) {
    project.write(`node_modules/${name}/package.json`, '{ "exports": "./index.mjs" }');
    copyFileSync(new URL(`fakes/${file}.mjs`, import.meta.url), join(folder, 'node_modules', name, 'index.mjs'));
  }
  return project;
}

/** As npm does. */
function installHookbox(folder: string): void {
  const packed = packInto(folder);
  const target = join(folder, 'node_modules/hookbox');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['xzf', join(folder, packed), '-C', target, '--strip-components=1']);
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, 'junction');
}
