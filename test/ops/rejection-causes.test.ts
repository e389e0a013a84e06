import { describe, expect, it } from 'vitest';
import type { Reason } from '../../src/receive/outcome.ts';
import { causeOfRejection } from '../../src/ops/words/rejection-causes.ts';

const IN_A_FILE = { file: '/srv/shop.db' };
const IN_POSTGRES = {};

describe('what an inbox has not stored', () => {
  const reasons: readonly Reason[] = ['inbox-failing', 'deadline', 'overloaded'];

  it.each(reasons)('%s: in a file is laid to the disk, and in Postgres to Postgres', (reason) => {
    const [file, postgres] = [causeOfRejection(reason, IN_A_FILE), causeOfRejection(reason, IN_POSTGRES)];
    expect(file.advice).toMatch(/disk/);
    expect(file.advice).not.toContain('Postgres');
    expect(postgres.advice).toContain('Postgres');
    expect(postgres.advice).not.toMatch(/disk|file|moved/);
    expect(postgres.cause).toBe(file.cause);
  });

  it('because it failed: that is what a file and a server do', () => {
    expect(causeOfRejection('inbox-failing', IN_A_FILE).advice).toMatch(/the disk is full.*moved or replaced/);
    expect(causeOfRejection('inbox-failing', IN_POSTGRES).advice).toMatch(/was unavailable, full.*rejected the role/);
  });
});
