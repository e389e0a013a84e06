import { readFileSync } from 'node:fs';

const SAMPLE_MS = 5;

/**
 * Watches how much of the time the event loop of this process stands still for longer than a bound. Time for which the
 * process was ready to run while others had the processor is not its own, so where the kernel tells (Linux) that is
 * taken off; and a share is what the rest of a busy machine's noise does not reach, while every wait for a lock does.
 *
 * @returns what ends the watch and gives that share, 0 to 1
 */
export function watchStalls(boundMs: number): () => number {
  const start = sample();
  let before = start;
  let stalledMs = 0;
  const look = (): void => {
    const now = sample();
    const stall = now.atMs - before.atMs - (now.waitedMs - before.waitedMs);
    if (stall > boundMs) stalledMs += stall;
    before = now;
  };
  const timer = setInterval(look, SAMPLE_MS);
  return () => {
    look();
    clearInterval(timer);
    return stalledMs / (before.atMs - start.atMs);
  };
}

function sample(): { readonly atMs: number; readonly waitedMs: number } {
  return { atMs: performance.now(), waitedMs: waitedForProcessor() };
}

/** The second figure of schedstat: nanoseconds for which the main thread stood in the queue of a processor. */
function waitedForProcessor(): number {
  try {
    const [, waited = '0'] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6;
  } catch {
    return 0;
  }
}
