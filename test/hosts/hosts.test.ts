// @module-tag long
// @module-tag dear
/** Each file of examples/ on its real host. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockCount, blockNames, unused } from './page.ts';
import { createProject, type Project } from './project.ts';
import { bundled } from './suites/bundled.ts';
import { nest, next } from './suites/compiled.ts';
import { functions } from './suites/functions.ts';
import { lambda } from './suites/lambda.ts';
import { mismatch } from './suites/mismatch.ts';
import { ownAdapter } from './suites/own-adapter.ts';
import { pitfalls } from './suites/pitfalls.ts';
import { whatHoldsWhere } from './suites/what-holds-where.ts';
import { servers } from './suites/servers.ts';
import { shops } from './suites/shops.ts';
import { postgres } from './suites/postgres.ts';
import { verifiers } from './suites/verifiers.ts';
import { workers } from './suites/workers.ts';

let created: Project | undefined;
beforeAll(() => {
  created = createProject();
});
afterAll(() => created?.remove());

function project(): Project {
  if (created === undefined) throw new Error('the project is not there yet');
  return created;
}

describe('servers', () => servers(project));
describe('servers that only check', () => verifiers(project));
describe('shops', () => shops(project));
describe('NestJS', () => nest(project));
describe('Next.js', () => next(project));
describe('bundled', () => bundled(project));
describe('beside the examples', () => pitfalls(project));
describe('AWS Lambda', () => lambda(project));
describe('Cloudflare Workers', () => workers(project));
describe('Postgres', () => postgres(project));
describe('functions', () => functions(project));
describe('what holds where', () => whatHoldsWhere(project));
describe('an adapter of your own', () => ownAdapter(project));
describe('a signature does not match', () => mismatch(project));

describe('docs/adapters.md', () => {
  it('has a name on each block', () => expect(blockNames).toHaveLength(blockCount));
  it('has no block and no example that is not run', () => expect(unused()).toEqual([]));
});
