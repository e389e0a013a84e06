import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { occurrencesOf, oneMore, type Times } from '../../../src/inbox/rules/occurrences.ts';

it('of any number of times the first, the last and the last twenty are kept', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 60 }), (all) => {
      const times = all.reduce<Times | null>(oneMore, null);
      expect(times).toEqual({ count: all.length, first: all[0], last: all.at(-1), recent: all.slice(-20) });
    }),
  );
});

it('an inbox shows them as dates', () => {
  expect(occurrencesOf(null)).toEqual({ count: 0, firstAt: null, lastAt: null, recent: [] });
  expect(occurrencesOf({ count: 2, first: 1, last: 2, recent: [1, 2] })).toEqual({
    count: 2,
    firstAt: new Date(1),
    lastAt: new Date(2),
    recent: [new Date(1), new Date(2)],
  });
});
