import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LATENCY_BUCKETS_MS } from '../../src/inbox/rules/counted.ts';
import { percentilesOf } from '../../src/ops/stats.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { testStats } from './stats.conformance.ts';

const bounds = [...LATENCY_BUCKETS_MS, Infinity];
const boundOf = (ms: number): number => bounds.find((bound) => ms <= bound) ?? NaN;

testStats('stats in SQLite', async () => inboxOnFile().inbox);

it('are the upper bounds of the buckets that the percentiles of the values fall into', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 90_000, noNaN: true }), { minLength: 1 }), (latencies) => {
      const sorted = latencies.toSorted((a, b) => a - b);
      const at = (part: number): number => boundOf(sorted[Math.ceil(sorted.length * part) - 1] ?? NaN);
      const buckets = new Map<number, number>();
      for (const ms of latencies) buckets.set(boundOf(ms), (buckets.get(boundOf(ms)) ?? 0) + 1);
      expect(percentilesOf(buckets)).toEqual({
        count: latencies.length,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: at(1),
      });
    }),
  );
});

it('are null where nothing was measured, and Infinity beyond the last bound', () => {
  const nothing = { count: 0, p50: null, p90: null, p99: null, max: null };
  expect(percentilesOf(new Map())).toEqual(nothing);
  expect(percentilesOf(new Map([[5, 0]]))).toEqual(nothing);
  expect(percentilesOf(new Map([[Infinity, 1]]))).toMatchObject({ p50: Infinity, max: Infinity });
});

it('do not depend on the order in which the buckets are given', () => {
  const buckets: [number, number][] = [
    [Infinity, 1],
    [2, 1],
    [10_000, 1],
    [30, 97],
  ];
  expect(percentilesOf(new Map(buckets))).toEqual({ count: 100, p50: 30, p90: 30, p99: 10_000, max: Infinity });
});
