import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Budget } from '../../../src/inbox/rules/budget.ts';
import { eventsToUnpark, isBefore } from '../../../src/inbox/rules/entity-order.ts';
import { NOTHING_NEXT } from './plan-events.ts';

const parked = (seq: number, bytes = 1) => ({ seq, bytes });
const front = (seq: number, bytes = 1) => ({ seq, bytes, created: { ms: seq, ns: 0 } });

it('events are in the order of their time, then of their nanoseconds, then of arrival', () => {
  const place = fc.record({
    seq: fc.integer({ min: 1, max: 4 }),
    created: fc.record({ ms: fc.integer({ min: 1, max: 3 }), ns: fc.integer({ min: 0, max: 2 }) }),
  });
  fc.assert(
    fc.property(place, place, (one, other) => {
      const order = one.created.ms - other.created.ms || one.created.ns - other.created.ns || one.seq - other.seq;
      expect(isBefore(one, other)).toBe(order < 0);
    }),
  );
  expect([isBefore(front(1), { seq: 2, created: null }), isBefore(front(1), { seq: 1, created: null })]).toEqual([
    true,
    false,
  ]);
});

it('the next front comes first, then those that yield, then those that nobody handles', () => {
  const next = { front: front(6), passed: [1, 2].map((seq) => parked(seq)), yielding: [parked(7)] };
  expect(eventsToUnpark([next])).toEqual([6, 7, 1, 2]);
  expect(eventsToUnpark([NOTHING_NEXT, { ...next, front: undefined }, next])).toEqual([7, 1, 2, 6]);
});

it('a mebibyte of bodies is enough, and one event more', () => {
  const passed = Array.from({ length: 10 }, (_, seq) => parked(seq, 300 * 1024));
  expect(eventsToUnpark([{ ...NOTHING_NEXT, passed }])).toEqual([0, 1, 2, 3]);
  const budget = new Budget();
  budget.spend(2 ** 20);
  expect(eventsToUnpark([{ ...NOTHING_NEXT, front: front(1) }], budget)).toEqual([]);
});
