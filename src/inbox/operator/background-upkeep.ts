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
 * together.
 *
 * @param isOpen - asked before each step; with `false` it stops
 */
export async function keepHandy(
  operations: Pick<Operations, 'indexNew' | 'coarsen'>,
  { now, isOpen }: { readonly now: () => number; readonly isOpen: () => boolean },
): Promise<void> {
  let coarsenedAt = -Infinity;
  for (let left = Infinity; left > 0 && isOpen();) {
    const startedAt = performance.now();
    // A backlog of events may take hours, in which there are more and more counts.
    if (startedAt - coarsenedAt >= COARSEN_EVERY_MS) {
      await operations.coarsen(now() - MINUTES_KEPT_MS);
      coarsenedAt = startedAt;
    }
    const indexingAt = performance.now();
    left = await operations.indexNew(BATCH);
    if (left > 0) await delay(REST * (performance.now() - indexingAt), undefined, { ref: false });
  }
}
