import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Operations } from '../../src/inbox/operator/operations.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { rejectedDeliveries } from '../../src/ops/stats.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { NOON, totalsOf } from './counted.ts';

const forged = {
  endpoint: 'default',
  reason: 'signature-mismatch',
  bytes: 120,
  sha256: 'aa'.repeat(32),
  source: '203.0.113.7',
  count: 1,
  at: NOON,
};

function opened() {
  const file = scratchFile();
  const inbox = sqliteInbox(file);
  const database = new Database(file, { readonly: true });
  onTestFinished(async () => {
    database.close();
    await inbox.close();
  });
  const noteRejected = (rejections: Parameters<Operations['noteRejected']>[0]) =>
    operationsOf(inbox).noteRejected(rejections);
  return { inbox, database, noteRejected };
}

describe('rejected deliveries', () => {
  it('are one line for those that are alike, with how often and since when', async () => {
    const { inbox, noteRejected } = opened();
    await noteRejected([forged, { ...forged, count: 3, at: NOON + 5_000 }]);
    await noteRejected([{ ...forged, count: 2, at: NOON - 5_000 }]);
    const { count: _, at: __, ...kind } = forged;
    expect(await rejectedDeliveries(inbox)).toEqual([
      { ...kind, seq: 1, count: 6, firstAt: new Date(NOON - 5_000), lastAt: new Date(NOON + 5_000) },
    ]);
  });

  it.each([
    ['endpoint', { endpoint: 'other' }],
    ['reason', { reason: 'signature-missing' }],
    ['size', { bytes: 121 }],
    ['hash', { sha256: 'bb'.repeat(32) }],
    ['source', { source: '203.0.113.8' }],
    ['size that is not known', { bytes: null }],
    ['hash that is not known', { sha256: null }],
    ['source that is not known', { source: null }],
  ])('are another line for another %s', async (_, other) => {
    const { inbox, noteRejected } = opened();
    await noteRejected([forged, { ...forged, ...other }, { ...forged, ...other, at: NOON + 1 }]);
    expect((await rejectedDeliveries(inbox)).map(({ count }) => count)).toEqual([2, 1]);
  });

  it('come with the latest first, as many as asked for', async () => {
    const { inbox, noteRejected } = opened();
    const noted = [3, 1, 2].map((n) => ({ ...forged, bytes: n, at: NOON + n }));
    await noteRejected(noted);
    await noteRejected([{ ...forged, bytes: 1, at: NOON + 4 }]);
    expect((await rejectedDeliveries(inbox)).map(({ bytes }) => bytes)).toEqual([1, 3, 2]);
    expect((await rejectedDeliveries(inbox, 2)).map(({ bytes }) => bytes)).toEqual([1, 3]);
    await expect(rejectedDeliveries(inbox, 0)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(rejectedDeliveries(memoryInbox())).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('are counted by reason, each of them in its minute', async () => {
    const { inbox, noteRejected } = opened();
    await noteRejected([forged, { ...forged, count: 4, at: NOON + 60_000 }, { ...forged, reason: 'body-too-large' }]);
    expect(await totalsOf(inbox, { since: NOON, until: NOON + 60_000 })).toEqual([
      'rejected body-too-large 1',
      'rejected signature-mismatch 1',
    ]);
    expect(await totalsOf(inbox)).toEqual(['rejected body-too-large 1', 'rejected signature-mismatch 5']);
  });

  it('leave a thousand kinds, the latest, and a file that has stopped growing, however many somebody makes up', async () => {
    const { inbox, database, noteRejected } = opened();
    const pages: number[] = [];
    const flood = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n += 1_000) {
        const some = Array.from({ length: 1_000 }, (_, k) => {
          const sha256 = (n + k).toString(16).padStart(64, '0');
          // A proxy passes on whatever it was told.
          return { ...forged, sha256, bytes: n + k, source: `${n + k} ${'x'.repeat(10_000)}`, at: NOON + n + k };
        });
        await noteRejected(some);
      }
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

  it('let a kind stay that goes on while others are made up', async () => {
    const { inbox, noteRejected } = opened();
    const misconfigured = { ...forged, reason: 'signature-missing' };
    for (let n = 0; n < 3_000; n += 100) {
      const madeUp = Array.from({ length: 100 }, (_, k) => ({ ...forged, bytes: n + k, at: NOON + n + k }));
      await noteRejected([...madeUp, { ...misconfigured, at: NOON + n }]);
    }
    const kept = await rejectedDeliveries(inbox, 10_000);
    expect(kept).toHaveLength(1_000);
    expect(kept.filter(({ reason }) => reason === 'signature-missing')).toMatchObject([
      { count: 30, firstAt: new Date(NOON) },
    ]);
  });

  it('do not hold deliveries up that come while a flood of them is written', async () => {
    const { inbox, noteRejected } = opened();
    const flood = Array.from({ length: 10_000 }, (_, n) => ({ ...forged, bytes: n, at: NOON + n }));
    const order: string[] = [];
    const noting = noteRejected(flood).then(() => order.push('flood'));
    const accepting = Promise.all(severalIncoming(50).map((event) => inbox.accept(event, later())));
    await accepting.then(() => order.push('deliveries'));
    await noting;
    expect(order).toEqual(['deliveries', 'flood']);
  });

  it('keep text that is hostile as it is, and cut what is too long', async () => {
    const { inbox, noteRejected } = opened();
    const source = `<script>alert(1)</script>'"; DROP TABLE hookbox_rejected; --\u202e\u0007`;
    await noteRejected([
      { ...forged, source },
      { ...forged, bytes: 1, source: '😀'.repeat(500) },
    ]);
    const kept = await rejectedDeliveries(inbox);
    expect(kept.map((line) => line.source)).toEqual(['😀'.repeat(100), source]);
  });

  it('are noted by a receiver without what was in their bodies', async () => {
    const { inbox, database } = opened();
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    const signature = 'ab'.repeat(32);
    await receiver.receive({ ...orderDelivery('evt_do_not_keep_me'), signature });
    await receiver.close();
    expect(await rejectedDeliveries(inbox)).toMatchObject([{ reason: 'signature-mismatch', count: 1 }]);
    const everything = JSON.stringify(database.prepare('SELECT * FROM hookbox_rejected').all());
    expect(everything).not.toContain('do_not_keep_me');
    expect(everything).not.toContain(signature);
  });
});
