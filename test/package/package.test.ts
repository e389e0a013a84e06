// @module-tag long
// @module-tag dear
/** The package as its users meet it: packed, installed, imported, compiled. */
import { afterAll, beforeAll, describe } from 'vitest';
import { packAndInstall, type Installed } from './installed.ts';
import { contentsSuite } from './suites/contents.ts';
import { creatingSuite } from './suites/creating.ts';
import { handlingSuite } from './suites/handling.ts';
import { loadingSuite } from './suites/loading.ts';
import { lockFileSuite } from './suites/lock-file.ts';
import { modulesSuite } from './suites/modules.ts';
import { oldNodeSuite } from './suites/old-node.ts';
import { olderHonoSuite } from './suites/older-hono.ts';
import { packingSuite } from './suites/packing.ts';
import { typesSuite } from './suites/types.ts';

let packed: Installed;
beforeAll(async () => {
  packed = await packAndInstall();
}, 180_000);
afterAll(() => packed?.remove());

const installed = (): Installed => packed;

describe('the tarball', () => contentsSuite(installed));
describe('packing', packingSuite);
describe('the modules', () => modulesSuite(installed));
describe('the types', () => typesSuite(installed));
describe('what surrounds handlers', () => handlingSuite(installed));
describe('what is given when something is created', () => creatingSuite(installed));
describe('what is loaded', () => loadingSuite(installed));
describe('a project with a lock file', () => lockFileSuite(installed));
describe('an old Node', () => oldNodeSuite(installed));
describe('an older Hono', () => olderHonoSuite(installed));
