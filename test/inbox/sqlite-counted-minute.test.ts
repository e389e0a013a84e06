import { expect, it } from 'vitest';
import { clockAfter } from '../../src/inbox/sqlite/operator/access.ts';
import { countEngine } from '../../src/inbox/sqlite/operator/counts.ts';

it('what happened is counted in its minute, however long the file was locked', () => {
  const engine = countEngine({ write: () => Promise.reject(new Error('nothing is written')) } as never);
  const at = Date.UTC(2026, 0, 1, 12, 34);
  const [once] = engine.addCounts(clockAfter(0), [{ at, what: 'stored', detail: '', count: 1 }]);
  const [late] = engine.addCounts(clockAfter(8 * 3_600_000), [{ at, what: 'stored', detail: '', count: 1 }]);
  expect(late?.values?.[0]).toBe(once?.values?.[0]);
});
