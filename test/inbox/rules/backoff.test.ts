import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs, DEFAULT_RETRY } from '../../../src/inbox/rules/attempt.ts';

it.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [12, 2_048_000],
  [13, 3_600_000],
  [20, 3_600_000],
  [5_000, 3_600_000],
])('after failure %i it is at most %i ms', (failures, most) => {
  expect(backoffMs(failures, DEFAULT_RETRY, () => 1)).toBe(most);
  expect(backoffMs(failures, DEFAULT_RETRY, () => 0)).toBe(0);
});

it('is a whole number of milliseconds within its bounds, for any options', () => {
  const options = fc.record({
    attempts: fc.nat(),
    baseMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    maxMs: fc.nat(),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      options,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (n, retry, at) => {
        const ms = backoffMs(n, retry, () => at);
        expect(Number.isInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(retry.maxMs);
      },
    ),
  );
});
