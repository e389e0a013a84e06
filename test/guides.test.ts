// @module-tag long
/** The code of docs/testing.md and docs/typescript.md, run and compiled as a merchant does it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { part } from './helpers/parts.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** A block whose first line names its file. */
const NAMED = /^```(?:js|ts)\n\/\/ (?<name>[\w.]+)\n(?<code>[\s\S]*?)^```$/gm;

let folder: string;
beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist'))) throw new Error('dist is missing: npm run build');
  mkdirSync(join(ROOT, 'dist/examples'), { recursive: true });
  folder = mkdtempSync(join(ROOT, 'dist/examples/guides-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/hookbox'), 'junction');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function page(name: string): string {
  return readFileSync(join(ROOT, 'docs', name), 'utf8');
}

/** Writes the named blocks of a page as the files that they are; answers the names. */
function writeBlocks(name: string): readonly string[] {
  const blocks = [...page(name).matchAll(NAMED)].map(({ groups: { name: file = '', code = '' } = {} }) => {
    writeFileSync(join(folder, file), code);
    return file;
  });
  expect(blocks).toHaveLength(page(name).match(/^```(?:js|ts)$/gm)?.length ?? 0);
  return blocks;
}

async function node(...args: readonly string[]): Promise<string> {
  // Not those of the runner that runs this.
  const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env });
  return `${stdout}${stderr}`;
}

describe('docs/testing.md', () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');

  beforeAll(() => {
    expect(writeBlocks('testing.md')).toEqual(['orders.mjs', 'orders.test.mjs', 'mails.test.mjs', 'stock.test.mjs']);
  });

  it('has a suite for Jest, and its flag', async () => {
    const [, flag = ''] = /NODE_OPTIONS=(\S+) npx jest/.exec(page('testing.md')) ?? [];
    const output = await node(flag, part('jest/bin/jest.js'), '--watchman=false', 'mails.test.mjs');
    expect(output).toMatch(/Tests: +1 passed/);
  });

  it('has a suite for node:test', async () => {
    expect(await node('--test', 'stock.test.mjs')).toMatch(/pass 1\n/);
  });

  it('has a suite for vitest, and shows how to test a handler that waits on fake timers', async () => {
    const [, waiting = ''] = /^ {2}```js\n([\s\S]*?)^ {2}```$/m.exec(page('testing.md')) ?? [];
    writeFileSync(
      join(folder, 'waiting.test.mjs'),
      `import { createReceiver } from 'hookbox';
       import { buildEvent, deliverTo, testInbox } from 'hookbox/testing';
       import { expect, test, vi } from 'vitest';
       test('waits', async () => {
         vi.useFakeTimers();
         const { inbox, clock, handledAll } = testInbox();
         const wait = async (event, ctx) => {
           await new Promise((resolve) => setTimeout(resolve, 20_000));
           if (ctx.attempt < 3) throw new Error('not yet');
         };
         const receiver = createReceiver({ secret: 's', inbox, clock, handlers: { '*': wait } });
         await receiver.start();
         await deliverTo(receiver, buildEvent('order.created'), { secret: 's' });
         ${waiting}
         expect(await done).toMatchObject([{ state: 'processed' }]);
         await receiver.close();
       });`,
    );
    const output = await node(vitest, 'run', 'orders.test.mjs', 'waiting.test.mjs');
    expect(output).toMatch(/orders\.test\.mjs \(3 tests\)/);
    expect(output).toMatch(/waiting\.test\.mjs \(1 test\)/);
    expect(output).toMatch(/Tests +4 passed/);
  });
});

describe('docs/typescript.md', () => {
  beforeAll(() => {
    expect(writeBlocks('typescript.md')).toEqual(['handlers.ts', 'events.ts', 'server.cjs']);
  });

  it.each([
    ['its settings', []],
    ['those of a bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('compiles with %s', async (_, flags) => {
    const [, settings = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page('typescript.md')) ?? [];
    writeFileSync(join(folder, 'tsconfig.json'), settings);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    expect(await node(tsc, '-p', '.', '--noEmit', ...flags)).toBe('');
  });

  it('loads hookbox in CommonJS', async () => {
    expect(await node('server.cjs')).toBe('');
  });
});
