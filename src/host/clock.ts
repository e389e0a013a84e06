import { clearTimeout, setTimeout } from './real-timers.ts';

/** Where processing gets its time from; tests bring a clock of their own. */
export interface Clock {
  /** milliseconds since 1970 */
  now(): number;
  /** Calls back once after a while; returns how to cancel. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
