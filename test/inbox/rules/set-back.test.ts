import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { arrivedBy, latestTime, movedBack, setBackBy, TOLERATED_MS } from '../../../src/inbox/rules/claim.ts';

const HOUR = 3_600_000;

it('is remembered once a second at most, and never goes back', () => {
  expect(latestTime(0, 12_345)).toBe(12_000);
  expect(latestTime(12_000, 12_999)).toBe(12_000);
  expect(latestTime(12_000, 5_000)).toBe(12_000);
});

it.each([
  [HOUR, HOUR, 0],
  [HOUR, HOUR - TOLERATED_MS, 0],
  [HOUR, HOUR - TOLERATED_MS - 1, TOLERATED_MS + 1],
  [HOUR, 2 * HOUR, 0],
])('a clock that has shown %i and shows %i was set back by %i', (latest, now, back) => {
  expect(setBackBy(latest, now)).toBe(back);
});

it.each([
  ['lasts as long as it had left', 2 * HOUR + 500, HOUR, HOUR, HOUR + 500],
  ['is not moved to before the earliest', 2 * HOUR, HOUR, HOUR + 15_000, HOUR + 15_000],
  ['stays where it is when it is not in the future', HOUR - 1, HOUR, HOUR, HOUR - 1],
])('what was written before %s', (_, time, back, earliest, expected) => {
  expect(movedBack(time, back, earliest)).toBe(expected);
});

it('a time is never moved forward, nor before the earliest', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), (time, back, earliest) => {
      const moved = movedBack(time, back, earliest);
      expect(moved).toBeLessThanOrEqual(time);
      expect(moved).toBeGreaterThanOrEqual(Math.min(time, earliest));
    }),
  );
});

it('nothing arrives in the future', () => {
  expect(arrivedBy(HOUR, HOUR)).toBe(HOUR);
  expect(arrivedBy(HOUR + TOLERATED_MS, HOUR)).toBe(HOUR + TOLERATED_MS);
  expect(arrivedBy(HOUR + TOLERATED_MS + 1, HOUR)).toBe(HOUR);
});
