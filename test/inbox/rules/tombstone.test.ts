import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { hashOf, hasSameBody, makeTombstone } from '../../../src/inbox/rules/tombstone.ts';
import { scripted } from './scripted-engine.ts';

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

it('what goes is the body, what errors said, and other bodies', () => {
  const { engine, asked } = scripted();
  const body = Buffer.from('{}');
  atOnce(makeTombstone(engine, 7, body));
  expect(asked).toEqual([
    ['prune', 7, hashOf(body)],
    ['pruneErrors', 7],
    ['forgetConflict', 7],
  ]);
});
