import * as promises from 'node:timers/promises';

/**
 * In place of `src/host/real-timers.ts` in tests of this process (vitest.config.ts): with these, a test may move the time that
 * hookbox waits. What hookbox has of its own is tried in `test/host/fake-timers.test.ts`.
 */
export const setTimeout = ((...given: never[]) =>
  Reflect.apply(globalThis.setTimeout, undefined, given)) as typeof globalThis.setTimeout;
export const setInterval = ((...given: never[]) =>
  Reflect.apply(globalThis.setInterval, undefined, given)) as typeof globalThis.setInterval;
export const setImmediate = ((...given: never[]) =>
  Reflect.apply(globalThis.setImmediate, undefined, given)) as typeof globalThis.setImmediate;
export const clearTimeout: typeof globalThis.clearTimeout = (timer) => globalThis.clearTimeout(timer);
export const clearInterval: typeof globalThis.clearInterval = (timer) => globalThis.clearInterval(timer);
export const clearImmediate: typeof globalThis.clearImmediate = (timer) => globalThis.clearImmediate(timer);

export const { setTimeout: delay, setImmediate: turn } = promises;
export const performance: { readonly now: () => number } = { now: () => globalThis.performance.now() };
export const wallTime = (): number => Date.now();
