import timers from 'node:timers';
import promises from 'node:timers/promises';

/** The timers from when hookbox was loaded: with a test's fake timers, a wait for the disk would never end. Events use the global `Date`, which a test may set. */
export const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = timers;

export const delay = promises.setTimeout;

export const turn = promises.setImmediate;

export const performance: { readonly now: () => number } = {
  now: globalThis.performance.now.bind(globalThis.performance),
};

/** A clock that all threads share. */
export const wallTime = Date.now;
