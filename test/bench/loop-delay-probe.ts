// Preloaded into a server (node --import), it measures how long its event loop keeps others waiting, when asked.
//
// A timer is set for a millisecond, again and again. What it is late by, others of that moment were kept waiting too; and
// whoever came a millisecond later waited a millisecond less, and so on: these are recorded as well. Without them, as with
// `monitorEventLoopDelay` of node:perf_hooks, a loop that stands still for 100 ms is one value among a thousand, and p99
// says nothing of a tenth of the time. So each value is what a timer that is due at that millisecond would have waited.
import { createHistogram } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { LoopDelayQuestion, LoopDelay } from './server-process.ts';

const INTERVAL_MS = 1;
/** A histogram begins at 1. */
const LEAST_NS = 1;

let delays = createHistogram();
let dueAt = 0;
let running: NodeJS.Timeout | undefined;

function set(): void {
  dueAt = performance.now() + INTERVAL_MS;
  running = setTimeout(ring, INTERVAL_MS);
}

function ring(): void {
  let lateMs = performance.now() - dueAt;
  do {
    // Node's clock of timers has whole milliseconds, so one may ring a little early.
    delays.record(Math.max(LEAST_NS, Math.round(lateMs * 1e6)));
    lateMs -= INTERVAL_MS;
  } while (lateMs > 0);
  set();
}

function end(): LoopDelay {
  clearTimeout(running);
  running = undefined;
  const at = (percent: number): number => delays.percentile(percent) / 1e6;
  return { p50: at(50), p99: at(99), max: delays.max / 1e6 };
}

// A thread of the server inherits the preload, and has a loop of its own that nobody waits for.
if (isMainThread) {
  process.on('message', (question: LoopDelayQuestion) => {
    if (question === 'loop-delay-begin') {
      delays = createHistogram();
      set();
      process.send?.(null);
    }
    if (question === 'loop-delay-end') process.send?.(end());
  });
}
