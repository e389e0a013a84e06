import type { TimeSlice } from '../../../rules/engine.ts';
import { timeSlice } from '../../engine/time-slice.ts';

/** Bodies of one transaction have so many bytes together, or there is one that has more. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Of a transaction that reads bodies. */
export function byteSlice(): TimeSlice {
  const slice = timeSlice();
  let left = MOST_BYTES;
  return {
    add(bytes) {
      left -= bytes;
      return slice.add(bytes);
    },
    isOver: () => left <= 0 || slice.isOver(),
  };
}
