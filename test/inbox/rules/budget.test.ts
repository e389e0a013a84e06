import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Budget, firstWithin } from '../../../src/inbox/rules/budget.ts';

const MEBIBYTE = 1024 * 1024;
const sizes = fc.array(fc.nat({ max: MEBIBYTE }), { maxLength: 20 });

it('a transaction rewrites at most a mebibyte of bodies and one event more', () => {
  fc.assert(
    fc.property(sizes, (sizes) => {
      const events = sizes.map((bytes, seq) => ({ seq, bytes }));
      const taken = firstWithin(events, new Budget());
      const sum = (some: typeof events) => some.reduce((total, { bytes }) => total + bytes, 0);
      expect(taken).toEqual(events.slice(0, taken.length));
      expect(sum(taken.slice(0, -1))).toBeLessThan(MEBIBYTE);
      // It leaves no event that has room.
      if (taken.length < events.length) expect(sum([...taken])).toBeGreaterThanOrEqual(MEBIBYTE);
    }),
  );
});
