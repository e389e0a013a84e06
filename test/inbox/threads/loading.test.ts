import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { loadUnlessForbidden, notBegun, terminate } from '../../../src/inbox/sqlite/threads/thread.ts';

function fakeThread() {
  let ended = 0;
  return { terminate: () => (ended += 1), times: () => ended };
}

it('a thread that has not begun to load is terminated at once, and does not begin', () => {
  const [thread, loading] = [fakeThread(), notBegun()];
  terminate(thread, loading);
  expect(thread.times()).toBe(1);
  let loads = 0;
  expect(loadUnlessForbidden(loading, () => (loads += 1))).toBe(false);
  expect(loads).toBe(0);
});

it('a thread that has loaded, or could not, is terminated at once', () => {
  for (const fails of [false, true]) {
    const [thread, loading] = [fakeThread(), notBegun()];
    const load = () => {
      if (fails) throw new Error('it does not load');
    };
    expect(loadUnlessForbidden(loading, load)).toBe(true);
    terminate(thread, loading);
    expect(thread.times()).toBe(1);
  }
});

it('a thread that loads just now is terminated when it has loaded: Node would end the process', async () => {
  const [thread, loading] = [fakeThread(), notBegun()];
  loadUnlessForbidden(loading, () => {
    terminate(thread, loading);
    expect(thread.times()).toBe(0);
  });
  await expect.poll(() => thread.times()).toBe(1);
  await delay(50);
  expect(thread.times()).toBe(1);
});
