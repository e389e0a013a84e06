import timers from 'node:timers';
import promises from 'node:timers/promises';

/**
 * The timers and the clocks of the machine, as they were when hookbox was loaded. Whatever waits for the disk or for a
 * connection waits with these: in a test with fake timers (vitest, Jest, `node:test`) it would wait for ever. What time it is
 * for events stays with the global `Date`, which a test may set.
 */
export const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = timers;

/** Resolves after so many milliseconds. */
export const delay = promises.setTimeout;

/** Resolves after a turn of the event loop. */
export const turn = promises.setImmediate;

/** The monotonic clock. */
export const performance: { readonly now: () => number } = {
  now: globalThis.performance.now.bind(globalThis.performance),
};

/** What all threads of a process take for the time, in milliseconds since 1970. */
export const wallTime = Date.now;
