import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { rejectedDeliveries } from '../../src/ops/stats.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { totalsOf } from './counted.ts';
import { madeUp, testRejected } from './rejected.conformance.ts';

function opened() {
  const file = scratchFile();
  const inbox = sqliteInbox(file);
  const database = new Database(file, { readonly: true });
  onTestFinished(async () => {
    database.close();
    await inbox.close();
  });
  return { inbox, database };
}

testRejected('rejected deliveries in SQLite', async () => {
  const { inbox, database } = opened();
  return { inbox, rows: async () => database.prepare('SELECT * FROM hookbox_rejected').all() };
});

it('rejected deliveries leave a file that has stopped growing, however many somebody makes up', async () => {
  const { inbox, database } = opened();
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
