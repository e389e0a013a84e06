/**
 * Percentiles of durations, in milliseconds. Half of the durations were at most `p50`, 90 % at most `p90`, and 99 % at
 * most `p99`.
 */
export interface Percentiles {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/**
 * Percentiles of what was counted in buckets: the upper bound of the bucket in which each falls, so that it is never told
 * too low.
 *
 * @param buckets - how many fell into the bucket with each upper bound
 */
export function percentilesOf(buckets: ReadonlyMap<number, number>): Percentiles {
  const filled = [...buckets].filter(([, times]) => times > 0).sort(([a], [b]) => a - b);
  const count = filled.reduce((sum, [, times]) => sum + times, 0);
  const boundOf = (part: number): number | null => {
    const rank = Math.ceil(count * part);
    let upTo = 0;
    return filled.find(([, times]) => (upTo += times) >= rank)?.[0] ?? null;
  };
  return { count, p50: boundOf(0.5), p90: boundOf(0.9), p99: boundOf(0.99), max: filled.at(-1)?.[0] ?? null };
}
