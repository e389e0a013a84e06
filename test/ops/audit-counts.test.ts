import { expect, it } from 'vitest';
import { addCounts } from '../../src/inbox/operator/audit.ts';

it.each([
  [{}, { erased: 2 }, { erased: 2 }],
  [{ erased: 3 }, { erased: 2, inProcessing: 1 }, { erased: 5, inProcessing: 1 }],
  [{ other: 1, erased: 3 }, { erased: 0 }, { other: 1, erased: 3 }],
])('a line that has counted %j counts %j more', (before, more, after) => {
  expect(addCounts(before, more)).toEqual(after);
});
