import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Budget, withinBudget } from '../../../src/inbox/rules/budget.ts';

it('a transaction takes the first events whose bodies fit, and the one that spends its budget', () => {
  const event = fc.record({ bytes: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(event), fc.integer({ min: 1, max: 50 }), (events, most) => {
      const taken = withinBudget(events, new Budget(most));
      const sum = (some: readonly { bytes: number }[]) => some.reduce((bytes, each) => bytes + each.bytes, 0);
      expect(taken).toEqual(events.slice(0, taken.length));
      expect(sum(taken.slice(0, -1))).toBeLessThan(most);
      if (taken.length < events.length) expect(sum(taken)).toBeGreaterThanOrEqual(most);
    }),
  );
});
