import { setTimeout } from '../../../host/real-timers.ts';

/**
 * How far a thread has come with loading better-sqlite3, in memory that both sides see. Node ends the whole process where a
 * thread is terminated while it loads the binary.
 */
export type Loading = Int32Array<SharedArrayBuffer>;

const NOT_BEGUN = 0;
const BEGUN = 1;
const DONE = 2;
const FORBIDDEN = 3;
/** So often it is looked whether it is done. */
const LOOK_MS = 5;

export function notBegun(): Loading {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** In the thread: loads, unless the thread is about to be terminated. Returns whether it may continue. */
export function loadUnlessForbidden(loading: Loading, load: () => void): boolean {
  if (Atomics.compareExchange(loading, 0, NOT_BEGUN, BEGUN) === FORBIDDEN) return false;
  try {
    load();
  } catch {
    // Opening the file reports the reason.
  }
  Atomics.store(loading, 0, DONE);
  return true;
}

/** Terminates a thread at once, or as soon as it has loaded. */
export function terminate(worker: { terminate(): unknown }, loading: Loading): void {
  if (Atomics.compareExchange(loading, 0, NOT_BEGUN, FORBIDDEN) === BEGUN) {
    setTimeout(() => terminate(worker, loading), LOOK_MS).unref();
  } else void worker.terminate();
}
