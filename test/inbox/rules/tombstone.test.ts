import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { hashOf, hasSameBody } from '../../../src/inbox/rules/tombstone.ts';

it('a tombstone knows the bytes it has lost as well as the bytes themselves', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (stored, arrived) => {
      const isSame = Buffer.compare(stored, arrived) === 0;
      expect(hasSameBody({ body: stored, hash: null }, arrived)).toBe(isSame);
      expect(hasSameBody({ body: null, hash: hashOf(stored) }, arrived)).toBe(isSame);
      expect(hasSameBody({ body: null, hash: null }, arrived)).toBe(false);
    }),
  );
});
