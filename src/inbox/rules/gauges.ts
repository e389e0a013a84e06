/** A number that is counted up to a limit. `more` is `true` if the actual number is higher. */
export interface Gauge {
  readonly count: number;
  readonly more: boolean;
}

/** Counting stops here: beyond it the figure says enough, and a backlog of a million must not make it slow. */
const COUNTED = 10_000;
/** So many are counted to know whether there are more. */
export const MOST_COUNTED = COUNTED + 1;

/** @param count - up to `MOST_COUNTED`, or of parts of which each is */
export function gaugeOf(count: number): Gauge {
  return { count: Math.min(count, COUNTED), more: count > COUNTED };
}
