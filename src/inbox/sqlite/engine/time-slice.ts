import { performance } from '../../../host/real-timers.ts';
import type { TimeSlice } from '../../rules/budget.ts';

/** For so long one transaction works on what waits: deliveries share its commit, and the event loop stands still. */
const SLICE_MS = 10;
/** So much it writes at most, and one row: the commit writes it once more, when the time can no longer be looked at. */
const SLICE_BYTES = 1024 * 1024;
/** The time is looked at after so much. Small rows cost some microseconds each; the limit of their batch bounds them. */
const LOOK_BYTES = 64 * 1024;

/**
 * What bounds a transaction over many rows. Any change of a row writes it anew with its body, so rows alone do not.
 *
 * @param lookBytes - the time is looked at after so much; 0 where each row takes a while, whatever its length
 */
export function timeSlice(lookBytes = LOOK_BYTES): TimeSlice {
  const startedAt = performance.now();
  let bytes = 0;
  let lookedAt = 0;
  let over = false;
  const isDue = (): boolean => bytes - lookedAt >= lookBytes;
  return {
    add(more) {
      bytes += more;
      return isDue();
    },
    isOver() {
      if (over || !isDue()) return over;
      lookedAt = bytes;
      over = bytes >= SLICE_BYTES || performance.now() - startedAt > SLICE_MS;
      return over;
    },
  };
}
