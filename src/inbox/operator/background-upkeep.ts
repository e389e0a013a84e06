import { delay, performance } from '../../host/real-timers.ts';
import type { Operations } from './operations.ts';

const BATCH = 200;
/** So many times as long as a batch took the writer is left alone: a tenth of its time is enough for this. */
const REST = 9;
const COARSEN_EVERY_MS = 60_000;
/** Counts are kept by the minute for as long as the day's charts need them, and by the hour before that. */
const MINUTES_KEPT_MS = 25 * 60 * 60_000;

/**
 * Enters new events into the index of entities and merchants, and sums old counts up.
 *
 * @param how - stops before the next step once `isOpen` says false. `upTo` is the `seq` of the last event to enter; without it
 * the work has no end while events come in, so its timers do not hold the process
 */
export async function runUpkeep(
  operations: Pick<Operations, 'indexNew' | 'coarsen'>,
  { now, isOpen, upTo }: { readonly now: () => number; readonly isOpen: () => boolean; readonly upTo?: number },
): Promise<void> {
  let coarsenedAt = -Infinity;
  for (let left = Infinity; left > 0 && isOpen();) {
    const startedAt = performance.now();
    // A backlog of events may take hours, in which there are more and more counts.
    if (startedAt - coarsenedAt >= COARSEN_EVERY_MS) {
      await operations.coarsen(now() - MINUTES_KEPT_MS);
      coarsenedAt = startedAt;
    }
    const workingAt = performance.now();
    left = await operations.indexNew(BATCH, upTo);
    const ref = upTo !== undefined;
    if (left > 0) await delay(REST * (performance.now() - workingAt), undefined, { ref });
  }
}
