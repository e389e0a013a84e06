import { describe, expect, it } from 'vitest';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { rejectedDeliveries } from '../../src/ops/stats.ts';
import { causeOfRejection } from '../../src/ops/words/rejection-causes.ts';
import type { Reason } from '../../src/receive/outcome.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { totalsOf } from './counted.ts';
import { madeUp, testRejected } from './rejected.conformance.ts';

testRejected('rejected deliveries in SQLite', async () => {
  const { inbox, database } = inboxOnFile();
  return { inbox, rows: async () => database.prepare('SELECT * FROM hookbox_rejected').all() };
});

it('rejected deliveries leave a file that has stopped growing, however many somebody makes up', async () => {
  const { inbox, database } = inboxOnFile();
  const pages: number[] = [];
  const flood = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n += 1_000) await operationsOf(inbox).noteRejected(madeUp(n, n + 1_000));
    pages.push(Number(database.pragma('page_count', { simple: true })));
  };
  await flood(0, 3_000);
  await flood(3_000, 50_000);
  const kept = await rejectedDeliveries(inbox, 10_000);
  expect(kept.map(({ bytes }) => bytes)).toEqual(Array.from({ length: 1_000 }, (_, k) => 49_999 - k));
  expect(await totalsOf(inbox)).toEqual(['rejected signature-mismatch 50000']);
  expect(pages[1]).toBeLessThan((pages[0] ?? 0) * 1.2);
  expect(Number(pages[1]) * 4_096).toBeLessThan(2 * 1024 * 1024);
});

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
    expect(causeOfRejection('inbox-failing', IN_POSTGRES).advice).toMatch(/was unreachable, full.*rejected the role/);
  });
});
