import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { latencyBucket, LATENCY_BUCKETS_MS } from '../../../src/inbox/rules/counted.ts';

it.each([
  [0, '1'],
  [1, '1'],
  [1.5, '2'],
  [60_000, '60000'],
  [60_000.1, 'inf'],
])('%d ms count as %s', (ms, bucket) => {
  expect(latencyBucket(ms)).toBe(bucket);
});

it('a latency counts in the first bucket that holds it', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 100_000, noNaN: true }), (ms) => {
      const smaller = LATENCY_BUCKETS_MS.filter((bound) => bound < ms);
      expect(latencyBucket(ms)).toBe(String(LATENCY_BUCKETS_MS[smaller.length] ?? 'inf'));
    }),
  );
});
