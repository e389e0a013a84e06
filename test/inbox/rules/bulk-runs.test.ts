import { expect, it } from 'vitest';
import { runOf } from '../../../src/inbox/rules/bulk-runs.ts';

const heard = { ms: 5_000, silentMs: 100, worked: 210, stopped: false };
const running = { state: 'running', worked: 210, heard } as const;

it.each([
  ['was heard of just now', running, null],
  ['was slow for most of a minute', { ...running, heard: { ...heard, silentMs: 59_000 } }, null],
  ['was not heard of for more than a minute', { ...running, heard: { ...heard, silentMs: 61_000 } }, 'silent'],
  ['was heard of in the future', { ...running, heard: { ...heard, silentMs: -60_000 } }, 'silent'],
  ['is a few milliseconds ahead', { ...running, heard: { ...heard, silentMs: -20 } }, null],
  ['has said that it stops', { ...running, heard: { ...heard, stopped: true } }, 'told'],
  [
    'has worked since without a word, as an older hookbox does',
    { ...running, worked: 211, heard: { ...heard, silentMs: 90_000 } },
    null,
  ],
  ['never said a word, as an older hookbox', { ...running, heard: null }, null],
  ['is done', { ...running, state: 'done', heard: { ...heard, silentMs: 90_000 } }, null],
] as const)('of a bulk whose runner %s', (_, bulk, expected) => {
  expect(runOf(bulk)).toBe(expected);
});
