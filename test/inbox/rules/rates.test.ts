import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  freeAt,
  isRated,
  RateLimits,
  rateOf,
  rateWrite,
  ratesIn,
  type StoredRate,
} from '../../../src/inbox/rules/rates.ts';
import type { Rate } from '../../../src/inbox/work.ts';

const START = 1_767_225_600_000;
const EVENT = { endpoint: 'default', type: 'order.ready' };
const [NONE] = ratesIn([EVENT.endpoint], [EVENT.type], []) as [StoredRate];

/** One claim that wants to begin so many attempts. */
function claim(stored: StoredRate, rate: Rate, now: number, wanted: number) {
  const limits = new RateLimits({ rates: { [EVENT.type]: rate }, now }, [stored]);
  let begun = 0;
  while (begun < wanted && limits.take(EVENT)) begun += 1;
  const [change] = limits.begun();
  return { begun, stored: change === undefined ? stored : written(change.rate), freeAt: limits.freeAt };
}

/** As a database keeps it. */
function written(rate: StoredRate): StoredRate {
  const [endpoint, type, count, perMs, keptMs, but, starts] = rateWrite('rates', rate).values;
  return rateOf({ endpoint, type, count, per_ms: perMs, kept_ms: keptMs, but, starts } as Parameters<typeof rateOf>[0]);
}

const rates = fc.record({ count: fc.integer({ min: 1, max: 300 }), perMs: fc.integer({ min: 1, max: 100_000 }) });
/** Shares of the span. */
const claims = fc.array(fc.record({ wait: fc.double({ min: 0, max: 0.4, noNaN: true }), wanted: fc.nat(200) }), {
  minLength: 5,
  maxLength: 150,
});
const within = (starts: readonly number[], from: number, to: number) =>
  starts.filter((at) => at > from && at <= to).length;

it('no span has more attempts than the rate, none waits for longer than a small part, and few numbers are kept', () => {
  fc.assert(
    fc.property(rates, claims, (rate, steps) => {
      const { count, perMs } = rate;
      const starts: number[] = [];
      let [now, stored] = [START, NONE];
      for (const { wait, wanted } of steps) {
        now += Math.floor(wait * perMs);
        const before = within(starts, now - perMs - perMs / 64 - 1, now);
        const claimed = claim(stored, rate, now, wanted);
        ({ stored } = claimed);
        starts.push(...Array.from({ length: claimed.begun }, () => now));
        expect(within(starts, now - perMs, now)).toBeLessThanOrEqual(count);
        expect(claimed.begun).toBeGreaterThanOrEqual(Math.min(wanted, count - before));
        if (claimed.begun < wanted) {
          expect(claimed.freeAt).toBe(freeAt(stored, now));
          expect(claimed.freeAt).toBeGreaterThan(now);
          expect(claim(stored, rate, (claimed.freeAt ?? 0) - 1, 1).begun).toBe(0);
          expect(claim(stored, rate, claimed.freeAt ?? 0, 1).begun).toBe(1);
        }
      }
      expect(stored.starts.length).toBeLessThanOrEqual(2 * 64 + 2);
    }),
  );
});

it('each of two processes with other rates keeps its own, and counts the attempts of both', () => {
  const step = fc.record({ wait: fc.nat(3_000), wanted: fc.nat(20), isFirst: fc.boolean() });
  fc.assert(
    fc.property(rates, rates, fc.array(step, { maxLength: 150 }), (first, second, steps) => {
      const starts: number[] = [];
      let [now, stored, longSince] = [START, NONE, START];
      for (const { wait, wanted, isFirst } of steps) {
        now += wait;
        const rate = isFirst ? first : second;
        const claimed = claim(stored, rate, now, wanted);
        if (claimed.stored.keptMs > stored.keptMs) longSince = now;
        ({ stored } = claimed);
        // A longer span counts from its first attempt.
        const isKept = now - longSince >= rate.perMs;
        starts.push(...Array.from({ length: claimed.begun }, () => now));
        if (isKept && claimed.begun > 0) expect(within(starts, now - rate.perMs, now)).toBeLessThanOrEqual(rate.count);
      }
      expect(stored.starts.length).toBeLessThanOrEqual(3 * 64 + 2);
    }),
  );
});

it('a clock that was set back makes nothing wait for longer than two spans', () => {
  fc.assert(
    fc.property(rates, fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: 5 }), (rate, back, looks) => {
      let { stored } = claim(NONE, rate, START, rate.count);
      let begun = 0;
      for (let look = 0; look <= looks; look += 1) {
        const claimed = claim(stored, rate, START - back + Math.ceil((2 * rate.perMs * look) / looks), 1);
        ({ stored } = claimed);
        begun += claimed.begun;
      }
      expect(begun).toBeGreaterThanOrEqual(1);
    }),
  );
});

it.each([
  [{}, EVENT.type, false],
  [{ rates: { [EVENT.type]: { count: 1, perMs: 1 } } }, EVENT.type, true],
  [{ rates: { [EVENT.type]: { count: 1, perMs: 1 } } }, 'other', false],
  [{ rates: { '*': { count: 1, perMs: 1 } }, named: ['other'] }, 'other', false],
  [{ rates: { '*': { count: 1, perMs: 1 } }, named: ['other'] }, '__proto__', true],
  [{ rates: { [EVENT.type]: { count: 1, perMs: 1 } } }, 'constructor', false],
  [{ rates: { '*': { count: 1, perMs: 1 } } }, null, false],
])('of %j, %s has a rate: %s', (rated, type, expected) => {
  expect(isRated(rated, type)).toBe(expected);
});
