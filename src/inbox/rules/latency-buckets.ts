/** Upper bounds, in milliseconds, of what latencies are counted in. */
export const LATENCY_BUCKETS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 9_000,
  10_000, 20_000, 30_000, 60_000,
] as const;

/** The bucket that a latency is counted in: its upper bound, or `inf`. */
export function latencyBucket(ms: number): string {
  return String(LATENCY_BUCKETS_MS.find((bound) => ms <= bound) ?? 'inf');
}
