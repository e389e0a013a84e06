import type { Gauge } from '../operator/counts.ts';

/** Counting stops here: beyond it the figure says enough, and a backlog of a million must not make it slow. */
const COUNTED = 10_000;
/** So many are counted to know whether there are more. */
export const MOST_COUNTED = COUNTED + 1;
/** How many of the first in each order are looked at for the oldest one. */
export const FIRST = 100;
/** How many of the oldest are told. */
export const TOLD = 20;

/** @param count - up to `MOST_COUNTED`, or of parts of which each is */
export function gaugeOf(count: number): Gauge {
  return { count: Math.min(count, COUNTED), more: count > COUNTED };
}
