import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { runHookbox } from './run-hookbox.ts';

async function loadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const into = scratchFile('modules');
  const hooks = new URL('watched-modules.ts', import.meta.url).href;
  const ran = await runHookbox(args, { env: { NODE_OPTIONS: `--import ${hooks}`, WATCHED_INTO: into } });
  expect(ran.code).toBe(0);
  return readFileSync(into, 'utf8').split('\n');
}

/** What only some ask for: each costs every start that loads it. */
const ASKED_FOR = /\/node_modules\/(?!commander\/)|(completion|own-module|serve-process|\/table)\.[jt]s$/;

it.each([
  ['--help', ['--help'], /^node:https?$|\/(sender|testing)\//],
  [
    'trigger',
    ['trigger', 'order.ready', '--dry-run'],
    /\/(inbox|processing|receive)\/(?!sqlite\/opening\/database|event\.)/,
  ],
] as const)('%s loads nothing that it was not asked for', async (_, args, other) => {
  const loaded = await loadedBy(...args);
  expect(loaded.some((url) => /program\.[jt]s$/.test(url))).toBe(true);
  expect(loaded.filter((url) => ASKED_FOR.test(url) || other.test(url))).toEqual([]);
});
