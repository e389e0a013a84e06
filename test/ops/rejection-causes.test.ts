import { expect, it } from 'vitest';
import { causeOfRejection } from '../../src/ops/words/rejection-causes.ts';

it('an inbox that failed is not only a file: what may be wrong with a server is said, too', () => {
  expect(causeOfRejection('inbox-failing').advice).toMatch(/Of a file: the disk is full.* Of Postgres: it was away/);
});
