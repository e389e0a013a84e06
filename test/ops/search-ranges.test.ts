import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  aroundNew,
  isOutOfOrder,
  rangesBeyond,
  rangesWithin,
  type ReceivedTimes,
  type SeqRange,
} from '../../src/inbox/operator/finding/seq-ranges.ts';

const HOUR_MS = 60 * 60_000;

/** Events 1, 2, … that were received at these times. */
function received(times: readonly number[], samplesAtOnce = 1) {
  const asked: SeqRange[][] = [];
  const tables: ReceivedTimes = {
    samplesAtOnce,
    receivedIn(ranges, limit) {
      asked.push([...ranges]);
      return ranges.map(({ from, before }) => times.slice(from - 1, Math.min(before - 1, from - 1 + limit)));
    },
  };
  return { tables, asked };
}

const isIn = (ranges: readonly SeqRange[], seq: number) =>
  ranges.some(({ from, before }) => seq >= from && seq < before);
const everywhere = { from: 1, before: Number.MAX_SAFE_INTEGER };

/** Times that grow, each with an error of less than an hour. */
const nearlyInOrder = fc
  .array(fc.tuple(fc.integer({ min: 0, max: HOUR_MS / 2 }), fc.integer({ min: 0, max: HOUR_MS - 1 })), {
    maxLength: 200,
  })
  .map((steps) => {
    let time = 0;
    return steps.map(([step, late]) => (time += step) + late);
  });

it('no search by time misses an event whose clock was wrong by less than an hour', async () => {
  const place = fc.integer({ min: 0, max: 100 * HOUR_MS });
  await fc.assert(
    fc.asyncProperty(
      nearlyInOrder,
      fc.option(place),
      fc.option(place),
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 50 }))),
      async (times, since, until, samplesAtOnce, mixed) => {
        const disorder = mixed && { from: mixed[0], before: mixed[0] + mixed[1] };
        const all = times.map((time, n) => (disorder && isIn([disorder], n + 1) ? 0 : time));
        const filter = {
          ...(since !== null && { since: new Date(since) }),
          ...(until !== null && { until: new Date(until) }),
        };
        const { tables } = received(all, samplesAtOnce);
        const ranges = await rangesWithin(tables, filter, everywhere, { newestSeq: all.length, disorder });
        for (const [n, time] of all.entries()) {
          if (time >= (since ?? 0) && time < (until ?? Infinity)) expect(isIn(ranges, n + 1)).toBe(true);
        }
        for (const [n, { from, before }] of ranges.entries()) {
          expect(from).toBeLessThan(before);
          expect(before).toBeLessThanOrEqual(ranges[n - 1]?.from ?? all.length + 1);
        }
      },
    ),
  );
});

it('seven samples at once find both ends of a span among a million events with seven statements', async () => {
  const times = Array.from({ length: 1_000_000 }, (_, n) => n * 1_000);
  const filter = { since: new Date(4e8), until: new Date(5e8) };
  const extent = { newestSeq: times.length, disorder: null };
  const one = received(times);
  const seven = received(times, 7);
  const ranges = await rangesWithin(seven.tables, filter, everywhere, extent);
  expect(ranges).toEqual([{ from: 400_001 - 3_600 - 31, before: 500_001 + 3_600 }]);
  expect(await rangesWithin(one.tables, filter, everywhere, extent)).toEqual(ranges);
  expect(seven.asked.length).toBeLessThanOrEqual(7);
  expect(one.asked.length).toBeLessThanOrEqual(20);
});

it('what was looked at is not looked at again', () => {
  const ranges = [
    { from: 20, before: 30 },
    { from: 5, before: 10 },
  ];
  expect(rangesBeyond(ranges, 25, 'newest')).toEqual([{ from: 20, before: 25 }, ranges[1]]);
  expect(rangesBeyond(ranges, 25, 'oldest')).toEqual([{ from: 26, before: 30 }]);
  expect(rangesBeyond(ranges, 5, 'newest')).toEqual([]);
});

it('new events are out of order if one was received an hour before an earlier one', () => {
  expect(aroundNew(50, 60)).toMatchObject({ range: { from: 18 }, limit: 75 });
  expect(isOutOfOrder([HOUR_MS, 0, 2 * HOUR_MS, HOUR_MS])).toBe(false);
  expect(isOutOfOrder([0, HOUR_MS + 1, HOUR_MS, 0])).toBe(true);
  expect(isOutOfOrder([])).toBe(false);
});
