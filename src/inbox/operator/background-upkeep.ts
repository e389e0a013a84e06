import { delay, performance } from '../../host/real-timers.ts';
import type { Operations } from './operations.ts';

const BATCH = 200;
/** So many times as long as a batch took the writer is left alone: a tenth of its time is enough for this. */
const REST = 9;
const COARSEN_EVERY_MS = 60_000;
/** Counts are kept by the minute for as long as the day's charts need them, and by the hour before that. */
const MINUTES_KEPT_MS = 25 * 60 * 60_000;

/**
 * Keeps handy what operators look into: enters new events into the index of entities and merchants, and puts old counts
 * together. What an older hookbox has left of what it has erased goes, too.
 *
 * @param how - `isOpen` is asked before each step; with `false` it stops. `upTo` is the `seq` of the last event that matters: without
 * it, there may always be more where events keep coming in, so nobody waits for its end, and it does not hold the process
 */
export async function keepHandy(
  operations: Pick<Operations, 'indexNew' | 'coarsen' | 'clearErased'>,
  { now, isOpen, upTo }: { readonly now: () => number; readonly isOpen: () => boolean; readonly upTo?: number },
): Promise<void> {
  let coarsenedAt = -Infinity;
  let cleared = 0;
  for (let left = Infinity; (left > 0 || cleared === BATCH) && isOpen();) {
    const startedAt = performance.now();
    // A backlog of events may take hours, in which there are more and more counts.
    const isMinute = startedAt - coarsenedAt >= COARSEN_EVERY_MS;
    if (isMinute) {
      await operations.coarsen(now() - MINUTES_KEPT_MS);
      coarsenedAt = startedAt;
    }
    const workingAt = performance.now();
    // Where a batch was full there is more, as after the update of an inbox with many that were erased.
    if (isMinute || cleared === BATCH) cleared = await operations.clearErased(BATCH);
    left = await operations.indexNew(BATCH, upTo);
    const ref = upTo !== undefined;
    if (left > 0 || cleared === BATCH) await delay(REST * (performance.now() - workingAt), undefined, { ref });
  }
}
