// @module-tag long
import { execFile } from 'node:child_process';
import { readFileSync, globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { part } from '../helpers/parts.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = 'test/host/fake-timers';
const run = promisify(execFile);

// A test that hangs is ended by its runner, which keeps its own timers.
it.each<[string, readonly string[]]>([
  ['node:test', ['--test', '--test-timeout=20000', `${FOLDER}/with-node.mjs`]],
  ['vitest', ['node_modules/vitest/vitest.mjs', 'run', '--config', `${FOLDER}/vitest.config.mjs`]],
  [
    'Jest',
    [
      '--experimental-vm-modules',
      part('jest/bin/jest.js'),
      '--watchman=false',
      `--rootDir=${FOLDER}`,
      '--testMatch=**/with-jest.mjs',
      '--testTimeout=20000',
    ],
  ],
])('fake timers of %s hold up no inbox', async (_, command) => {
  // Not those of the runner that runs this.
  const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
  const { stdout, stderr } = await run(process.execPath, command, { cwd: ROOT, env });
  expect(`${stdout}${stderr}`).toMatch(/pass 3|3 passed/);
});

it('nothing but the module of real timers takes timers from Node', () => {
  const files = globSync('{src,adapters}/**/*.{ts,tsx}', { cwd: ROOT });
  const taking = files.filter((file) =>
    /from 'node:timers(?:\/promises)?'/.test(readFileSync(`${ROOT}${file}`, 'utf8')),
  );
  expect(taking).toEqual(['src/host/real-timers.ts']);
});
