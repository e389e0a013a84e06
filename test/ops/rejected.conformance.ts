import { expect, it } from 'vitest';
import type { Inbox, Operations } from '../../src/inbox/contract.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { rejectedDeliveries } from '../../src/ops/stats.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suite } from '../helpers/suite.ts';
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

export function madeUp(from: number, to: number): Parameters<Operations['noteRejected']>[0] {
  return Array.from({ length: to - from }, (_, k) => {
    const n = from + k;
    const source = `${n} ${'x'.repeat(10_000)}`;
    return { ...forged, sha256: n.toString(16).padStart(64, '0'), bytes: n, source, at: NOON + n };
  });
}

export interface RejectingStore {
  readonly inbox: Inbox;
  readonly rows: () => Promise<readonly unknown[]>;
}

export const testRejected = suite((open: () => Promise<RejectingStore>) => {
  const opened = async () => {
    const store = await open();
    const noteRejected = (rejections: Parameters<Operations['noteRejected']>[0]) =>
      operationsOf(store.inbox).noteRejected(rejections);
    return { ...store, noteRejected };
  };

  it('are one line for those that are alike, with how often and since when', async () => {
    const { inbox, noteRejected } = await opened();
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
    const { inbox, noteRejected } = await opened();
    await noteRejected([forged, { ...forged, ...other }, { ...forged, ...other, at: NOON + 1 }]);
    expect((await rejectedDeliveries(inbox)).map(({ count }) => count)).toEqual([2, 1]);
  });

  it('come with the latest first, as many as asked for', async () => {
    const { inbox, noteRejected } = await opened();
    const noted = [3, 1, 2].map((n) => ({ ...forged, bytes: n, at: NOON + n }));
    await noteRejected(noted);
    await noteRejected([{ ...forged, bytes: 1, at: NOON + 4 }]);
    expect((await rejectedDeliveries(inbox)).map(({ bytes }) => bytes)).toEqual([1, 3, 2]);
    expect((await rejectedDeliveries(inbox, 2)).map(({ bytes }) => bytes)).toEqual([1, 3]);
    await expect(rejectedDeliveries(inbox, 0)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('are counted by reason, each of them in its minute', async () => {
    const { inbox, noteRejected } = await opened();
    await noteRejected([forged, { ...forged, count: 4, at: NOON + 60_000 }, { ...forged, reason: 'body-too-large' }]);
    expect(await totalsOf(inbox, { since: NOON, until: NOON + 60_000 })).toEqual([
      'rejected body-too-large 1',
      'rejected signature-mismatch 1',
    ]);
    expect(await totalsOf(inbox)).toEqual(['rejected body-too-large 1', 'rejected signature-mismatch 5']);
  });

  it('leave a thousand kinds, the latest, however many somebody makes up', async () => {
    const { inbox, noteRejected } = await opened();
    await noteRejected(madeUp(0, 3_000));
    await noteRejected(madeUp(3_000, 10_000));
    const kept = await rejectedDeliveries(inbox, 10_000);
    expect(kept.map(({ bytes }) => bytes)).toEqual(Array.from({ length: 1_000 }, (_, k) => 9_999 - k));
    expect(await totalsOf(inbox)).toEqual(['rejected signature-mismatch 10000']);
  });

  it('let a kind stay that goes on while others are made up', async () => {
    const { inbox, noteRejected } = await opened();
    const misconfigured = { ...forged, reason: 'signature-missing' };
    for (let n = 0; n < 3_000; n += 100) {
      const others = Array.from({ length: 100 }, (_, k) => ({ ...forged, bytes: n + k, at: NOON + n + k }));
      await noteRejected([...others, { ...misconfigured, at: NOON + n }]);
    }
    const kept = await rejectedDeliveries(inbox, 10_000);
    expect(kept).toHaveLength(1_000);
    expect(kept.filter(({ reason }) => reason === 'signature-missing')).toMatchObject([
      { count: 30, firstAt: new Date(NOON) },
    ]);
  });

  it('do not hold deliveries up that come while a flood of them is written', async () => {
    const { inbox, noteRejected } = await opened();
    const flood = Array.from({ length: 10_000 }, (_, n) => ({ ...forged, bytes: n, at: NOON + n }));
    const order: string[] = [];
    const noting = noteRejected(flood).then(() => order.push('flood'));
    const accepting = Promise.all(severalIncoming(50).map((event) => inbox.accept(event, later())));
    await accepting.then(() => order.push('deliveries'));
    await noting;
    expect(order).toEqual(['deliveries', 'flood']);
  });

  it('keep text that is hostile as it is, and cut what is too long', async () => {
    const { inbox, noteRejected } = await opened();
    const source = `<script>alert(1)</script>'"; DROP TABLE hookbox_rejected; --\u202e\u0007`;
    await noteRejected([
      { ...forged, source },
      { ...forged, bytes: 1, source: '😀'.repeat(500) },
    ]);
    const kept = await rejectedDeliveries(inbox);
    expect(kept.map((line) => line.source)).toEqual(['😀'.repeat(100), source]);
  });

  it('are noted by a receiver without what was in their bodies', async () => {
    const { inbox, rows } = await opened();
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    const signature = 'ab'.repeat(32);
    await receiver.receive({ ...orderDelivery('evt_do_not_keep_me'), signature });
    await receiver.close();
    expect(await rejectedDeliveries(inbox)).toMatchObject([{ reason: 'signature-mismatch', count: 1 }]);
    const everything = JSON.stringify(await rows());
    expect(everything).not.toContain('do_not_keep_me');
    expect(everything).not.toContain(signature);
  });
});
