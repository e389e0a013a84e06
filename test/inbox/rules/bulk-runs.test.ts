import { expect, it } from 'vitest';
import { runOf } from '../../../src/inbox/rules/bulk-runs.ts';

const heartbeat = { ms: 5_000, silentMs: 100, stopped: false };
const running = { state: 'running', heartbeat } as const;

it.each([
  ['reported just now', running, null],
  ['was slow for most of a minute', { ...running, heartbeat: { ...heartbeat, silentMs: 59_000 } }, null],
  ['did not report for more than a minute', { ...running, heartbeat: { ...heartbeat, silentMs: 61_000 } }, 'silent'],
  ['reported in the future', { ...running, heartbeat: { ...heartbeat, silentMs: -60_000 } }, 'silent'],
  ['is a few milliseconds ahead', { ...running, heartbeat: { ...heartbeat, silentMs: -20 } }, null],
  ['reported that it stops', { ...running, heartbeat: { ...heartbeat, stopped: true } }, 'reported'],
  ['has not reported yet', { ...running, heartbeat: null }, null],
  ['is done', { ...running, state: 'done', heartbeat: { ...heartbeat, silentMs: 90_000 } }, null],
] as const)('of a bulk whose process %s', (_, bulk, expected) => {
  expect(runOf(bulk)).toBe(expected);
});
