import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type Database from 'better-sqlite3';
import type expressItself from 'express';
import type { fastify as fastifyItself } from 'fastify';
import type * as express from '../../adapters/express.ts';
import type * as fastify from '../../adapters/fastify.ts';
import type * as fetch from '../../adapters/fetch.ts';
import type * as node from '../../adapters/node.ts';
import type * as core from '../../src/index.ts';
import type * as sqlite from '../../src/inbox/sqlite/sqlite-inbox.ts';
import type * as ops from '../../src/ops/index.ts';
import type * as opsPage from '../../src/page/operators-page.tsx';
import type * as testing from '../../src/testing/index.ts';

/** What a merchant's project finds under these names; the sources lend it their types. */
export interface Modules {
  readonly 'better-sqlite3': { readonly default: typeof Database };
  readonly express: { readonly default: typeof expressItself };
  readonly fastify: { readonly default: typeof fastifyItself };
  readonly hookbox: typeof core;
  readonly 'hookbox/express': typeof express;
  readonly 'hookbox/fastify': typeof fastify;
  readonly 'hookbox/fetch': typeof fetch;
  readonly 'hookbox/node': typeof node;
  readonly 'hookbox/ops': typeof ops;
  readonly 'hookbox/ops/page': typeof opsPage;
  readonly 'hookbox/sqlite': typeof sqlite;
  readonly 'hookbox/testing': typeof testing;
}

/** Imports by a name, as a file in the project's folder would. */
export async function imported<Name extends keyof Modules>(folder: string, name: Name): Promise<Modules[Name]> {
  const file = createRequire(join(folder, 'package.json')).resolve(name);
  return (await import(pathToFileURL(file).href)) as Modules[Name];
}
