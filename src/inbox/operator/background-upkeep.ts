import { setTimeout as delay } from 'node:timers/promises';
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
 * it, there may always be more where events keep coming in
 */
export async function keepHandy(
  operations: Pick<Operations, 'indexNew' | 'coarsen' | 'clearErased'>,
  { now, isOpen, upTo }: { readonly now: () => number; readonly isOpen: () => boolean; readonly upTo?: number },
): Promise<void> {
  let coarsenedAt = -Infinity;
  for (let left = Infinity; left > 0 && isOpen();) {
    const startedAt = performance.now();
    // A backlog of events may take hours, in which there are more and more counts.
    if (startedAt - coarsenedAt >= COARSEN_EVERY_MS) {
      await operations.coarsen(now() - MINUTES_KEPT_MS);
      await operations.clearErased(BATCH);
      coarsenedAt = startedAt;
    }
    const indexingAt = performance.now();
    left = await operations.indexNew(BATCH, upTo);
    if (left > 0) await delay(REST * (performance.now() - indexingAt), undefined, { ref: false });
  }
}
