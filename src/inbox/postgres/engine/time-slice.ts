import { performance } from '../../../host/real-timers.ts';
import type { TimeSlice } from '../../rules/budget.ts';

/** For so long one transaction works on what waits: others wait for the slots that it holds. */
const SLICE_MS = 100;
/** So many events it takes in any case: on a machine that is slow for a moment, a few of them take as long. */
const LEAST = 50;

export function timeSlice(): TimeSlice {
  const endsAt = performance.now() + SLICE_MS;
  let events = 0;
  return {
    add() {
      events += 1;
      return false;
    },
    isOver: () => events > LEAST && performance.now() > endsAt,
  };
}
